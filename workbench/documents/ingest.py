"""Ingestion: turns an uploaded file into lines, pages, sections, passages and vectors.

Each step replaces what an earlier, interrupted attempt left, so every step can be repeated. Parsing runs in a separate
process with limits. A failure there only fails the document, with a reason.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from arbitration.documents import ParsedDocument
from arbitration.errors import LLMFailure, ParseFailure
from arbitration.parsing.isolation import OnRecognised, ParseLimits, parse_isolated
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_work
from workbench.infra.copying import copy_into
from workbench.infra.leases import Heartbeat, LeaseLost, Limit, lease_claim, leased, new_owner
from workbench.infra.storable import storable
from workbench.infra.stored import path_on_disk

from .distribution import node_was_away
from .embedding import AnotherEncoder, active_space, current_embedder, require_encoder_of, space_hold
from .extents import SectionExtent, section_extents
from .fields import particulars_store
from .likeness import document_sketch, sketch_of
from .models import (
    WORKING_STATUSES,
    Collection,
    Document,
    DocumentStatus,
    EmbeddingSpace,
    Line,
    Page,
    Passage,
    PassageTokens,
    PassageVector,
    Section,
)
from .search_backend import document_index
from .services import document_row_for, index_epoch_bump
from .tokens import passages_embed, placed_passages
from .turns import turn_take
from .vectors import tokens_write, vectors_write
from .versions import version_offer

logger = structlog.get_logger(__name__)


def document_ingest(*, document_id: int, password: str | None = None) -> None:
    """Processes a queued document until it is ready, or failed with a reason. Does nothing if it has ended, is gone, or
    another worker holds it."""
    rows = Document.objects.filter(pk=document_id, status__in=WORKING_STATUSES)
    owner = new_owner()
    if lease_claim(rows, owner=owner):
        _take_to_its_end(document_id, owner=owner, password=password)


def ingest_next() -> bool:
    """Processes the next document (:mod:`.turns`). False if none waits for this machine."""
    owner = new_owner()
    document_id = turn_take(owner=owner)
    if document_id is None:
        return False
    _take_to_its_end(document_id, owner=owner, password=None)
    return True


def _take_to_its_end(document_id: int, *, owner: str, password: str | None) -> None:
    rows = Document.objects.filter(pk=document_id, status__in=WORKING_STATUSES)
    with leased(rows, owner=owner, limit=_limit(document_id, owner)) as heartbeat:
        document = Document.objects.select_related("collection").get(pk=document_id)
        if document.attempts > settings.MAX_ATTEMPTS:
            reason = _("Reading this file stopped its worker three times. It was given up.")
            _fail(document, "worker_lost", reason, owner=owner)
            return
        started = time.monotonic()
        try:
            _ingest(document, owner=owner, heartbeat=heartbeat, password=password)
        except ParseFailure as failure:
            _fail(document, failure.code, failure.message, owner=owner, seconds=time.monotonic() - started)
        except AnotherEncoder as failure:
            _fail(
                document,
                "embedding_space",
                str(failure),
                owner=owner,
                seconds=time.monotonic() - started,
            )
        except LLMFailure as failure:
            _fail(document, "embedding", failure.message, owner=owner, seconds=time.monotonic() - started)
        except DatabaseError as error:
            if node_was_away(error):  # no fault of the document: it waits until the node is back
                rows.filter(lease_owner=owner).update(attempts=F("attempts") - 1)
            raise
        except LeaseLost:
            logger.warning("document.lease_lost", document_id=document_id)


def _limit(document_id: int, owner: str) -> Limit:
    """Limits the time for a file. After that, it fails with a reason and its worker is free."""

    def overdue() -> None:
        reason = _(
            "Reading this file took longer than %(minutes)s minutes and was stopped. Split it, or ask the operator "
            "to allow more time."
        ) % {"minutes": max(1, round(settings.INGEST_SECONDS / 60))}
        _fail(Document.objects.get(pk=document_id), "time_out", reason, owner=owner)

    return Limit(settings.INGEST_SECONDS, overdue)


def _ingest(document: Document, *, owner: str, heartbeat: Heartbeat, password: str | None) -> None:
    started = time.monotonic()
    _advance(document, DocumentStatus.PARSING, owner=owner)

    def recognised(done: int, total: int) -> None:
        heartbeat.check()
        _advance(document, DocumentStatus.PARSING, owner=owner, done=done, total=total)

    parsed = _parse(document, password=password, on_recognised=recognised)
    heartbeat.check()
    _take_in(document, parsed, owner=owner, heartbeat=heartbeat, started=started)


def _take_in(
    document: Document, parsed: ParsedDocument, *, owner: str, heartbeat: Heartbeat, started: float
) -> None:
    """Everything after parsing: rows, vectors, ready."""
    _advance(document, DocumentStatus.STORING, owner=owner, done=0, total=len(parsed.lines))
    with transaction.atomic():
        _store(document, parsed)
        # In the same transaction: a worker whose lease lapsed meanwhile must not replace another one's rows.
        _advance(document, DocumentStatus.EMBEDDING, owner=owner, done=0, total=len(parsed.passages))
    heartbeat.check()
    space = _embed(document, owner=owner, heartbeat=heartbeat)
    _finish(document, parsed, space=space, owner=owner, seconds=time.monotonic() - started)
    document_index(document_id=document.pk)


def parsed_document_add(
    *, actor: User, collection: Collection, name: str, parsed: ParsedDocument
) -> Document:
    """Adds a document that comes as data and needs no parser (labelled sets). The same content gives the same document;
    an interrupted one is done again."""
    content = parsed.model_dump_json().encode()
    document = document_row_for(actor=actor, collection=collection, name=name, content=content)
    rows = Document.objects.filter(pk=document.pk).exclude(status=DocumentStatus.READY)
    owner = new_owner()
    if lease_claim(rows, owner=owner):
        Document.objects.filter(pk=document.pk).update(status=DocumentStatus.STORING)
        with leased(Document.objects.filter(pk=document.pk), owner=owner) as heartbeat:
            _take_in(document, parsed, owner=owner, heartbeat=heartbeat, started=time.monotonic())
    document.refresh_from_db()
    return document


def _parse(document: Document, *, password: str | None, on_recognised: OnRecognised) -> ParsedDocument:
    limits = ParseLimits(
        max_bytes=settings.MAX_UPLOAD_BYTES,
        memory_bytes=settings.PARSER_MEMORY_BYTES,
        wall_s=settings.PARSER_SECONDS,
        max_headings=settings.MAX_DOCUMENT_HEADINGS,
        max_lines=settings.MAX_DOCUMENT_LINES,
        max_passages=settings.MAX_DOCUMENT_PASSAGES,
    )
    with local_copy(document) as path:
        return parse_isolated(
            path=path,
            filename=document.name,
            limits=limits,
            password=password,
            on_recognised=on_recognised,
            on_ended=lambda peak: logger.info("parser.ended", document_id=document.pk, peak_bytes=peak),
        )


@contextmanager
def local_copy(document: Document) -> Iterator[Path]:
    """The document's bytes as a local file; storage may be on another machine."""
    path = path_on_disk(document.file.storage, document.file.name)
    if path is not None:
        yield path
        return
    handle, name = tempfile.mkstemp(prefix="workbench-")
    try:
        with os.fdopen(handle, "wb") as target, document.file.open("rb") as source:
            for chunk in source.chunks():
                target.write(chunk)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _advance(document: Document, status: str, *, owner: str, done: int = 0, total: int = 0) -> None:
    """Moves the document to a stage, if this worker still holds it."""
    changed = Document.objects.filter(pk=document.pk, lease_owner=owner, status__in=WORKING_STATUSES).update(
        status=status, stage_done=done, stage_total=total
    )
    if changed != 1:
        raise LeaseLost
    document.status = status


