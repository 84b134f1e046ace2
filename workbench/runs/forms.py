"""Forms of the question pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from arbitration.settings import METHODS
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.collection_settings.strategy_fields import StrategyFields
from workbench.documents.models import Collection, Document
from workbench.documents.narrowing import Facts, ScopeFilter, facts_of

from .services import MAX_QUESTION_CHARACTERS
from .strategies import strategy_choices, strategy_for
from .words import METHOD_LABELS


class ScopeFields(forms.Form):
    """Which documents of a collection are asked, and which methods search them: the advanced part of a question."""

    methods = forms.MultipleChoiceField(
        label=_("Search methods"),
        required=False,
        choices=[(name, METHOD_LABELS[name]) for name in METHODS],
        widget=forms.CheckboxSelectMultiple(),
        help_text=_("Only these search. With none chosen, the rules choose."),
    )
    document_types = forms.MultipleChoiceField(label=_("Document types"), required=False)
    jurisdictions = forms.MultipleChoiceField(label=_("Jurisdictions"), required=False)
    languages = forms.MultipleChoiceField(label=_("Languages"), required=False)
    tags = forms.MultipleChoiceField(label=_("Tags"), required=False)
    effective_from = forms.DateField(
        label=_("Effective from"),
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )
    effective_to = forms.DateField(
        label=_("Effective until"),
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )

    def offer(self, facts: Facts) -> None:
        """Offers the values that documents carry; what none carries is not asked for."""
        for name in ("document_types", "jurisdictions", "languages", "tags"):
            values = getattr(facts, name)
            if len(values) > (1 if name == "languages" else 0):
                self.fields[name].choices = [(value, value) for value in values]
            else:
                del self.fields[name]
        if not facts.has_dates:
            del self.fields["effective_from"], self.fields["effective_to"]

    @property
    def narrowing(self) -> list[forms.BoundField]:
        """The fields of this part that are offered, in order."""
        return [self[name] for name in self.fields if name in ScopeFields.base_fields]

    @property
    def is_narrowed(self) -> bool:
        """Whether any of them was filled in."""
        return any(field.value() for field in self.narrowing)

    def filters(self) -> ScopeFilter | None:
        """The filters chosen. Valid forms only."""
        given = {name: self.cleaned_data.get(name) for name in ScopeFilter.model_fields}
        return ScopeFilter(**{name: value for name, value in given.items() if value}) or None

    def clean(self) -> dict[str, Any]:
        """The dates are in order, and filters narrow a collection."""
        cleaned = super().clean() or {}
        first, last = cleaned.get("effective_from"), cleaned.get("effective_to")
        if first and last and first > last:
            self.add_error("effective_from", _("The first date is after the last."))
        return cleaned


class AskForm(ScopeFields, StrategyFields):
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
        label=_("Follow cross-references (“see clause 7.3”)"), required=False
    )
    fresh = forms.BooleanField(label=_("Ignore earlier answers"), required=False)

    def __init__(self, *args: Any, user: User, collection: Collection | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        collections = Collection.objects.visible_to(user, Permission.ASK)
        self.fields["collection"].queryset = collections
        documents = Document.objects.visible_to(user, Permission.ASK).ready().order_by("name")
        if collection is not None:
            documents = documents.filter(collection=collection)
        self.fields["document"].queryset = documents
        if "methods" in self.fields:
            self.offer(facts_of(collections=[collection] if collection is not None else list(collections)))
        if "strategy" in self.fields:
            self.fields["strategy"].choices = [("", _("Default of the collection")), *strategy_choices()]

    def options(self) -> dict[str, Any]:
        """The settings of the strategy that is chosen. Valid forms only."""
        collection, wanted = self.cleaned_data["collection"], self.cleaned_data["strategy"]
        return self.options_of(strategy_for(collection=collection, wanted=wanted))

    def options_so_far(self, strategy: str) -> dict[str, Any]:
        """The settings of a strategy as the form stands, those that can be read."""
        values = {name: self[name].value() for name in StrategyFields.base_fields}
        read = StrategyFields({name: value for name, value in values.items() if value is not None})
        read.is_valid()
        return read.options_of(strategy)

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
    methods = document_types = jurisdictions = languages = tags = None  # type: ignore[assignment]
    effective_from = effective_to = None  # type: ignore[assignment]
    strategies = forms.MultipleChoiceField(label=_("Strategies"), widget=forms.CheckboxSelectMultiple())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in StrategyFields.base_fields:  # each strategy runs with what the collection has set
            del self.fields[name]
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
