"""Forms of the question pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.documents.models import Collection, Document

from .services import MAX_QUESTION_CHARACTERS
from .strategies import strategy_choices


class AskForm(forms.Form):
    """A question, its scope and its strategy."""

    collection = forms.ModelChoiceField(
        queryset=Collection.objects.none(), to_field_name="slug", label=_("Collection")
    )
    document = forms.ModelChoiceField(
        queryset=Document.objects.none(), required=False, label=_("Document"), empty_label=_("All documents")
    )
    text = forms.CharField(
        label=_("Question"),
        max_length=MAX_QUESTION_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3, "autofocus": True}),
    )
    strategy = forms.ChoiceField(label=_("Strategy"), required=False)
    follow_references = forms.BooleanField(
        label=_("Also read what the passages refer to (“see clause 7.3”)"), required=False
    )
    fresh = forms.BooleanField(label=_("Ask afresh, even if it was asked before"), required=False)

    def __init__(self, *args: Any, user: User, collection: Collection | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        collections = Collection.objects.visible_to(user, Permission.ASK)
        self.fields["collection"].queryset = collections
        documents = Document.objects.visible_to(user, Permission.ASK).ready().order_by("name")
        if collection is not None:
            documents = documents.filter(collection=collection)
        self.fields["document"].queryset = documents
        if "strategy" in self.fields:
            self.fields["strategy"].choices = [("", _("Default of the collection")), *strategy_choices()]

    def clean(self) -> dict[str, Any]:
        """A document must be of the collection chosen."""
        cleaned = super().clean() or {}
        document, collection = cleaned.get("document"), cleaned.get("collection")
        if document and collection and document.collection_id != collection.pk:
            self.add_error("document", _("This document is in another collection. Choose one of this one."))
        return cleaned


class CompareForm(AskForm):
    """A question under several strategies."""

    fresh = None  # type: ignore[assignment]
    follow_references = None  # type: ignore[assignment]
    strategy = None  # type: ignore[assignment]
    strategies = forms.MultipleChoiceField(label=_("Strategies"), widget=forms.CheckboxSelectMultiple())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["strategies"].choices = strategy_choices()


class CompareDecisionForm(forms.Form):
    """One decision for a candidate in every run of a comparison."""

    candidate_id = forms.CharField(max_length=80)
    role = forms.CharField(max_length=12)
    reason_code = forms.CharField(max_length=24, required=False)
    comment = forms.CharField(max_length=4000, required=False)


class KeywordsForm(forms.Form):
    """A person's keywords for another run, one a line."""

    primary = forms.CharField(required=False, max_length=4000)
    secondary = forms.CharField(required=False, max_length=4000)

    def clean_primary(self) -> tuple[str, ...]:
        """The lines that hold something."""
        return self._lines("primary")

    def clean_secondary(self) -> tuple[str, ...]:
        """The lines that hold something."""
        return self._lines("secondary")

    def _lines(self, name: str) -> tuple[str, ...]:
        lines = [line.strip() for line in self.cleaned_data[name].splitlines() if line.strip()]
        if len(lines) > MOST_KEYWORDS:
            raise forms.ValidationError(_("At most %(n)d keywords, please."), params={"n": MOST_KEYWORDS})
        return tuple(lines)

    def clean(self) -> dict[str, Any]:
        """At least one keyword."""
        cleaned = super().clean() or {}
        if not self.errors and not cleaned.get("primary") and not cleaned.get("secondary"):
            raise forms.ValidationError(_("Write at least one keyword."))
        return cleaned


MOST_KEYWORDS = 40
