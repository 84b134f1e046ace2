"""The lexical index of a collection: BM25 over passages and section titles, by tantivy.

PostgreSQL is the truth. Each worker derives an index of each collection on its local disk and brings it up to
date from the database before a question is answered: the collection's epoch tells whether anything changed,
the manifest beside the index which documents it holds. Deleting the folder loses nothing. The words are those of
:func:`arbitration.text.index_terms`, so that the index finds exactly what the engine's matcher finds.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tantivy
from django.conf import settings
from django.db import connection

from arbitration.questions.references import section_address
from arbitration.text import index_terms

from .models import Collection, Document, DocumentStatus

#: Goes up when the words or the fields change: an older index is built anew.
INDEX_VERSION = 1
PASSAGE, SECTION = 1, 2


@dataclass(frozen=True, slots=True)
class Hit:
    """One indexed entry: its BM25 score, its document's key and what was stored with it."""

    score: float
    document_pk: int
    payload: dict[str, Any]


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("kind", indexed=True)
    builder.add_unsigned_field("document", indexed=True, stored=True, fast=True)
    builder.add_text_field("words", tokenizer_name="whitespace", index_option="position")
    builder.add_text_field("payload", stored=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


class LexicalIndex:
    """One collection's index on this machine. Use :func:`lexical_index` to get a current one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._schema = _schema()
        self._index: tantivy.Index | None = None
        self._epoch = -1
        self._lock = threading.Lock()

    def bring_up_to_date(self, collection: Collection) -> None:
        """Adds and removes what changed in the database since the last time; cheap when nothing did."""
        epoch = Collection.objects.values_list("index_epoch", flat=True).get(pk=collection.pk)
        with self._lock:
            if epoch == self._epoch and self._index is not None:
                return
            with self._exclusive():
                self._open()
                self._synchronise(collection, epoch)
            assert self._index is not None
            self._index.reload()
            self._epoch = epoch

    def search(
        self,
        *,
        kind: int,
        any_of: Iterable[str],
        boosted: Iterable[str] = (),
        documents: Sequence[int] | None,
        limit: int,
    ) -> list[Hit]:
        """Entries that hold any of the index words, best BM25 first; ``boosted`` words count double."""
        query = self._query(kind=kind, any_of=any_of, boosted=boosted, documents=documents)
        if query is None:
            return []
        assert self._index is not None
        searcher = self._index.searcher()
        found = searcher.search(query, limit=limit, count=False).hits
        return [self._hit(searcher, score, address) for score, address in found]

    def count(self, *, kind: int, phrase: Sequence[str], documents: Sequence[int] | None) -> int:
        """Number of entries that hold the words one after another."""
        if not phrase:
            return 0
        assert self._index is not None
        words = (
            tantivy.Query.term_query(self._schema, "words", phrase[0])
            if len(phrase) == 1
            else tantivy.Query.phrase_query(self._schema, "words", list(phrase))
        )
        query = tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, words), *self._filters(kind=kind, documents=documents)]
        )
        return int(self._index.searcher().search(query, limit=1, count=True).count or 0)

    def total(self, *, kind: int, documents: Sequence[int] | None) -> int:
        """Number of entries of a kind in scope."""
        assert self._index is not None
        query = tantivy.Query.boolean_query(list(self._filters(kind=kind, documents=documents)))
        return int(self._index.searcher().search(query, limit=1, count=True).count or 0)

    def _query(
        self, *, kind: int, any_of: Iterable[str], boosted: Iterable[str], documents: Sequence[int] | None
    ) -> tantivy.Query | None:
        terms = [
            tantivy.Query.term_query(self._schema, "words", word) for word in dict.fromkeys(any_of) if word
        ]
        terms += [
            tantivy.Query.boost_query(tantivy.Query.term_query(self._schema, "words", word), 2.0)
            for word in dict.fromkeys(boosted)
            if word
        ]
        if not terms:
            return None
        either = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        return tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, either), *self._filters(kind=kind, documents=documents)]
        )

    def _filters(
        self, *, kind: int, documents: Sequence[int] | None
    ) -> Iterator[tuple[tantivy.Occur, tantivy.Query]]:
        """Filters score nothing: BM25 stays BM25."""
        of_kind = tantivy.Query.term_query(self._schema, "kind", kind)
        yield tantivy.Occur.Must, tantivy.Query.const_score_query(of_kind, 0.0)
        if documents is not None:
            in_scope = tantivy.Query.term_set_query(self._schema, "document", list(documents))
            yield tantivy.Occur.Must, tantivy.Query.const_score_query(in_scope, 0.0)

    @staticmethod
    def _hit(searcher: tantivy.Searcher, score: float, address: tantivy.DocAddress) -> Hit:
        stored = searcher.doc(address)
        payload = json.loads(stored.get_first("payload"))
        return Hit(score=float(score), document_pk=int(stored.get_first("document")), payload=payload)

    # --- keeping up with the database ---------------------------------------------------------------

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """One writer at a time on this machine."""
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        with (self._folder.parent / f"{self._folder.name}.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _manifest(self) -> dict[str, Any]:
        try:
            manifest: dict[str, Any] = json.loads((self._folder / "manifest.json").read_text())
        except (OSError, ValueError):
            return {"version": 0, "documents": {}}
        return manifest

    def _open(self) -> None:
        if self._manifest()["version"] != INDEX_VERSION:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            self._index = None
        if self._index is None:
            self._index = tantivy.Index(self._schema, path=str(self._folder))

    def _synchronise(self, collection: Collection, epoch: int) -> None:
        held: dict[str, str] = self._manifest()["documents"]
        wanted = {
            str(pk): finished.isoformat() if finished else ""
            for pk, finished in Document.objects.filter(
                collection=collection, status=DocumentStatus.READY
            ).values_list("pk", "finished_at")
        }
        outdated = [pk for pk, stamp in held.items() if wanted.get(pk) != stamp]
        missing = [pk for pk, stamp in wanted.items() if held.get(pk) != stamp]
        if outdated or missing:
            self._write(outdated=outdated, missing=missing)
        temporary = self._folder / "manifest.json.new"
        temporary.write_text(json.dumps({"version": INDEX_VERSION, "epoch": epoch, "documents": wanted}))
        os.replace(temporary, self._folder / "manifest.json")

    def _write(self, *, outdated: Sequence[str], missing: Sequence[str]) -> None:
        assert self._index is not None
        writer = self._index.writer(heap_size=64_000_000, num_threads=1)
        # Also the missing: a crash between commit and manifest must not leave an entry twice.
        for pk in {*outdated, *missing}:
            writer.delete_documents_by_term("document", int(pk))
        for pk in missing:
            for entry in _entries(int(pk)):
                writer.add_document(entry)
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()


def _entries(document_pk: int) -> Iterator[tantivy.Document]:
    """The index entries of one document, read from the database."""
    language = Document.objects.values_list("language", flat=True).get(pk=document_pk)
    with connection.cursor() as cursor:
        cursor.execute(_PASSAGES, [document_pk])
        for row in cursor.fetchall():
            pk, ordinal, page_start, line_start, page_end, line_end, section_id, text, lines = row
            yield _entry(
                kind=PASSAGE,
                document_pk=document_pk,
                words=index_terms(text, language),
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
            yield _entry(
                kind=SECTION,
                document_pk=document_pk,
                words=[
                    *index_terms(section["title"], language),
                    *address_words(section_address(section["title"], section["breadcrumb"])),
                ],
                payload=section,
            )


def address_words(address: Sequence[str]) -> list[str]:
    """Index words of a section's address (``section:4.2``): its numbers, told apart from words of the text."""
    return [f"@{step.partition(':')[2]}" for step in address]


def _entry(*, kind: int, document_pk: int, words: Sequence[str], payload: dict[str, Any]) -> tantivy.Document:
    document = tantivy.Document()
    document.add_unsigned("kind", kind)
    document.add_unsigned("document", document_pk)
    document.add_text("words", " ".join(words))
    document.add_text("payload", json.dumps(payload, ensure_ascii=False))
    return document


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

_indexes: dict[int, LexicalIndex] = {}
_indexes_lock = threading.Lock()


def lexical_index(collection: Collection) -> LexicalIndex:
    """The collection's index on this machine, up to date with the database."""
    root = settings.WORKBENCH_HOME / "index"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds document text
    with _indexes_lock:
        index = _indexes.setdefault(collection.pk, LexicalIndex(root / _database_name() / str(collection.pk)))
    index.bring_up_to_date(collection)
    return index


def _database_name() -> str:
    """Indexes of different databases never mix (tests, a restored backup)."""
    return str(connection.settings_dict["NAME"])
