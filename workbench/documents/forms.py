"""Forms of the document pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _


class MultipleFileInput(forms.ClearableFileInput):
    """A real file input that takes many files."""

    allow_multiple_selected = True


class MultipleFileField(forms.FileField):
    """Cleans to a list of files."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("widget", MultipleFileInput())
        super().__init__(*args, **kwargs)

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        """Each file by itself; an empty one is left to the service, which says so by name."""
        files = data if isinstance(data, list | tuple) else [data]
        single = super().clean
        return [single(file, initial) for file in files]


class UploadForm(forms.Form):
    """Files for a collection."""

    files = MultipleFileField(label=_("Files"), allow_empty_file=True)


class CollectionForm(forms.Form):
    """A new collection."""

    name = forms.CharField(label=_("Name"), max_length=160)
    description = forms.CharField(
        label=_("Description"), required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 2})
    )


class DescribeForm(forms.Form):
    """What is known of a document beside its text."""

    document_type = forms.CharField(
        label=_("Document type"), required=False, max_length=80, help_text=_("Such as contract or policy.")
    )
    issuer = forms.CharField(label=_("Issuer"), required=False, max_length=160)
    jurisdiction = forms.CharField(label=_("Jurisdiction"), required=False, max_length=80)
    effective_date = forms.DateField(
        label=_("Effective from"),
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )
    tags = forms.CharField(
        label=_("Tags"), required=False, max_length=2000, help_text=_("Separated by commas.")
    )

    def clean_tags(self) -> list[str]:
        """The tags that hold something."""
        return [tag.strip() for tag in self.cleaned_data["tags"].split(",") if tag.strip()]


class ReasonForm(forms.Form):
    """Why a deletion is taken back."""

    reason = forms.CharField(label=_("Reason"), max_length=500, help_text=_("It goes on record."))


class DeletionForm(ReasonForm):
    """Why a document is deleted, by somebody who knows what that means."""

    is_sure = forms.BooleanField(label=_("I know that an erased text cannot be brought back."))
