"""Collections leave and arrive as archives; both are acts on record, named by the hash of the archive's manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.utils.translation import gettext as _
from pydantic import BaseModel

from arbitration.evaluation.question_groups import question_hash
from arbitration.strategies.registry import STRATEGIES
from arbitration.strategies.rubrics import PROPERTIES
from arbitration.triage import GateCalibration
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.checklists.services import question_set_create
from workbench.collection_settings.selectors import criteria_weights_of
from workbench.collection_settings.services import collection_change, proposal_create
from workbench.documents.erasure import hold_set, retention_set
from workbench.documents.fields import field_add, own_values, values_replace
from workbench.documents.models import Collection, Document
from workbench.documents.restricting import restriction_set
from workbench.documents.services import collection_create, document_upload, require_creation
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.labeling.models import GuidelineVersion, Label, LabelImport, SourceChoice
from workbench.labeling.services import judgment
from workbench.review.blindness import require_sight_of_collection
from workbench.synonyms.services import entry_add

from .contents import (
    DICTIONARY,
    GUIDELINES,
    LABELS,
    QUESTION_SETS,
    DictionaryRow,
    DocumentEntry,
    GuidelineRow,
    LabelRow,
    Manifest,
    QuestionSetRow,
    Settings,
)
from .reading import MOST_BYTES, Archive, AtOnce, BadArchive, archive_open
from .writing import Progress, archive_write, ignored

#: What the lines of each table are.
ROWS: Mapping[str, type[BaseModel]] = {
    DICTIONARY: DictionaryRow,
    QUESTION_SETS: QuestionSetRow,
    LABELS: LabelRow,
    GUIDELINES: GuidelineRow,
}
_LABELS_AT_ONCE = 2000


@dataclass(frozen=True, slots=True)
class ArchiveFigures:
    """What an archive holds. ``sha256`` is that of its manifest, which holds all other hashes."""

    sha256: str
    collection: str
    name: str
    documents: int
    bytes: int
    dictionary_entries: int
    question_sets: int
    labels: int
    dry_run: bool = False
    #: What is not taken over, and what to do about it.
    remarks: list[str] = field(default_factory=list)


def collection_export(
    *, actor: User, collection: Collection, target: BinaryIO, progress: Progress = ignored
) -> ArchiveFigures:
    """Writes the collection as an archive, as of one moment; ``progress`` is told of bytes of originals that were
    copied, and may raise to stop. Raises :class:`NotAllowed` for those who do not manage it,
    :class:`WorkbenchError` when an original is missing or damaged: then what was written is no archive."""
    if not has_permission(actor, collection, Permission.MANAGE):
        raise NotAllowed(_("Only an admin of this collection takes all of it out."))
    require_sight_of_collection(user=actor, collection=collection)
    with _one_snapshot():
        manifest = archive_write(collection=collection, target=target, progress=progress)
    figures = _figures(manifest, digest=_digest_of(target), slug=collection.slug)
    with transaction.atomic():
        audit_record(
            actor=actor, action=Action.COLLECTION_EXPORTED, obj=collection, collection_id=collection.pk,
            after=_record(figures),
        )  # fmt: skip
    return figures


@contextmanager
def _one_snapshot() -> Iterator[None]:
    """Everything read inside is of one moment; inside another transaction it is of that one's."""
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


def _digest_of(target: BinaryIO) -> str:
    target.seek(0)
    with archive_open(target) as archive:
        digest = archive.digest
    target.seek(0)
    return digest


def archive_inspect(
    *,
    actor: User,
    stream: BinaryIO,
    slug: str = "",
    most_bytes: int = MOST_BYTES,
    at_once: AtOnce | None = None,
) -> ArchiveFigures:
    """What an import would make, after reading every byte and every row of the archive; nothing is written.

    Raises :class:`NotAllowed` for a token that may not import, before it reads anything; :class:`BadArchive`, also for
    one that is too large ``at_once``; :class:`Conflict` when there is a collection of that short name.
    """
    require_creation(actor)
    with archive_open(stream, most_bytes=most_bytes, at_once=at_once) as archive:
        archive.check(ROWS)
        return _planned(archive, slug=slug, dry_run=True)


