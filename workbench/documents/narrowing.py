"""Narrowing to documents with certain facts: type, parties, jurisdiction, language, tags, date, a collection's own.

A document that does not carry a fact is outside as soon as that fact narrows: absence in "all Spanish contracts" may
not rest on documents of which nobody said what they are.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Self

from django.db.models import Exists, JSONField, OuterRef, Q, TextField
from django.db.models.functions import Cast, Lower
from django.utils.translation import get_language_info, ngettext
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator
from pydantic_core import PydanticCustomError

from workbench.accounts.models import User

from .fields import LONGEST_NAME, LONGEST_VALUE, MOST_FIELDS, carrying, read_in_text, values_that_count
from .models import Collection, Document, DocumentField, DocumentQuerySet, Particular
from .restrictions import open_to

MOST_VALUES = 40
MOST_DOCUMENTS = 200
#: Values of one field that a page offers to choose from.
MOST_OFFERED = 200
Key = Annotated[int, Field(ge=1, lt=2**63)]
Fact = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
Party = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_VALUE)]
FieldName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_NAME)]


class ScopeFilter(BaseModel):
    """The documents to ask. Any value of a list matches; all lists and dates must match. Case does not matter.
    ``documents`` are keys. ``effective_from`` and ``effective_to`` are inclusive."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: tuple[Key, ...] = ()
    document_types: tuple[Fact, ...] = ()
    jurisdictions: tuple[Fact, ...] = ()
    languages: tuple[Fact, ...] = ()
    tags: tuple[Fact, ...] = ()
    parties: tuple[Party, ...] = ()
    #: The collection's own fields, by name.
    fields: dict[FieldName, tuple[Party, ...]] = {}
    effective_from: dt.date | None = None
    effective_to: dt.date | None = None

    @field_validator("fields")
    @classmethod
    def _few_fields(cls, values: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        if len(values) > MOST_FIELDS:
            raise PydanticCustomError("too_many", "At most {n} fields, please.", {"n": MOST_FIELDS})
        return {name: cls._each_once(values[name]) for name in sorted(values) if values[name]}

    @field_validator("document_types", "jurisdictions", "languages", "tags", "parties")
    @classmethod
    def _each_once(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if len(values) > MOST_VALUES:
            raise PydanticCustomError("too_many", "At most {n} values, please.", {"n": MOST_VALUES})
        return tuple(sorted(set(values)))

    @field_validator("documents")
    @classmethod
    def _each_document_once(cls, keys: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(keys)) > MOST_DOCUMENTS:
            raise PydanticCustomError("too_many", "At most {n} documents, please.", {"n": MOST_DOCUMENTS})
        return tuple(sorted(set(keys)))

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.effective_from and self.effective_to and self.effective_from > self.effective_to:
            raise PydanticCustomError("dates", "The first date is after the last.")
        return self

    def __bool__(self) -> bool:
        """Whether it narrows anything."""
        return self != ScopeFilter()


def documents_matching(*, collection: Collection, given: ScopeFilter) -> frozenset[int]:
    """Keys of the newest, readable documents that match the filter."""
    return keys_matching(Document.objects.filter(collection=collection).ready().newest(), given)


def keys_matching(documents: DocumentQuerySet, given: ScopeFilter) -> frozenset[int]:
    """Keys of those documents that match the filter."""
    return frozenset(narrowed(documents, given).values_list("pk", flat=True))


def narrowed(documents: DocumentQuerySet, given: ScopeFilter) -> DocumentQuerySet:
    """Those documents that match the filter."""
    if given.documents:
        documents = documents.filter(pk__in=given.documents)
    for column, values in (("jurisdiction", given.jurisdictions), ("language", given.languages)):
        if values:
            documents = documents.alias(**{f"of_{column}": Lower(column)}).filter(
                **{f"of_{column}__in": [value.lower() for value in values]}
            )
    if given.document_types:
        named = _among(given.document_types)
        documents = documents.alias(of_type=Lower("document_type")).filter(
            Q(of_type__in=[value.lower() for value in given.document_types])
            | Q(document_type="") & read_in_text(Particular.TYPE, named)
        )
    if given.parties:
        documents = documents.filter(carrying(Particular.PARTY, _among(given.parties)))
    for name, values in given.fields.items():
        own = DocumentField.objects.filter(document=OuterRef("pk"), definition__name__iexact=name)
        documents = documents.filter(Exists(own.filter(_among(values))))
    if given.effective_from:
        documents = documents.filter(
            _dated(Q(effective_date__gte=given.effective_from), "gte", given.effective_from)
        )
    if given.effective_to:
        documents = documents.filter(
            _dated(Q(effective_date__lte=given.effective_to), "lte", given.effective_to)
        )
    if given.tags:
        documents = _tagged(documents, given.tags)
    return documents


def _tagged(documents: DocumentQuerySet, tags: tuple[str, ...]) -> DocumentQuerySet:
    """Documents with one of the tags, in any case."""
    lowered = Cast(Lower(Cast("tags", TextField())), JSONField())
    wanted = Q()
    for tag in tags:
        wanted |= Q(lowered_tags__contains=[tag.lower()])
    return documents.alias(lowered_tags=lowered).filter(wanted)


def _among(values: tuple[str, ...]) -> Q:
    """Rows with one of these values, in any case."""
    found = Q()
    for value in values:
        found |= Q(value__iexact=value)
    return found


def _dated(by_person: Q, relation: str, day: dt.date) -> Q:
    """Compares ISO dates as texts, which sort in time order."""
    read = read_in_text(Particular.DATE, Q(**{f"value__{relation}": day.isoformat()}))
    return by_person | Q(effective_date__isnull=True) & read


@dataclass(frozen=True, slots=True)
class Facts:
    """The values that a person may choose from, sorted. Each occurs in a document they may ask."""

    document_types: tuple[str, ...]
    jurisdictions: tuple[str, ...]
    languages: tuple[str, ...]
    tags: tuple[str, ...]
    has_dates: bool
    parties: tuple[str, ...] = ()
    #: Of the collections' own fields: (name, values).
    fields: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def field_choices(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """The collection's own fields as a list offers them, by name; the values are read by :func:`fields_chosen`."""
        return [(name, [(f"{name}: {value}", value) for value in values]) for name, values in self.fields]


def fields_chosen(given: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Values of a collection's own fields from texts such as "Contract number: 12"; a text of another form is one that
    no document carries."""
    chosen: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, _colon, value = text.partition(":")
        if name.strip():
            chosen[name.strip()] = (*chosen.get(name.strip(), ()), value.strip() or name.strip())
    return chosen


def facts_of(*, collections: list[Collection], user: User) -> Facts:
    """The facts of readable documents in some collections, as far as the person can see them. Two queries."""
    rows = Document.objects.filter(open_to(user), collection__in=collections).ready()
    found: list[tuple[Any, ...]] = list(
        rows.values_list("document_type", "jurisdiction", "language", "tags", "effective_date").distinct()
    )
    types, jurisdictions, languages = ({row[place] for row in found if row[place]} for place in range(3))
    tags = sorted({str(tag) for row in found for tag in row[3]})
    values = values_that_count(rows)
    known = {value.casefold() for value in types}
    read_types = {value for name, _, value in values if name == Particular.TYPE and value not in known}
    own: dict[str, set[str]] = {}
    for _name, field, value in values:
        if field:
            own.setdefault(field, set()).add(value)
    return Facts(
        tuple(sorted(types | read_types)),
        tuple(sorted(jurisdictions)),
        tuple(sorted(languages)),
        tuple(tags),
        any(row[4] for row in found) or any(name == Particular.DATE for name, _, _ in values),
        tuple(sorted({value for name, _, value in values if name == Particular.PARTY}))[:MOST_OFFERED],
        tuple((name, tuple(sorted(own[name]))[:MOST_OFFERED]) for name in sorted(own)),
    )


def language_name(code: str) -> str:
    """The name of a language; an unknown code is returned as it is."""
    try:
        return str(get_language_info(code)["name_translated"])
    except KeyError:
        return code


def filter_words(given: ScopeFilter) -> list[str]:
    """The filter's values in order, for pages and reports."""
    dates = " – ".join(day.isoformat() if day else "…" for day in (given.effective_from, given.effective_to))
    count = len(given.documents)
    named = [ngettext("%(n)d document", "%(n)d documents", count) % {"n": count}] if count else []
    own = [f"{name}: {value}" for name, values in given.fields.items() for value in values]
    values = [
        *named,
        *given.document_types,
        *given.parties,
        *given.jurisdictions,
        *map(language_name, given.languages),
        *given.tags,
        *own,
    ]
    return [*values, dates] if given.effective_from or given.effective_to else values
