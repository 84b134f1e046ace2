"""The words of a collection on this machine's disk: BM25 over passages, and apart from them over titles, by tantivy.

Passages and titles stand in indexes of their own. Together, thousands of short titles halve the average length that
BM25 normalises by and count as texts in the rarity of a word (500 questions of ObliQA: MRR .688 together, .714 apart).

PostgreSQL is the truth. Each worker derives an index of each collection on its local disk and brings it up to
date from the database before a question is answered: the collection's epoch tells whether anything changed,
the manifest beside the index which documents it holds. Deleting the folder loses nothing. What the index holds of a
text, and how terms are looked up in it (``term_queries.py``), finds whatever the engine's matcher finds.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import structlog
import tantivy
from django.conf import settings
from django.db import connection

from workbench.private import private_folder

from .models import DELETED_STATUSES, Collection, Document, DocumentStatus
from .term_queries import PARTS, WORDS, Phrase, Query, TermQueries
from .text_index import INDEX_VERSION, PASSAGE, SECTION, Entry, Hit, entries, index_epoch

logger = structlog.get_logger(__name__)

_SUBFOLDERS = {PASSAGE: "passages", SECTION: "sections"}
_Indexes = Mapping[int, tantivy.Index]


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("document", indexed=True, stored=True, fast=True)
    builder.add_text_field(WORDS, tokenizer_name="whitespace", index_option="position")
    builder.add_text_field(PARTS, tokenizer_name="whitespace", index_option="position")
    # Stored and nothing else. As a text it would be a term of its own, and the terms ten times as many bytes.
    builder.add_bytes_field("payload", stored=True, indexed=False)
    return builder.build()


class _Damaged(Exception):
    """The index does not hold what its manifest says."""


@dataclass(frozen=True, slots=True)
class _Held:
    """What the indexes hold of one document: its state, number of passages and titles, and body lines."""

    stamp: str
    passages: int
    sections: int
    lines: int

    def entries(self, kind: int) -> int:
        """Number of entries of one kind."""
        return self.passages if kind == PASSAGE else self.sections


class LexicalIndex:
    """One collection's index on this machine. Use :func:`lexical_index` to get a current one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._schema = _schema()
        self._indexes: _Indexes | None = None
        self._epoch = -1
        self._held: dict[int, _Held] = {}
        self._term_queries: dict[int, TermQueries] = {}
        self._lock = threading.Lock()

    def bring_up_to_date(self, collection: Collection, epoch: int | None = None) -> None:
        """Adds and removes what changed in the database since the last time; cheap when nothing did. An index that
        cannot be read, or that does not hold what it should, is built anew. Who has just read the epoch gives it."""
        epoch = index_epoch(collection) if epoch is None else epoch
        with self._lock:
            if epoch == self._epoch and self._indexes is not None:
                return
            with self._exclusive():
                try:
                    indexes = self._synchronised(collection)
                except BaseException as error:
                    if not _tells_of_damage(error):
                        raise
                    logger.warning("lexical.rebuilt", collection=collection.pk, error=str(error)[:200])
                    self._forget()
                    indexes = self._synchronised(collection)
            self._indexes, self._epoch, self._term_queries = indexes, epoch, {}

    def forget(self) -> None:
        """Removes the index from the disk while no other process writes it. A question in progress keeps reading its
        open files."""
        with self._lock, self._exclusive():
            indexes = self._indexes
            self._forget()
            self._indexes, self._epoch, self._term_queries = indexes, -1, {}

    def body_lines(self, document_pk: int) -> int:
        """Number of a document's lines that are searched."""
        held = self._held.get(document_pk)
        return held.lines if held else 0

    def term_queries(self, kind: int) -> TermQueries:
        """Makes queries of terms for the entries of one kind as they are now."""
        known = self._term_queries.get(kind)
        if known is None:
            known = self._term_queries[kind] = TermQueries(TantivyVocabulary(self._searcher(kind)))
        return known

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
        either = [
            *(tantivy.Query.term_query(self._schema, WORDS, word) for word in dict.fromkeys(any_of) if word),
            *(tantivy_query(query, self._schema) for query in also),
            *(tantivy.Query.boost_query(tantivy_query(query, self._schema), 2.0) for query in boosted),
        ]
        if not either:
            return []
        query = self._filtered(_any(either), documents)
        return list(self._each(kind, query, limit))

    def look(
        self, *, kind: int, any_of: Sequence[Query], documents: Sequence[int] | None, limit: int
    ) -> Iterator[Hit]:
        """Entries that match any of the queries, best BM25 first; each is read when it is wanted."""
        return self._each(kind, self._filtered(self._any(any_of), documents), limit)

    def _each(self, kind: int, query: tantivy.Query, limit: int) -> Iterator[Hit]:
        searcher = self._searcher(kind)
        for score, address in searcher.search(query, limit=limit, count=False).hits:
            yield self._hit(searcher, score, address)

    def count(self, *, kind: int, any_of: Sequence[Query], documents: Sequence[int] | None) -> int:
        """Number of entries that match any of the queries."""
        if not any_of:
            return 0
        query = self._filtered(self._any(any_of), documents)
        return int(self._searcher(kind).search(query, limit=1, count=True).count or 0)

    def counts(
        self, *, kind: int, each: Sequence[Sequence[Query]], documents: Sequence[int] | None
    ) -> list[int]:
        """See the protocol."""
        return [self.count(kind=kind, any_of=any_of, documents=documents) for any_of in each]

    def payloads(
        self, *, kind: int, each: Sequence[Sequence[Query]], documents: Sequence[int] | None, limit: int
    ) -> list[Iterable[dict[str, Any]]]:
        """See the protocol; each is read when it is wanted."""
        return [
            (hit.payload for hit in self.look(kind=kind, any_of=any_of, documents=documents, limit=limit))
            for any_of in each
        ]

    def _any(self, queries: Sequence[Query]) -> tantivy.Query:
        return _any([tantivy_query(query, self._schema) for query in queries])

    def _searcher(self, kind: int) -> tantivy.Searcher:
        assert self._indexes is not None, "bring_up_to_date comes first"
        return self._indexes[kind].searcher()

    def _filtered(self, query: tantivy.Query, documents: Sequence[int] | None) -> tantivy.Query:
        """The filter scores nothing: BM25 stays BM25."""
        if documents is None:
            return query
        in_scope = tantivy.Query.term_set_query(self._schema, "document", list(documents))
        return tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Must, query),
                (tantivy.Occur.Must, tantivy.Query.const_score_query(in_scope, 0.0)),
            ]
        )

    @staticmethod
    def _hit(searcher: tantivy.Searcher, score: float, address: tantivy.DocAddress) -> Hit:
        stored = searcher.doc(address)
        payload = json.loads(bytes(stored.get_first("payload")))
        return Hit(score=float(score), document_pk=int(stored.get_first("document")), payload=payload)

    # --- keeping up with the database ---------------------------------------------------------------

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """One writer at a time on this machine."""
        private_folder(self._folder.parent)
        with (self._folder.parent / f"{self._folder.name}.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _manifest(self) -> dict[int, _Held] | None:
        """The contents of the index as recorded. None if there is no record, or one of another version."""
        try:
            manifest = json.loads((self._folder / "manifest.json").read_text())
            if manifest["version"] != INDEX_VERSION:
                return None
            return {int(pk): _Held(**held) for pk, held in manifest["documents"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def _forget(self) -> None:
        """The manifest goes first: half a folder must not look like an index."""
        (self._folder / "manifest.json").unlink(missing_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._indexes = None

    def _synchronised(self, collection: Collection) -> _Indexes:
        held = self._manifest()
        if held is None:
            self._forget()
            held = {}
        indexes = self._indexes or {kind: self._opened(kind) for kind in _SUBFOLDERS}
        _verify(indexes, held)
        wanted = _stamps(collection)
        outdated = [pk for pk, known in held.items() if wanted.get(pk) != known.stamp]
        if outdated and Document.objects.filter(pk__in=outdated, status__in=DELETED_STATUSES).exists():
            # A removed entry's text stays in its segment until segments are merged; of a deleted document it goes now.
            self._forget()
            held, outdated, indexes = {}, [], {kind: self._opened(kind) for kind in _SUBFOLDERS}
        missing = [pk for pk, stamp in wanted.items() if pk not in held or held[pk].stamp != stamp]
        if outdated or missing or not held:
            written = self._write(indexes, outdated=outdated, missing=missing, stamps=wanted)
            held = {pk: known for pk, known in held.items() if pk not in outdated} | written
            self._write_manifest(held)
            _verify(indexes, held)
        self._held = held
        return indexes

    def _opened(self, kind: int) -> tantivy.Index:
        folder = self._folder / _SUBFOLDERS[kind]
        private_folder(folder)
        return tantivy.Index(self._schema, path=str(folder))

    def _write(
        self,
        indexes: _Indexes,
        *,
        outdated: Sequence[int],
        missing: Sequence[int],
        stamps: Mapping[int, str],
    ) -> dict[int, _Held]:
        writers = {kind: index.writer(heap_size=64_000_000, num_threads=1) for kind, index in indexes.items()}
        for pk in outdated:
            for writer in writers.values():
                writer.delete_documents_by_term("document", pk)
        written = {}
        for pk in missing:
            counted, lines = Counter[int](), 0
            for entry in entries(pk):
                writers[entry.kind].add_document(tantivy_document(entry, document_pk=pk))
                counted[entry.kind] += 1
                lines += entry.lines
            written[pk] = _Held(stamps[pk], passages=counted[PASSAGE], sections=counted[SECTION], lines=lines)
        for writer in writers.values():
            writer.commit()
            writer.wait_merging_threads()
        return written

    def _write_manifest(self, held: Mapping[int, _Held]) -> None:
        documents = {str(pk): asdict(known) for pk, known in held.items()}
        temporary = self._folder / "manifest.json.new"
        temporary.write_text(json.dumps({"version": INDEX_VERSION, "documents": documents}))
        os.replace(temporary, self._folder / "manifest.json")


def _tells_of_damage(error: BaseException) -> bool:
    """Tantivy reports damage by ValueError, and cut-off files by a panic, which is no ordinary exception."""
    return isinstance(error, _Damaged | ValueError | OSError) or type(error).__name__ == "PanicException"


def _any(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def _verify(indexes: _Indexes, held: Mapping[int, _Held]) -> None:
    """Checks that the index lost no entries: otherwise it would prove false absences. Raises :class:`_Damaged`."""
    for kind, index in indexes.items():
        index.reload()
        found, expected = index.searcher().num_docs, sum(known.entries(kind) for known in held.values())
        if found != expected:
            raise _Damaged(f"{found} {_SUBFOLDERS[kind]} instead of {expected}")


def _stamps(collection: Collection) -> dict[int, str]:
    """The state of each document that the index must hold."""
    ready = Document.objects.filter(collection=collection, status=DocumentStatus.READY)
    return {
        pk: f"{language} {finished.isoformat() if finished else ''}"
        for pk, language, finished in ready.values_list("pk", "language", "finished_at")
    }


def tantivy_document(entry: Entry, *, document_pk: int) -> tantivy.Document:
    """An entry as tantivy takes it."""
    document = tantivy.Document()
    document.add_unsigned("document", document_pk)
    document.add_text(WORDS, entry.words)
    document.add_text(PARTS, entry.parts)
    document.add_bytes("payload", json.dumps(entry.payload, ensure_ascii=False).encode())
    return document


def tantivy_query(query: Query, schema: tantivy.Schema) -> tantivy.Query:
    """A query as tantivy takes it."""
    if isinstance(query, Phrase):
        if len(query.words) == 1:
            return tantivy.Query.term_query(schema, query.field, query.words[0])
        return tantivy.Query.phrase_query(schema, query.field, list(query.words))
    occur = tantivy.Occur.Must if query.holds_all else tantivy.Occur.Should
    return tantivy.Query.boolean_query([(occur, tantivy_query(each, schema)) for each in query.queries])


@dataclass(frozen=True, slots=True)
class TantivyVocabulary:
    """The parts in one state of an index; each is looked up in less than a microsecond."""

    searcher: tantivy.Searcher

    def expect(self, word: str) -> None:
        """See the protocol."""

    def holds(self, piece: str) -> bool:
        """See the protocol."""
        return bool(self.searcher.doc_freq(PARTS, piece))

    def beginnings(self, each: Sequence[str]) -> list[list[str]]:
        """See the protocol."""
        return [[part for part, _ in self.searcher.terms_with_prefix(PARTS, letters)] for letters in each]


_indexes: dict[Path, LexicalIndex] = {}
_indexes_lock = threading.Lock()


def lexical_index(collection: Collection, *, epoch: int | None = None) -> LexicalIndex:
    """The collection's index on this machine, up to date with the database, or with the epoch that was just read."""
    root = settings.WORKBENCH_HOME / "index"
    private_folder(root)  # it holds document text
    with _indexes_lock:
        folder = root / _database_name() / str(collection.pk)
        index = _indexes.setdefault(folder, LexicalIndex(folder))
    index.bring_up_to_date(collection, epoch)
    return index


def index_forget(*, collection_id: int) -> None:
    """Removes the collection's index from this host. The next question rebuilds it from what is left. Other hosts do
    the same when they find that one of their documents was deleted."""
    folder = settings.WORKBENCH_HOME / "index" / _database_name() / str(collection_id)
    if not folder.exists():
        return
    with _indexes_lock:
        index = _indexes.setdefault(folder, LexicalIndex(folder))
    index.forget()


def _database_name() -> str:
    """Indexes of different databases never mix (tests, a restored backup)."""
    return str(connection.settings_dict["NAME"])