def collection_import(
    *,
    actor: User,
    stream: BinaryIO,
    slug: str = "",
    most_bytes: int = MOST_BYTES,
    at_once: AtOnce | None = None,
) -> tuple[Collection, ArchiveFigures]:
    """Makes a new collection of an archive, all of it or nothing; the actor becomes its admin and analyst.

    Documents are read anew by the workers. Labels of people become those of annotators without an account. Thresholds
    become a proposal. Raises as :func:`archive_inspect`.
    """
    require_creation(actor)
    stored: list[str] = []
    with archive_open(stream, most_bytes=most_bytes, at_once=at_once) as archive:
        archive.check(ROWS)
        figures = _planned(archive, slug=slug, dry_run=False)
        try:
            with transaction.atomic():
                return _take_in(actor, archive, figures, stored=stored), figures
        except BaseException:
            # The folder of a collection that never was belongs to nobody else.
            for name in stored:
                default_storage.delete(name)
            raise


def _planned(archive: Archive, *, slug: str, dry_run: bool) -> ArchiveFigures:
    settings = archive.manifest.collection
    wanted = slug or settings.slug
    if Collection.objects.filter(slug=wanted).exists():
        raise Conflict(
            _(
                "There is a collection with the short name %(slug)s here. Give another one for what is in the archive."
            )
            % {"slug": wanted},
            code="slug_taken",
        )
    return _figures(
        archive.manifest,
        digest=archive.digest,
        slug=wanted,
        dry_run=dry_run,
        remarks=_remarks(settings),
    )


def _figures(
    manifest: Manifest, *, digest: str, slug: str, dry_run: bool = False, remarks: list[str] | None = None
) -> ArchiveFigures:
    return ArchiveFigures(
        sha256=digest,
        collection=slug,
        name=manifest.collection.name,
        documents=len(manifest.documents),
        bytes=manifest.document_bytes,
        dictionary_entries=manifest.tables[DICTIONARY].rows,
        question_sets=manifest.tables[QUESTION_SETS].rows,
        labels=manifest.tables[LABELS].rows,
        dry_run=dry_run,
        remarks=remarks or [],
    )


def _remarks(settings: Settings) -> list[str]:
    remarks = [
        _("Where the collection's text may be sent is not imported: set it on its settings page."),
        _("People are not imported: invite them."),
    ]
    if settings.gates:
        remarks.append(_("Its thresholds arrive as proposals: apply one on the settings page."))
    if settings.default_strategy and settings.default_strategy not in STRATEGIES:
        remarks.append(_("Its strategy is unknown here; the installation's own is used."))
    return remarks


def _record(figures: ArchiveFigures) -> dict[str, object]:
    return {
        "archive": figures.sha256,
        "documents": figures.documents,
        "bytes": figures.bytes,
        "labels": figures.labels,
        "dictionary_entries": figures.dictionary_entries,
        "question_sets": figures.question_sets,
    }


# --- taking in ----------------------------------------------------------------------------------------------


def _take_in(actor: User, archive: Archive, figures: ArchiveFigures, *, stored: list[str]) -> Collection:
    settings = archive.manifest.collection
    collection = collection_create(actor=actor, name=settings.name, slug=figures.collection)
    audit_record(
        actor=actor, action=Action.COLLECTION_IMPORTED, obj=collection, collection_id=collection.pk,
        after=_record(figures) | {"slug_there": settings.slug, "made_at": archive.manifest.made_at.isoformat()},
    )  # fmt: skip
    origin = _("archive %(hash)s") % {"hash": figures.sha256[:16]}
    _settings_in(actor, collection, settings, origin=origin)
    documents = _documents_in(actor, collection, archive, stored=stored)
    for row in archive.rows(DICTIONARY, DictionaryRow):
        _entry_in(actor, collection, row)
    for row in archive.rows(QUESTION_SETS, QuestionSetRow):
        question_set_create(
            actor=actor,
            collection=collection,
            name=row.name,
            questions=row.questions,
            description=row.description,
        )
    for number, row in enumerate(archive.rows(GUIDELINES, GuidelineRow), start=1):
        GuidelineVersion.objects.create(collection=collection, number=number, body=row.body, written_by=actor)
    _labels_in(actor, collection, archive, documents)
    # Last: a collection on hold takes nothing away, and what was taken in so far may still fail as a whole.
    if settings.legal_hold:
        hold_set(actor=actor, collection=collection, is_held=True, reason=origin)
    collection.refresh_from_db()
    return collection