def _store(document: Document, parsed: ParsedDocument) -> None:
    Line.objects.filter(document=document).delete()
    Page.objects.filter(document=document).delete()
    Section.objects.filter(document=document).delete()
    Passage.objects.filter(document=document).delete()
    _copy(Page, ["page_num", "text", "n_columns", "width", "height"], document, _page_rows(parsed))
    _copy(Section, SECTION_COLUMNS, document, _section_rows(parsed))
    _copy(Line, LINE_COLUMNS, document, _line_rows(parsed))
    _copy(Passage, PASSAGE_COLUMNS, document, _passage_rows(parsed))
    particulars_store(document=document, lines=parsed.lines)


SECTION_COLUMNS = [
    "ordinal", "section_id", "level", "parent_id", "title", "breadcrumb", "start_page", "end_page", "start_y",
    "line_start", "line_end", "own_page_end", "own_line_end", "has_children",
]  # fmt: skip
LINE_COLUMNS = [
    "page_num", "line_num", "text", "x0", "y0", "x1", "y1", "character_count", "column_position", "section_id",
    "parsing_method", "is_furniture", "is_hidden", "confidence", "mark", "author",
]  # fmt: skip
PASSAGE_COLUMNS = [
    "ordinal", "page_start", "line_start", "page_end", "line_end", "section_id", "text", "text_hash",
]  # fmt: skip


def _page_rows(parsed: ParsedDocument) -> Iterator[tuple[Any, ...]]:
    for page in parsed.pages:
        yield page.page_num, page.text, page.n_columns, page.width, page.height


def _section_rows(parsed: ParsedDocument) -> Iterator[tuple[Any, ...]]:
    extents = section_extents(parsed)
    for ordinal, section in enumerate(parsed.sections):
        extent: SectionExtent = extents[section.section_id]
        yield (
            ordinal, section.section_id, section.level, section.parent_id or "", section.title,
            section.breadcrumb, extent.page_start, extent.page_end, section.start_y,
            extent.line_start, extent.line_end, extent.own_page_end, extent.own_line_end, extent.has_children,
        )  # fmt: skip


