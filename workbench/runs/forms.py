"""Forms of the question pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from arbitration.questions.assisted import QuestionEdits
from arbitration.settings import METHODS
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.collection_settings.strategy_fields import StrategyFields
from workbench.documents.forms import DatesInOrder
from workbench.documents.models import Collection, Document
from workbench.documents.narrowing import (
    MOST_DOCUMENTS,
    Facts,
    ScopeFilter,
    facts_of,
    fields_chosen,
    language_name,
)
from workbench.infra.addresses import number_in

from .models import Run
from .services import MAX_QUESTION_CHARACTERS
from .strategies import strategy_choices, strategy_for, strategy_groups
from .words import METHOD_LABELS

MOST_KEYWORDS = 40


def keyword_lines(text: str) -> tuple[str, ...]:
    """The non-empty lines of a text. Raises ValidationError if there are too many."""
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    if len(lines) > MOST_KEYWORDS:
        raise forms.ValidationError(_("Give at most %(n)d keywords."), params={"n": MOST_KEYWORDS})
    return lines


class ScopeFields(DatesInOrder):
    """Which documents of a collection to ask, and which detectors to use: the advanced part of a question."""

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
    parties = forms.MultipleChoiceField(label=_("Parties"), required=False)
    own_fields = forms.MultipleChoiceField(label=_("Fields"), required=False)
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
        """Offers the values found in documents. Fields without values are left out."""
        for name in ("document_types", "jurisdictions", "languages", "tags", "parties"):
            values = getattr(facts, name)
            if len(values) > (1 if name == "languages" else 0):
                told = language_name if name == "languages" else str
                self.fields[name].choices = [(value, told(value)) for value in values]
            else:
                del self.fields[name]
        if facts.fields:
            self.fields["own_fields"].choices = facts.field_choices
        else:
            del self.fields["own_fields"]
        if not facts.has_dates:
            del self.fields["effective_from"], self.fields["effective_to"]

    @property
    def narrowing(self) -> list[forms.BoundField]:
        """The document fields offered as filters, in order."""
        return [self[name] for name in self.fields if name in FACT_FIELDS]

    def filters(self) -> ScopeFilter | None:
        """The chosen filters. Only for valid forms."""
        given = {name: self.cleaned_data.get(name) for name in ScopeFilter.model_fields}
        given["fields"] = fields_chosen(self.cleaned_data.get("own_fields") or ())
        return ScopeFilter(**{name: value for name, value in given.items() if value}) or None


#: The fields that narrow a question by what documents carry.
FACT_FIELDS = (
    *("document_types", "parties", "jurisdictions", "languages", "tags", "own_fields"),
    *("effective_from", "effective_to"),
)
#: What the page folds under "Advanced", beside the settings of strategies.
ADVANCED_FIELDS = ("strategy", "methods", "keywords", "follow_references", "fresh")


class DocumentsField(forms.ModelMultipleChoiceField):
    """A choice of documents. Ignores empty values, which a single select sends."""

    widget = forms.CheckboxSelectMultiple

    def clean(self, value: Any) -> QuerySet[Document]:
        """The documents. A value that cannot be a key is refused."""
        given = [one for one in value or () if one != ""]
        if wrong := [one for one in given if number_in(str(one)) is None]:
            raise forms.ValidationError(self.error_messages["invalid_choice"], params={"value": wrong[0]})
        chosen: QuerySet[Document] = super().clean(given)
        return chosen


class AskForm(ScopeFields, StrategyFields):
    collection = forms.ModelChoiceField(
        queryset=Collection.objects.none(), to_field_name="slug", label=_("Collection")
    )
    document = DocumentsField(queryset=Document.objects.none(), required=False, label=_("Documents"))
    text = forms.CharField(
        label=_("Question"),
        max_length=MAX_QUESTION_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3, "autofocus": True}),
    )
    strategy = forms.ChoiceField(label=_("Strategy"), required=False)
    keywords = forms.CharField(
        label=_("Keywords"),
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("One per line. They replace the keywords that are read from the question."),
    )
    follow_references = forms.BooleanField(
        label=_("Follow cross-references (“see clause 7.3”)"), required=False
    )
    fresh = forms.BooleanField(label=_("Ignore earlier answers"), required=False)
    follows = forms.ModelChoiceField(queryset=Run.objects.none(), required=False, widget=forms.HiddenInput())

    def __init__(self, *args: Any, user: User, collection: Collection | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        collections = Collection.objects.visible_to(user, Permission.ASK)
        self.fields["collection"].queryset = collections
        documents = Document.objects.visible_to(user, Permission.ASK).ready().order_by("name")
        if collection is not None:
            documents = documents.filter(collection=collection)
        self.fields["document"].queryset = documents
        if "follows" in self.fields:
            followed = Run.objects.visible_to(user).select_related("question")
            self.fields["follows"].queryset = followed
        if "methods" in self.fields:
            asked = [collection] if collection is not None else list(collections)
            self.offer(facts_of(collections=asked, user=user))
        if "strategy" in self.fields:
            self.fields["strategy"].choices = [("", _("Default of the collection")), *strategy_groups()]

    def followed(self) -> Run | None:
        """The run that the question follows up; None if the person cannot read it."""
        key = number_in(str(self["follows"].value() or ""))
        return self.fields["follows"].queryset.filter(pk=key).first() if key is not None else None

    @property
    def is_advanced(self) -> bool:
        """Whether a field under "Advanced" was filled in or refused, so that the page shows them."""
        names = [name for name in (*ADVANCED_FIELDS, *StrategyFields.base_fields) if name in self.fields]
        return any(self[name].value() or self[name].errors for name in names)

    @property
    def is_scope_refused(self) -> bool:
        """Whether a field of the scope was refused, so that the page shows them."""
        return any(field.errors for field in (self["document"], *self.narrowing))

    @property
    def scope_words(self) -> str:
        """The current filters of the question, in words."""
        values = [field.value() for field in self.narrowing]
        listed = [value if isinstance(value, list | tuple) else [value] for value in values if value]
        return ", ".join(str(value) for each in listed for value in each)

    def documents_so_far(self) -> list[int]:
        """Keys of the currently chosen documents."""
        keys = [number_in(str(value)) for value in self["document"].value() or ()]
        return [key for key in keys if key is not None][:MOST_DOCUMENTS]

    def scope(self) -> dict[str, Any]:
        """The document or the filters, as arguments of :func:`.services.question_ask`. Only for valid forms."""
        documents, facts = list(self.cleaned_data["document"]), self.filters()
        if len(documents) == 1 and facts is None:
            return {"document": documents[0], "filters": None}
        if documents:
            facts = (facts or ScopeFilter()).model_copy(
                update={"documents": tuple(sorted(document.pk for document in documents))}
            )
        return {"document": None, "filters": facts}

    def clean_keywords(self) -> QuestionEdits | None:
        """A person's keywords; None if they wrote none."""
        lines = keyword_lines(self.cleaned_data["keywords"])
        return QuestionEdits(primary=lines) if lines else None

    def options(self) -> dict[str, Any]:
        """The options of the chosen strategy. Only for valid forms."""
        collection, wanted = self.cleaned_data["collection"], self.cleaned_data["strategy"]
        return self.options_of(strategy_for(collection=collection, wanted=wanted))

    def options_so_far(self, strategy: str) -> dict[str, Any]:
        """The current strategy options that are readable."""
        values = {name: self[name].value() for name in StrategyFields.base_fields}
        read = StrategyFields({name: value for name, value in values.items() if value is not None})
        read.is_valid()
        return read.options_of(strategy)

    def clean(self) -> dict[str, Any]:
        """Checks that the documents belong to the chosen collection."""
        cleaned = super().clean() or {}
        documents, collection = cleaned.get("document") or (), cleaned.get("collection")
        if isinstance(documents, Document):
            documents = (documents,)
        if len(documents) > MOST_DOCUMENTS:
            self.add_error("document", _("Choose at most %(n)d documents.") % {"n": MOST_DOCUMENTS})
        elif collection and any(document.collection_id != collection.pk for document in documents):
            self.add_error("document", _("This document is in another collection. Choose one of this one."))
        return cleaned