def _settings_in(actor: User, collection: Collection, settings: Settings, *, origin: str) -> None:
    weights = settings.criteria_weights
    collection_change(
        actor=actor,
        collection=collection,
        default_strategy=settings.default_strategy if settings.default_strategy in STRATEGIES else "",
        allowed_endpoints=collection.allowed_endpoints,
        description=settings.description,
        criteria_weights=weights
        if set(weights) == set(PROPERTIES)
        else criteria_weights_of(collection=collection),
        contributes_to_training=settings.contributes_to_training,
    )
    if (settings.retention_days, settings.erasure_delay_days) != (None, collection.erasure_delay_days):
        retention_set(
            actor=actor,
            collection=collection,
            days=settings.retention_days,
            delay_days=settings.erasure_delay_days,
            reason=origin,
        )
    for name, kind in settings.fields.items():
        field_add(actor=actor, collection=collection, name=name, kind=kind)
    for gates in settings.gates:
        calibration = GateCalibration(
            profile=gates.profile,
            questions=gates.questions,
            evidence=gates.evidence,
            evidence_lost=gates.profile.evidence_lost or 0.0,
            rejected_share=gates.rejected_share,
            accepted_share=gates.accepted_share,
            accepted_precision=gates.accepted_precision,
        )
        proposal_create(actor=actor, collection=collection, calibration=calibration, source=origin)


def _documents_in(
    actor: User, collection: Collection, archive: Archive, *, stored: list[str]
) -> dict[str, Document]:
    taken: dict[str, Document] = {}
    for entry in archive.manifest.documents:
        with archive.original(entry) as content:
            outcome = document_upload(
                actor=actor, collection=collection, file=File(content, name=entry.name), name=entry.name
            )
        document = outcome.document
        stored.append(document.file.name)
        if document.sha256 != entry.sha256:
            raise BadArchive(_("A document changed while it was being imported."))
        _describe(actor, document, entry, taken)
        if entry.is_restricted:
            why = _("It was restricted in the installation that it comes from.")
            restriction_set(actor=actor, document=document, readers=[], reason=why)
        taken[entry.sha256] = document
    return taken


def _describe(actor: User, document: Document, entry: DocumentEntry, taken: Mapping[str, Document]) -> None:
    own = own_values(collection=document.collection, given=entry.fields)
    values_replace(actor=actor, document=document, parties=entry.parties, own=own)
    Document.objects.filter(pk=document.pk).update(
        document_type=entry.document_type,
        issuer=entry.issuer,
        jurisdiction=entry.jurisdiction,
        effective_date=entry.effective_date,
        tags=entry.tags,
        version_of=taken[entry.version_of] if entry.version_of else None,
        version_number=entry.version_number,
    )


def _entry_in(actor: User, collection: Collection, row: DictionaryRow) -> None:
    try:
        entry_add(
            actor=actor,
            collection=collection,
            term=row.term,
            variant=row.variant,
            kind=row.kind,
            language=row.language,
        )
    except Conflict:
        return  # the same pair the other way round
    except WorkbenchError as error:
        raise BadArchive(f"{DICTIONARY}: {error.message}") from error


def _labels_in(
    actor: User, collection: Collection, archive: Archive, documents: Mapping[str, Document]
) -> None:
    """Labels keep their place and the hash of their passage; each source is one import on record."""
    sources = Counter(_source(row) for row in archive.rows(LABELS, LabelRow))
    table = archive.manifest.tables[LABELS]
    batches = {
        source: LabelImport.objects.create(
            collection=collection, file_name=LABELS, sha256=table.sha256, source=source,
            rows_read=table.rows, labels_made=count, imported_by=actor,
        )
        for source, count in sources.items()
    }  # fmt: skip
    for rows in _batches(archive.rows(LABELS, LabelRow), _LABELS_AT_ONCE):
        if any(row.document not in documents for row in rows):
            raise BadArchive(_("A label is about a document that is not in the archive."))
        Label.objects.bulk_create(
            _label(row, document=documents[row.document], batch=batches[_source(row)]) for row in rows
        )


def _source(row: LabelRow) -> SourceChoice:
    """Reviewers and adjudicators are members of where they decided; here their word is an outside annotator's."""
    return SourceChoice.ANNOTATOR if row.source.is_human else SourceChoice.LLM


def _label(row: LabelRow, *, document: Document, batch: LabelImport) -> Label:
    return Label(
        collection_id=document.collection_id,
        question=row.question,
        question_hash=question_hash(row.question),
        document=document,
        page_start=row.page_start,
        line_start=row.line_start,
        page_end=row.page_end,
        line_end=row.line_end,
        text_hash=row.text_hash,
        judge_name=row.judge,
        seconds=row.seconds,
        blind=row.blind and row.source.is_human,
        blind_chance=row.blind_chance if row.blind and row.source.is_human else None,
        label_import=batch,
        **judgment(role=row.role, source=batch.source),
    )


def _batches(rows: Iterable[LabelRow], size: int) -> Iterator[list[LabelRow]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch
