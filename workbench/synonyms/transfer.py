"""A dictionary as a CSV file: taking one in with a report of what was refused, and handing one out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection
from workbench.errors import Conflict, WorkbenchError
from workbench.infra.exports import csv_text
from workbench.infra.imports import MEGABYTE, RefusedRow, csv_rows, file_text

from .models import DictionaryEntry, EntryKind, EntryStatus, Language
from .selectors import pair_key, pair_statuses, pairs_hidden
from .services import check_choices, checked_pair, entry_approve, require_decider

COLUMNS = ("term", "variant", "kind", "language", "status")
REQUIRED = ("term", "variant")
MAX_MEGABYTES = 1
MAX_BYTES = MAX_MEGABYTES * MEGABYTE
MAX_ROWS = 5_000


@dataclass(slots=True)
class ImportReport:
    """What became of the rows of a file."""

    added: int = 0
    known: int = 0
    refused: list[RefusedRow] = field(default_factory=list)


def entries_import(*, actor: User, collection: Collection, content: bytes) -> ImportReport:
    """Takes in the pairs of a CSV file; they are in use at once, as if the person had written each.

    The header names the columns ``term`` and ``variant``, and may name ``kind`` and ``language``; commas or
    semicolons. Pairs in use are left as they are; rows that cannot be used, and pairs that wait or were rejected,
    are refused one by one. Of these, pairs that the person may not see are approved, as by :func:`entry_add`: a refusal
    would tell of them. Raises :class:`NotAllowed`, or :class:`WorkbenchError` for a file that is no such table.
    """
    require_decider(actor=actor, collection=collection)
    report, fresh = ImportReport(), []
    hidden = pairs_hidden(collection=collection, user=actor)
    statuses = pair_statuses(collection=collection)
    known = {pair: status for pair, status in statuses.items() if pair not in hidden}
    for line, row in _rows(content):
        try:
            entry = _entry(actor=actor, collection=collection, row=row, known=known)
        except WorkbenchError as error:
            text = " = ".join(row[name] for name in REQUIRED)
            report.refused.append(RefusedRow(line, text[:200], error.message))
            continue
        if entry is None:
            report.known += 1
            continue
        known[pair_key(entry.term, entry.variant)] = EntryStatus.APPROVED
        fresh.append(entry)
    report.added = len(fresh)
    _store(actor=actor, collection=collection, entries=fresh, hidden=hidden, report=report, content=content)
    return report


def _entry(
    *, actor: User, collection: Collection, row: Mapping[str, str], known: Mapping[frozenset[str], str]
) -> DictionaryEntry | None:
    """The row as an entry; None when the pair is in use already."""
    if row.get("status", "") in (EntryStatus.PROPOSED, EntryStatus.REJECTED):
        raise WorkbenchError(_("The file says that this pair is not in use."))
    term, variant = checked_pair(row["term"], row["variant"])
    kind, language = row.get("kind") or EntryKind.ALIAS, row.get("language") or Language.EN
    check_choices(kind=kind, language=language)
    status = known.get(pair_key(term, variant))
    if status == EntryStatus.APPROVED:
        return None
    if status is not None:
        raise Conflict(_("This pair was proposed or rejected here. Decide it on the page."))
    return DictionaryEntry(
        collection=collection,
        term=term,
        variant=variant,
        kind=kind,
        language=language,
        status=EntryStatus.APPROVED,
        proposed_by=actor,
        decided_by=actor,
        decided_at=Now(),
    )


def _store(
    *,
    actor: User,
    collection: Collection,
    entries: list[DictionaryEntry],
    hidden: Mapping[frozenset[str], DictionaryEntry],
    report: ImportReport,
    content: bytes,
) -> None:
    new = [entry for entry in entries if pair_key(entry.term, entry.variant) not in hidden]
    waiting = [hidden[pair] for entry in entries if (pair := pair_key(entry.term, entry.variant)) in hidden]
    try:
        with transaction.atomic():
            stored = DictionaryEntry.objects.bulk_create(new)
            stored += [entry_approve(actor=actor, entry=entry) for entry in waiting]
            audit_record(
                actor=actor,
                action=Action.VOCABULARY_IMPORTED,
                obj=collection,
                after={
                    "sha256": hashlib.sha256(content).hexdigest(),
                    "added": report.added,
                    "known": report.known,
                    "refused": len(report.refused),
                    "entries": sorted(entry.pk for entry in stored),
                },
            )
    except IntegrityError as error:
        raise Conflict(_("The vocabulary changed at the same moment. Import the file again.")) from error


def _rows(content: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """(line in the file, cells by column name) of every row that is not empty."""
    missing = _("The first line must name the columns: %(names)s.") % {"names": ", ".join(COLUMNS[:4])}
    rows = csv_rows(file_text(content, max_megabytes=MAX_MEGABYTES), required=REQUIRED, missing=missing)
    for number, row in enumerate(rows, start=1):
        if number > MAX_ROWS:
            raise WorkbenchError(
                _("The file has more than %(limit)d rows. Split it.") % {"limit": MAX_ROWS},
                code="too_many_rows",
            )
        yield row


def entries_csv(*, collection: Collection, user: User) -> str:
    """All of the dictionary that the person may see, whatever the status, safe from formula injection."""
    entries = DictionaryEntry.objects.visible_to(user).filter(collection=collection)
    rows = entries.order_by("status", "term", "variant").values_list(*COLUMNS)
    return csv_text(header=COLUMNS, rows=rows.iterator(chunk_size=2000))
