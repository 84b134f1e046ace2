"""The lexical index of a collection: BM25 over passages, and apart from them over section titles, by tantivy.

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

from arbitration.questions.references import section_address
from arbitration.text import join_letter_spaced, stems
from workbench.private import private_folder

from .models import DELETED_STATUSES, Collection, Document, DocumentStatus
from .term_queries import LINE_BREAK, PARTS, WORDS, TermQueries, index_words, parts

logger = structlog.get_logger(__name__)

#: Goes up when the words or the fields change: an older index is built anew.
INDEX_VERSION = 4
PASSAGE, SECTION = 1, 2
_SUBFOLDERS = {PASSAGE: "passages", SECTION: "sections"}
_Indexes = Mapping[int, tantivy.Index]


@dataclass(frozen=True, slots=True)
class Hit:
    """One indexed entry: its BM25 score, its document's key and what was stored with it."""

    score: float
    document_pk: int
    payload: dict[str, Any]


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
        """Removes the index from the disk; no other process is writing it meanwhile. A question that is being answered
        keeps reading the files it has open."""
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
            known = self._term_queries[kind] = TermQueries(self._schema, self._searcher(kind))
        return known

    def search(
        self,
        *,
        kind: int,
        any_of: Iterable[str] = (),
        also: Iterable[tantivy.Query] = (),
        boosted: Iterable[tantivy.Query] = (),
        documents: Sequence[int] | None,
        limit: int,
    ) -> list[Hit]:
        """Entries that hold any of the index words or match any of the queries, best BM25 first; ``boosted``
        queries count double."""
        either = [
            *(tantivy.Query.term_query(self._schema, WORDS, word) for word in dict.fromkeys(any_of) if word),
            *also,
            *(tantivy.Query.boost_query(query, 2.0) for query in boosted),
        ]
        if not either:
            return []
        query = self._filtered(_any(either), documents)
        return list(self._each(kind, query, limit))

    def look(
        self, *, kind: int, any_of: Sequence[tantivy.Query], documents: Sequence[int] | None, limit: int
    ) -> Iterator[Hit]:
        """Entries that match any of the queries, best BM25 first; each is read when it is wanted."""
        return self._each(kind, self._filtered(_any(any_of), documents), limit)

    def _each(self, kind: int, query: tantivy.Query, limit: int) -> Iterator[Hit]:
        searcher = self._searcher(kind)
        for score, address in searcher.search(query, limit=limit, count=False).hits:
            yield self._hit(searcher, score, address)

    def count(self, *, kind: int, any_of: Sequence[tantivy.Query], documents: Sequence[int] | None) -> int:
        """Number of entries that match any of the queries."""
        if not any_of:
            return 0
        query = self._filtered(_any(any_of), documents)
        return int(self._searcher(kind).search(query, limit=1, count=True).count or 0)

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
        """What the index holds by its own account; None where there is none, or one of another version."""
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
            entries, lines = Counter[int](), 0
            for entry in _entries(pk):
                writers[entry.kind].add_document(entry.document)
                entries[entry.kind] += 1
                lines += entry.lines
            written[pk] = _Held(stamps[pk], passages=entries[PASSAGE], sections=entries[SECTION], lines=lines)
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
    """An index that lost entries would prove absences that are none. Raises :class:`_Damaged`."""
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


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of an index, and how many body lines it stands for."""

    kind: int
    document: tantivy.Document
    lines: int


def _entries(document_pk: int) -> Iterator[_Entry]:
    """The index entries of one document, read from the database; none when it is gone."""
    language = Document.objects.values_list("language", flat=True).filter(pk=document_pk).first()
    with connection.cursor() as cursor:
        cursor.execute(_PASSAGES, [document_pk])
        for row in cursor.fetchall():
            pk, ordinal, page_start, line_start, page_end, line_end, section_id, text, lines = row
            texts = [line for _, _, line in lines]
            yield _entry(
                kind=PASSAGE,
                document_pk=document_pk,
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
            yield _entry(
                kind=SECTION,
                document_pk=document_pk,
                words=[
                    *index_words(section["title"], language or ""),
                    *address_words(section_address(section["title"], section["breadcrumb"])),
                ],
                texts=[section["title"]],
                payload=section,
            )


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


def _entry(
    *,
    kind: int,
    document_pk: int,
    words: Sequence[str],
    texts: Sequence[str],
    payload: dict[str, Any],
    lines: int = 0,
) -> _Entry:
    document = tantivy.Document()
    document.add_unsigned("document", document_pk)
    document.add_text(WORDS, " ".join(words))
    document.add_text(PARTS, f" {LINE_BREAK} ".join(" ".join(parts(text)) for text in texts))
    document.add_bytes("payload", json.dumps(payload, ensure_ascii=False).encode())
    return _Entry(kind, document, lines)


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


def index_epoch(collection: Collection) -> int:
    """The epoch now. Asked several times a question, so without a query built anew each time. Raises
    :class:`Collection.DoesNotExist`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT index_epoch FROM documents_collection WHERE id = %s", [collection.pk])
        row = cursor.fetchone()
    if row is None:
        raise Collection.DoesNotExist(f"collection {collection.pk} is gone")
    return int(row[0])


def index_forget(*, collection_id: int) -> None:
    """Removes the collection's index from this host; the next question makes it anew from what is left. Other hosts do
    the same by themselves when they find that a document they hold was deleted."""
    folder = settings.WORKBENCH_HOME / "index" / _database_name() / str(collection_id)
    if not folder.exists():
        return
    with _indexes_lock:
        index = _indexes.setdefault(folder, LexicalIndex(folder))
    index.forget()


def _database_name() -> str:
    """Indexes of different databases never mix (tests, a restored backup)."""
    return str(connection.settings_dict["NAME"])
