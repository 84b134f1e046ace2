"""The words of one collection's documents: searched by BM25 with exact codes, and counted to prove an absence.

Two implementations keep them: on each worker's disk (:mod:`.lexical`), or in the database (:mod:`.lexical_database`).
Both hold the same entries, made here, and find whatever the engine's matcher finds (:mod:`.term_queries`); neither is
the truth. Vectors need no second implementation: both installations search them in the database (:mod:`.store`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.db import connection

from arbitration.questions.references import section_address
from arbitration.text import join_letter_spaced, stems

from .models import Collection, Document
from .term_queries import LINE_BREAK, Query, TermQueries, index_words, parts

#: Goes up when the words or the fields change: an older index is built anew.
INDEX_VERSION = 4
PASSAGE, SECTION = 1, 2


@dataclass(frozen=True, slots=True)
class Hit:
    """One indexed entry: its BM25 score, its document's key and what was stored with it."""

    score: float
    document_pk: int
    payload: dict[str, Any]


class TextIndex(Protocol):
    """The entries of one collection, as they were when it was last brought up to date.

    ``documents`` are the keys of the only documents that may be found; None means every one that is indexed.
    """

    def bring_up_to_date(self, collection: Collection, epoch: int | None = None) -> None:
        """Adds and removes what changed in the database since the last time; cheap when nothing did. Who has just read
        the epoch gives it."""

    def forget(self) -> None:
        """Removes all of it; it is made again when it is needed."""

    def body_lines(self, document_pk: int) -> int:
        """Number of a document's lines that are searched."""

    def term_queries(self, kind: int) -> TermQueries:
        """Makes queries of terms for the entries of one kind as they are now."""

    def search(
        self,
        *,
        kind: int,
        any_of: Iterable[str] = (),
        also: Iterable[Query] = (),
        boosted: Iterable[Query] = (),
        documents: Sequence[int] | None,
        limit: int,
    ) -> list[Hit]:
        """Entries that hold any of the index words or match any of the queries, best BM25 first; ``boosted``
        queries count double."""

    def look(
        self, *, kind: int, any_of: Sequence[Query], documents: Sequence[int] | None, limit: int
    ) -> Iterator[Hit]:
        """Entries that match any of the queries, best BM25 first; none is missed but for the limit."""

    def count(self, *, kind: int, any_of: Sequence[Query], documents: Sequence[int] | None) -> int:
        """Number of entries that match any of the queries; exact."""

    def counts(
        self, *, kind: int, each: Sequence[Sequence[Query]], documents: Sequence[int] | None
    ) -> list[int]:
        """:meth:`count` of several, asked together."""

    def payloads(
        self, *, kind: int, each: Sequence[Sequence[Query]], documents: Sequence[int] | None, limit: int
    ) -> list[Iterable[dict[str, Any]]]:
        """What is stored of entries that match any of the queries, of several asked together; at most ``limit`` of
        each, in no order. For few entries."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One passage or title: the words and the parts it is found by, what a hit gives, its number of body lines."""

    kind: int
    words: str
    parts: str
    payload: dict[str, Any]
    lines: int = 0


def entries(document_pk: int) -> Iterator[Entry]:
    """The entries of one document, read from the database; none when it is gone."""
    language = Document.objects.values_list("language", flat=True).filter(pk=document_pk).first()
    with connection.cursor() as cursor:
        cursor.execute(_PASSAGES, [document_pk])
        for row in cursor.fetchall():
            pk, ordinal, page_start, line_start, page_end, line_end, section_id, text, lines = row
            texts = [line for _, _, line in lines]
            yield entry(
                kind=PASSAGE,
                words=passage_words(text, texts, language or ""),
                texts=texts,
                lines=len(lines),
                payload={
                    "id": pk,
                    "ordinal": ordinal,
                    "span": [page_start, line_start, page_end, line_end],
                    "section": section_id,
                    "text": text,
                    "lines": lines,
                },
            )
        cursor.execute(_SECTIONS, [document_pk])
        columns = [column.name for column in cursor.description]
        for row in cursor.fetchall():
            section = dict(zip(columns, row, strict=True))
            yield entry(
                kind=SECTION,
                words=[
                    *index_words(section["title"], language or ""),
                    *address_words(section_address(section["title"], section["breadcrumb"])),
                ],
                texts=[section["title"]],
                payload=section,
            )


def entry(
    *, kind: int, words: Sequence[str], texts: Sequence[str], payload: dict[str, Any], lines: int = 0
) -> Entry:
    """An entry with these words, and the parts of these texts."""
    in_parts = f" {LINE_BREAK} ".join(" ".join(parts(text)) for text in texts)
    return Entry(kind, " ".join(words), in_parts, payload, lines)


def passage_words(text: str, lines: Sequence[str], language: str) -> list[str]:
    """The words of a passage, and of those of its lines that read otherwise by themselves: joining the lines puts
    broken words together, which the matcher, line by line, sees in pieces."""
    found = index_words(text, language)
    if " ".join(lines) == text == join_letter_spaced(text):
        return found
    running = f" {' '.join(found)} "
    for line in lines:
        alone = stems(line, language)
        if alone and f" {' '.join(alone)} " not in running:
            found += alone
    return found


def address_words(address: Sequence[str]) -> list[str]:
    """Index words of a section's address (``section:4.2``): its numbers, told apart from words of the text."""
    return [f"@{step.partition(':')[2]}" for step in address]


def index_epoch(collection: Collection) -> int:
    """The epoch now. Asked several times a question, so without a query built anew each time. Raises
    :class:`Collection.DoesNotExist`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT index_epoch FROM documents_collection WHERE id = %s", [collection.pk])
        row = cursor.fetchone()
    if row is None:
        raise Collection.DoesNotExist(f"collection {collection.pk} is gone")
    return int(row[0])


_PASSAGES = """
    SELECT p.id, p.ordinal, p.page_start, p.line_start, p.page_end, p.line_end, p.section_id, p.text,
           coalesce((
               SELECT json_agg(json_build_array(l.page_num, l.line_num, l.text) ORDER BY l.page_num, l.line_num)
               FROM documents_line l
               WHERE l.document_id = p.document_id
                 AND (l.page_num, l.line_num) BETWEEN (p.page_start, p.line_start) AND (p.page_end, p.line_end)
                 AND NOT l.is_furniture AND NOT l.is_hidden
           ), '[]'::json)
    FROM documents_passage p WHERE p.document_id = %s ORDER BY p.ordinal
"""
_SECTIONS = """
    SELECT section_id, level, parent_id, title, breadcrumb, start_page AS page_start, line_start,
           end_page AS page_end, line_end, own_page_end, own_line_end, has_children
    FROM documents_section WHERE document_id = %s ORDER BY ordinal
"""
