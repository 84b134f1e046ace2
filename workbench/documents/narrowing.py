"""Narrowing a question of a collection to documents with certain facts: type, jurisdiction, language, tags, date.

A document that does not carry a fact is outside as soon as that fact narrows: absence in "all Spanish contracts" may
not rest on documents of which nobody said what they are.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Any, Self

from django.db.models.functions import Lower
from django.utils.translation import ngettext
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator
from pydantic_core import PydanticCustomError

from .models import Collection, Document, DocumentQuerySet

MOST_VALUES = 40
MOST_DOCUMENTS = 200
Key = Annotated[int, Field(ge=1, lt=2**63)]
Fact = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]


class ScopeFilter(BaseModel):
    """Which documents are asked. Within one list any value will do; the lists and dates must all hold. Capitals do
    not matter. ``documents`` are keys. ``effective_from`` and ``effective_to`` are inclusive."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: tuple[Key, ...] = ()
    document_types: tuple[Fact, ...] = ()
    jurisdictions: tuple[Fact, ...] = ()
    languages: tuple[Fact, ...] = ()
    tags: tuple[Fact, ...] = ()
    effective_from: dt.date | None = None
    effective_to: dt.date | None = None

    @field_validator("document_types", "jurisdictions", "languages", "tags")
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
    """The keys of the newest, readable documents that the filter lets through."""
    return keys_matching(Document.objects.filter(collection=collection).ready().newest(), given)


def keys_matching(documents: DocumentQuerySet, given: ScopeFilter) -> frozenset[int]:
    """The keys of those documents that the filter lets through."""
    if given.documents:
        documents = documents.filter(pk__in=given.documents)
    named = documents.annotate(
        of_type=Lower("document_type"), of_jurisdiction=Lower("jurisdiction"), in_language=Lower("language")
    )
    for column, values in (
        ("of_type", given.document_types),
        ("of_jurisdiction", given.jurisdictions),
        ("in_language", given.languages),
    ):
        if values:
            named = named.filter(**{f"{column}__in": [value.lower() for value in values]})
    if given.effective_from:
        named = named.filter(effective_date__gte=given.effective_from)
    if given.effective_to:
        named = named.filter(effective_date__lte=given.effective_to)
    rows = named.values_list("pk", "tags")
    if not given.tags:
        return frozenset(pk for pk, _tags in rows)
    wanted = {tag.lower() for tag in given.tags}
    return frozenset(pk for pk, tags in rows if wanted & {str(tag).lower() for tag in tags})


@dataclass(frozen=True, slots=True)
class Facts:
    """The values that a person may choose from, sorted; each stands in a document they may ask."""

    document_types: tuple[str, ...]
    jurisdictions: tuple[str, ...]
    languages: tuple[str, ...]
    tags: tuple[str, ...]
    has_dates: bool

    def __bool__(self) -> bool:
        """Whether there is anything to narrow by."""
        return self != Facts((), (), self.languages[:1], (), False) and self != Facts((), (), (), (), False)


def facts_of(*, collections: list[Collection]) -> Facts:
    """What the readable documents of some collections carry. One query."""
    rows = Document.objects.filter(collection__in=collections).ready()
    found: list[tuple[Any, ...]] = list(
        rows.values_list("document_type", "jurisdiction", "language", "tags", "effective_date").distinct()
    )
    columns = [sorted({row[place] for row in found if row[place]}) for place in range(3)]
    tags = sorted({str(tag) for row in found for tag in row[3]})
    return Facts(*(tuple(values) for values in columns), tuple(tags), any(row[4] for row in found))


def filter_words(given: ScopeFilter) -> list[str]:
    """The filter's values in order, for pages and reports."""
    dates = " – ".join(day.isoformat() if day else "…" for day in (given.effective_from, given.effective_to))
    count = len(given.documents)
    named = [ngettext("%(n)d document", "%(n)d documents", count) % {"n": count}] if count else []
    values = [*named, *given.document_types, *given.jurisdictions, *given.languages, *given.tags]
    return [*values, dates] if given.effective_from or given.effective_to else values
