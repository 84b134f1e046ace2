"""A search as an address carries it: of the page and of the API."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from workbench.accounts.models import User
from workbench.documents.fields import LONGEST_NAME, LONGEST_VALUE
from workbench.documents.forms import DatesInOrder
from workbench.documents.models import Collection, Document, DocumentStatus
from workbench.documents.narrowing import ScopeFilter, fields_chosen

from .selectors import FARTHEST, SearchRequest
from .words import LONGEST_QUERY, MOST_TERMS, Words

ALL_WORDS, ANY_WORD = "all", "any"


class SearchForm(DatesInOrder):
    """Reads and checks a search. Collections and documents that the person may not see do not exist."""

    q = forms.CharField(
        label=_("Words"),
        max_length=LONGEST_QUERY,
        error_messages={
            "required": _("Type a word or a number to search for."),
            "max_length": _("At most %(limit_value)d characters. Search for fewer words."),
        },
    )
    collection = forms.SlugField(label=_("Collection"), required=False, max_length=80)
    document = forms.IntegerField(label=_("Document"), required=False, min_value=1, max_value=10**18 - 1)
    section = forms.CharField(label=_("Section heading contains"), required=False, max_length=120)
    document_type = forms.CharField(label=_("Document type"), required=False, max_length=80)
    party = forms.CharField(label=_("Party"), required=False, max_length=160)
    tag = forms.CharField(label=_("Tag"), required=False, max_length=80)
    field = forms.CharField(label=_("Field"), required=False, max_length=240)
    effective_from = forms.DateField(label=_("Effective from"), required=False)
    effective_to = forms.DateField(label=_("Effective until"), required=False)
    match = forms.ChoiceField(
        label=_("Passages hold"),
        required=False,
        choices=[(ALL_WORDS, _("all words")), (ANY_WORD, _("any word"))],
    )
    after = forms.IntegerField(required=False, min_value=0, max_value=FARTHEST)

    #: The filters that are folded until one is wanted.
    SELDOM = (
        *("section", "document_type", "party", "tag", "field"),
        *("effective_from", "effective_to", "match"),
    )

    def __init__(self, data: Any, *, user: User) -> None:
        super().__init__(data)
        self._user = user
        #: Whether the address names a collection or document that this person knows nothing of.
        self.names_unknown = False
        self.collection: Collection | None = None
        self.document: Document | None = None

    def clean_q(self) -> str:
        """There is something to look for, and not too much of it."""
        text: str = self.cleaned_data["q"]
        terms = Words.of(text).terms
        if not terms:
            raise forms.ValidationError(_("Type a word or a number to search for."))
        if len(terms) > MOST_TERMS:
            raise forms.ValidationError(_("At most %(n)d words. Search for fewer.") % {"n": MOST_TERMS})
        return text

    def clean_collection(self) -> str:
        """The collection is the person's."""
        slug: str = self.cleaned_data["collection"]
        if slug:
            self.collection = Collection.objects.visible_to(self._user).filter(slug=slug).first()
            self.names_unknown |= self.collection is None
        return slug

    def clean_document(self) -> int | None:
        """The document is the person's, can be searched and lies in the collection."""
        key: int | None = self.cleaned_data["document"]
        if key is None:
            return None
        documents = Document.objects.visible_to(self._user).select_related("collection")
        self.document = documents.filter(pk=key).first()
        self.names_unknown |= self.document is None
        if self.document is not None and self.document.status != DocumentStatus.READY:
            raise forms.ValidationError(_("This document cannot be searched: it is not ready."))
        if self.document is not None and self.collection not in (None, self.document.collection):
            raise forms.ValidationError(_("This document is in another collection. Choose one of this one."))
        return key

    def clean_field(self) -> str:
        """A name and a value."""
        text: str = self.cleaned_data["field"].strip()
        name, _colon, value = text.partition(":")
        if text and not (0 < len(name.strip()) <= LONGEST_NAME and 0 < len(value.strip()) <= LONGEST_VALUE):
            raise forms.ValidationError(_("Write a field as its name, a colon and the value."))
        return text

    def to_request(self) -> SearchRequest:
        """What is looked for. Valid forms only."""
        clean = self.cleaned_data
        filters = ScopeFilter(
            document_types=(clean["document_type"],) if clean["document_type"] else (),
            tags=(clean["tag"],) if clean["tag"] else (),
            parties=(clean["party"],) if clean["party"] else (),
            fields=fields_chosen([clean["field"]] if clean["field"] else ()),
            effective_from=clean["effective_from"],
            effective_to=clean["effective_to"],
        )
        return SearchRequest(
            words=Words.of(clean["q"]),
            collection=self.collection,
            document=self.document,
            section=clean["section"],
            any_word=clean["match"] == ANY_WORD,
            filters=filters,
        )
