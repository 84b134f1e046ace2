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


class ReasonForm(forms.Form):
    """Why a deletion is taken back."""

    reason = forms.CharField(label=_("Reason"), max_length=500, help_text=_("It goes on record."))


class DeletionForm(ReasonForm):
    """Why a document is deleted, by somebody who knows what that means."""

    is_sure = forms.BooleanField(label=_("I know that an erased text cannot be brought back."))