def _line_rows(parsed: ParsedDocument) -> Iterator[tuple[Any, ...]]:
    for line in parsed.lines:
        yield (
            line.page_num, line.line_num, line.text, line.x0, line.y0, line.x1, line.y1, line.character_count,
            line.column_position, line.section_id or "", line.parsing_method, line.is_furniture, line.is_hidden,
            line.confidence, line.mark, line.author[:120],
        )  # fmt: skip


def _passage_rows(parsed: ParsedDocument) -> Iterator[tuple[Any, ...]]:
    for passage in parsed.passages:
        yield (
            passage.ordinal, passage.page_start, passage.line_start, passage.page_end, passage.line_end,
            passage.section_id or "", passage.text, text_hash(passage.text),
        )  # fmt: skip


def text_hash(text: str) -> str:
    """SHA-256 of a text, which identifies it in records that must not contain it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _copy(model: Any, columns: Sequence[str], document: Document, rows: Iterable[tuple[Any, ...]]) -> None:
    """Bulk load by COPY: many times the speed of INSERT for a document of ten thousand lines."""
    names = ", ".join(f'"{column}"' for column in ["document_id", *columns])
    with copy_into(f'COPY "{model._meta.db_table}" ({names}) FROM STDIN') as copy:
        for row in rows:
            copy.write_row((document.pk, *(storable(v) if isinstance(v, str) else v for v in row)))


def _embed(document: Document, *, owner: str, heartbeat: Heartbeat) -> EmbeddingSpace:
    """Writes the vectors. Returns their space."""
    embedder, space = current_embedder(), active_space()
    require_encoder_of(space, embedder=embedder)
    with transaction.atomic():
        PassageVector.objects.filter(document=document, space=space).delete()
        PassageTokens.objects.filter(document=document, space=space).delete()
        _advance(document, DocumentStatus.EMBEDDING, owner=owner)
    passages = placed_passages(document)
    for start in range(0, len(passages), EMBED_CHUNK):
        chunk = passages[start : start + EMBED_CHUNK]
        vectors, tokens = passages_embed(chunk, embedder=embedder)
        heartbeat.check()
        with transaction.atomic():
            vectors_write(
                space=space,
                collection_id=document.collection_id,
                document_ids=document.pk,
                passage_ids=[passage.pk for passage in chunk],
                vectors=vectors,
            )
            tokens_write(space=space, document_id=document.pk, packed=tokens)
            _advance(
                document,
                DocumentStatus.EMBEDDING,
                owner=owner,
                done=start + len(chunk),
                total=len(passages),
            )
    return space


#: Passages embedded between two reports of progress.
EMBED_CHUNK = 256


def _finish(
    document: Document, parsed: ParsedDocument, *, space: EmbeddingSpace, owner: str, seconds: float
) -> None:
    hashes = sketch_of(line.text for line in parsed.lines if not (line.is_furniture or line.is_hidden))
    with transaction.atomic():
        space_hold(space)
        changed = Document.objects.filter(
            pk=document.pk, lease_owner=owner, status__in=WORKING_STATUSES
        ).update(
            status=DocumentStatus.READY,
            title=storable(parsed.title or document.name)[:400],
            kind=parsed.kind,
            language=parsed.language,
            toc_source=parsed.toc_source,
            warnings=[storable(warning) for warning in parsed.warnings],
            page_count=len(parsed.pages),
            line_count=len(parsed.lines),
            section_count=len(parsed.sections),
            section_depth=parsed.section_depth,
            passage_count=len(parsed.passages),
            character_count=sum(line.character_count for line in parsed.lines),
            seconds=seconds,
            finished_at=Now(),
            lease_owner="",
            lease_until=None,
        )
        if changed != 1:
            raise LeaseLost
        index_epoch_bump(collection_ids=[document.collection_id])
        version_offer(document_id=document.pk)
        document_sketch(document=document, hashes=hashes)
        audit_work(
            action=Action.DOCUMENT_READY,
            obj=document,
            collection_id=document.collection_id,
            after={
                "pages": len(parsed.pages),
                "lines": len(parsed.lines),
                "sections": len(parsed.sections),
                "passages": len(parsed.passages),
            },
        )


def _fail(document: Document, code: str, reason: str, *, owner: str, seconds: float = 0.0) -> None:
    """Ends the document as failed, unless it was cancelled or another worker has taken it over."""
    reason = storable(reason).strip() or _("The file could not be read, and the reader did not say why.")
    with transaction.atomic():
        changed = Document.objects.filter(
            pk=document.pk, lease_owner=owner, status__in=WORKING_STATUSES
        ).update(
            status=DocumentStatus.FAILED,
            failure_code=code[:40],
            failure_reason=reason,
            seconds=seconds,
            finished_at=Now(),
            lease_owner="",
            lease_until=None,
        )
        if changed:
            audit_work(
                action=Action.DOCUMENT_FAILED,
                obj=document,
                collection_id=document.collection_id,
                after={"code": code},
                reason=reason,
            )
