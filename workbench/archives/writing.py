"""Writing an archive: what a collection is made of, without its people."""

from __future__ import annotations

import hashlib
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from typing import IO, BinaryIO

from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import BaseModel

from arbitration.parsing.unpacking import MAX_RATIO
from training.labels import LabelSource
from workbench.checklists.models import Entry, QuestionSet
from workbench.collection_settings.models import CollectionGates
from workbench.collection_settings.selectors import criteria_weights_of
from workbench.documents.fields import carried
from workbench.documents.models import Collection, Document, readable
from workbench.documents.restrictions import Restriction
from workbench.errors import WorkbenchError
from workbench.labeling.models import GuidelineVersion, Label
from workbench.synonyms.models import DictionaryEntry, EntryStatus

from .contents import (
    DICTIONARY,
    GUIDELINES,
    LABELS,
    MANIFEST,
    QUESTION_SETS,
    DictionaryRow,
    DocumentEntry,
    Gates,
    GuidelineRow,
    LabelRow,
    Manifest,
    QuestionSetRow,
    Settings,
    Table,
)

#: Told how many more bytes of originals are copied.
Progress = Callable[[int], None]
_CHUNK = 1024 * 1024
#: Every entry of every archive; the time an archive was made stands in its manifest.
_DATE = (1980, 1, 1, 0, 0, 0)


def ignored(size: int) -> None:
    """Progress that nobody waits for."""


def archive_write(*, collection: Collection, target: BinaryIO, progress: Progress = ignored) -> Manifest:
    """Writes the collection as it stands; call inside one snapshot of the database.

    Raises :class:`WorkbenchError` when an original is gone or not what was uploaded: such an archive must not leave.
    """
    documents = _documents(collection)
    tables = {
        DICTIONARY: _lines(_dictionary(collection)),
        QUESTION_SETS: _lines(_question_sets(collection)),
        LABELS: _lines(_labels(collection)),
        GUIDELINES: _lines(_guidelines(collection)),
    }
    manifest = Manifest(
        made_at=timezone.now(),
        collection=_settings(collection),
        documents=_entries(documents),
        tables={
            name: Table(
                size=len(content), sha256=hashlib.sha256(content).hexdigest(), rows=content.count(b"\n")
            )
            for name, content in tables.items()
        },
    )
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        archive.writestr(_named(MANIFEST), manifest.model_dump_json(indent=1) + "\n")
        for name, content in tables.items():
            archive.writestr(_named(name), content)
        for document, entry in zip(documents, manifest.documents, strict=True):
            _copy(document, archive, entry, progress)
    return manifest


