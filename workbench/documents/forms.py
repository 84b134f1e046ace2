"""Forms of the document pages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from workbench.accounts.models import User
from workbench.infra.choices import options_of

from .describing import Changes
from .fields import LONGEST_NAME, LONGEST_VALUE
from .models import CollectionField, FieldKind
from .restricting import LONGEST_REASON


class DatesInOrder(forms.Form):
    """A form with a first and a last date on which documents take effect."""

    def clean(self) -> dict[str, Any]:
        """Refuses a first date after the last."""
        cleaned = super().clean() or {}
        first, last = cleaned.get("effective_from"), cleaned.get("effective_to")
        if first and last and first > last:
            self.add_error("effective_from", _("The first date is after the last."))
        return cleaned


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


class DayInput(forms.DateInput):
    """A date as the browser's own field gives it."""

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%d", attrs={"type": "date"})


def _separated(text: str) -> list[str]:
    """The values of a field that takes several, separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


class OwnFields(forms.Form):
    """The fields that a collection has given its documents; each is named after its key."""

    def __init__(self, *args: Any, own: Sequence[CollectionField], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._own = own
        for row in own:
            widget = DayInput() if row.kind == FieldKind.DATE else forms.TextInput()
            self.fields[f"own_{row.pk}"] = forms.CharField(
                label=row.name, required=False, max_length=LONGEST_VALUE, widget=widget
            )

    def own_values(self) -> dict[str, str]:
        """What was filled in, by the name of the field. Valid forms only."""
        return {row.name: value for row in self._own if (value := self.cleaned_data[f"own_{row.pk}"])}


class DescribeForm(OwnFields):
    """What is known of a document beside its text."""

    document_type = forms.CharField(
        label=_("Document type"), required=False, max_length=80, help_text=_("Such as contract or policy.")
    )
    parties = forms.CharField(
        label=_("Parties"),
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("One per line."),
    )
    effective_date = forms.DateField(label=_("Effective from"), required=False, widget=DayInput())
    issuer = forms.CharField(label=_("Issuer"), required=False, max_length=160)
    jurisdiction = forms.CharField(label=_("Jurisdiction"), required=False, max_length=80)
    tags = forms.CharField(
        label=_("Tags"), required=False, max_length=2000, help_text=_("Separated by commas.")
    )

    def clean_tags(self) -> list[str]:
        """The tags that hold something."""
        return _separated(self.cleaned_data["tags"])

    def clean_parties(self) -> list[str]:
        """One a line: names of companies hold commas."""
        return [line.strip() for line in self.cleaned_data["parties"].splitlines() if line.strip()]

    def description(self) -> dict[str, Any]:
        """As :func:`.describing.document_describe` takes it. Valid forms only."""
        names = ("document_type", "issuer", "jurisdiction", "effective_date", "tags", "parties")
        return {name: self.cleaned_data[name] for name in names} | {"fields": self.own_values()}


class BulkForm(OwnFields):
    """What changes on every document chosen; an empty field changes nothing."""

    add_tags = forms.CharField(
        label=_("Add tags"), required=False, max_length=2000, help_text=_("Separated by commas.")
    )
    remove_tags = forms.CharField(
        label=_("Remove tags"), required=False, max_length=2000, help_text=_("Separated by commas.")
    )
    add_party = forms.CharField(label=_("Add party"), required=False, max_length=LONGEST_VALUE)
    document_type = forms.CharField(label=_("Document type"), required=False, max_length=80)
    effective_date = forms.DateField(label=_("Effective from"), required=False, widget=DayInput())
    issuer = forms.CharField(label=_("Issuer"), required=False, max_length=160)
    jurisdiction = forms.CharField(label=_("Jurisdiction"), required=False, max_length=80)
    read_again = forms.BooleanField(
        label=_("Read type, parties and date from the text again"),
        required=False,
        help_text=_("What people set stays."),
    )

    def changes(self) -> Changes:
        """Valid forms only."""
        clean = self.cleaned_data
        names = ("document_type", "effective_date", "issuer", "jurisdiction", "read_again")
        return Changes(
            add_tags=_separated(clean["add_tags"]),
            remove_tags=_separated(clean["remove_tags"]),
            add_parties=[clean["add_party"]] if clean["add_party"] else (),
            fields=self.own_values(),
            **{name: clean[name] for name in names},
        )


class FieldForm(forms.Form):
    """A field that every document of the collection gets."""

    name = forms.CharField(
        label=_("Name"), max_length=LONGEST_NAME, help_text=_("Such as contract number or owner.")
    )
    kind = forms.ChoiceField(label=_("Type"), choices=partial(options_of, FieldKind))


class ReasonForm(forms.Form):
    """Why a deletion is taken back."""

    reason = forms.CharField(label=_("Reason"), max_length=500, help_text=_("It goes on record."))


class RestrictionForm(forms.Form):
    """Who may see a document."""

    is_restricted = forms.BooleanField(label=_("Only some people may see this document"), required=False)
    readers = forms.TypedMultipleChoiceField(
        label=_("People"), coerce=int, required=False, widget=forms.CheckboxSelectMultiple()
    )
    reason = forms.CharField(label=_("Reason"), max_length=LONGEST_REASON, help_text=_("It goes on record."))

    def __init__(self, *args: Any, people: Sequence[User], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["readers"].choices = [(person.pk, f"{person} · {person.email}") for person in people]


class DeletionForm(ReasonForm):
    """Why a document is deleted, by somebody who knows what that means."""

    is_sure = forms.BooleanField(label=_("I know that an erased text cannot be brought back."))