class CompareForm(AskForm):
    document = forms.ModelChoiceField(  # type: ignore[assignment]
        queryset=Document.objects.none(), required=False, label=_("Document"), empty_label=_("All documents")
    )
    follows = None  # type: ignore[assignment]
    fresh = None  # type: ignore[assignment]
    follow_references = None  # type: ignore[assignment]
    strategy = None  # type: ignore[assignment]
    keywords = None  # type: ignore[assignment]
    methods = document_types = jurisdictions = languages = tags = None  # type: ignore[assignment]
    parties = own_fields = None  # type: ignore[assignment]
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
    """A person's keywords for another run, one per line."""

    primary = forms.CharField(required=False, max_length=4000)
    secondary = forms.CharField(required=False, max_length=4000)

    def clean_primary(self) -> tuple[str, ...]:
        return keyword_lines(self.cleaned_data["primary"])

    def clean_secondary(self) -> tuple[str, ...]:
        return keyword_lines(self.cleaned_data["secondary"])

    def clean(self) -> dict[str, Any]:
        """Checks that there is at least one keyword."""
        cleaned = super().clean() or {}
        if not self.errors and not cleaned.get("primary") and not cleaned.get("secondary"):
            raise forms.ValidationError(_("Write at least one keyword."))
        return cleaned