def _named(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, date_time=_DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info


def _held(entry: DocumentEntry, source: IO[bytes]) -> zipfile.ZipInfo:
    """The entry of a document. A blank scan is stored as it is: folded it would be refused as a bomb."""
    info = _named(entry.entry)
    begin = source.read(_CHUNK)
    source.seek(0)
    if len(begin) > MAX_RATIO // 2 * len(zlib.compress(begin, 1)):
        info.compress_type = zipfile.ZIP_STORED
    return info


def _copy(document: Document, archive: zipfile.ZipFile, entry: DocumentEntry, progress: Progress) -> None:
    digest, size = hashlib.sha256(), 0
    try:
        with document.file.open("rb") as source, archive.open(_held(entry, source), "w") as target:
            while block := source.read(_CHUNK):
                digest.update(block)
                size += len(block)
                target.write(block)
                progress(len(block))
    except FileNotFoundError as error:
        raise WorkbenchError(
            _("The original of “%(name)s” is not in the file store. Restore it from a backup first.")
            % {"name": document.name},
            code="original_missing",
        ) from error
    if (digest.hexdigest(), size) != (entry.sha256, entry.size):
        raise WorkbenchError(
            _("The original of “%(name)s” is not what was uploaded. Restore it from a backup first.")
            % {"name": document.name},
            code="original_damaged",
        )


def _lines(rows: Iterable[BaseModel]) -> bytes:
    target = BytesIO()
    for row in rows:
        target.write(row.model_dump_json().encode() + b"\n")
    return target.getvalue()


# --- parts --------------------------------------------------------------------------------------------------


def _settings(collection: Collection) -> Settings:
    return Settings(
        slug=collection.slug,
        name=collection.name,
        description=collection.description,
        default_strategy=collection.default_strategy,
        criteria_weights=criteria_weights_of(collection=collection),
        legal_hold=collection.legal_hold,
        retention_days=collection.retention_days,
        erasure_delay_days=collection.erasure_delay_days,
        contributes_to_training=collection.contributes_to_training,
        gates=[_gates(row) for row in collection.applied_gates.select_related("proposal").order_by("pk")],
        fields={row.name: row.kind for row in collection.fields.all()},
    )


def _gates(row: CollectionGates) -> Gates:
    proposal = row.proposal
    if proposal is None:
        return Gates(profile=row.profile)
    return Gates(
        profile=row.profile,
        questions=proposal.questions,
        evidence=proposal.evidence,
        rejected_share=proposal.rejected_share,
        accepted_share=proposal.accepted_share,
        accepted_precision=proposal.accepted_precision,
    )


def _documents(collection: Collection) -> list[Document]:
    """Each after the version before it, whichever was uploaded first."""
    return list(collection.documents.readable().order_by("version_number", "pk"))


def _entries(documents: Sequence[Document]) -> list[DocumentEntry]:
    sha_of = {document.pk: document.sha256 for document in documents}
    values = carried(documents)
    rows = Restriction.objects.filter(document__in=documents)
    restricted = set(rows.values_list("pk", flat=True))
    return [
        DocumentEntry(
            sha256=document.sha256,
            size=document.size,
            name=document.name,
            document_type=document.document_type,
            issuer=document.issuer,
            jurisdiction=document.jurisdiction,
            effective_date=document.effective_date,
            tags=document.tags,
            parties=values[document.pk].parties,
            fields=values[document.pk].own,
            # A version whose predecessor was deleted begins a line of its own.
            version_of=sha_of.get(document.version_of_id) if document.version_of_id else None,
            version_number=document.version_number,
            is_restricted=document.pk in restricted,
        )
        for document in documents
    ]


def _dictionary(collection: Collection) -> Iterator[DictionaryRow]:
    for entry in DictionaryEntry.objects.filter(collection=collection, status=EntryStatus.APPROVED):
        yield DictionaryRow(term=entry.term, variant=entry.variant, kind=entry.kind, language=entry.language)


def _question_sets(collection: Collection) -> Iterator[QuestionSetRow]:
    current: dict[int, list[str]] = {}
    entries = Entry.objects.filter(question_set__collection=collection, is_current=True)
    for set_id, text in entries.order_by("ordinal").values_list("question_set_id", "text"):
        current.setdefault(set_id, []).append(text)
    for row in QuestionSet.objects.filter(collection=collection):
        if row.pk in current:
            yield QuestionSetRow(name=row.name, description=row.description, questions=current[row.pk])


def _guidelines(collection: Collection) -> Iterator[GuidelineRow]:
    newest = GuidelineVersion.objects.filter(collection=collection).first()
    if newest is not None:
        yield GuidelineRow(body=newest.body)


def _labels(collection: Collection) -> Iterator[LabelRow]:
    """What stands and counts: of a pair that reviewers or an adjudicator decided, their word alone, since it arrives
    among annotators' and would be outvoted there; and every judgment of a model."""
    highest: dict[tuple[str, str], int] = {}
    rows = Label.objects.standing().filter(collection=collection).select_related("document").order_by("pk")
    rows = rows.filter(readable("document"))
    for label in rows.iterator(chunk_size=2000):
        key, authority = (label.question_hash, label.passage_key), LabelSource(label.source).authority
        highest[key] = max(highest.get(key, 0), authority)
    salt = secrets.token_bytes(16)
    for label in rows.iterator(chunk_size=2000):
        source = LabelSource(label.source)
        counts = source.authority == highest[label.question_hash, label.passage_key]
        if counts or not source.is_human:
            yield _label(label, source, salt=salt)


def _label(label: Label, source: LabelSource, *, salt: bytes) -> LabelRow:
    return LabelRow(
        question=label.question,
        document=label.document.sha256,
        page_start=label.page_start,
        line_start=label.line_start,
        page_end=label.page_end,
        line_end=label.line_end,
        text_hash=label.text_hash,
        role=label.role,
        source=source,
        judge=_pseudonym(label.judge, salt=salt) if source.is_human else label.judge_name,
        blind=label.blind,
        blind_chance=label.blind_chance,
        seconds=label.seconds,
    )


def _pseudonym(judge: str, *, salt: bytes) -> str:
    """A name that tells judges apart within one archive and means nothing outside it; the salt is thrown away."""
    return "annotator-" + hashlib.blake2b(judge.encode(), key=salt, digest_size=6).hexdigest()
