"""Files of labels, and of pairs to label: JSON lines or CSV, checked row by row before anything is written.

Columns, in any order:

    question     the question, in words
    document     the document's file name, its number (42 or d42) or its SHA-256
    page, line_from, line_to, page_to     where the passage stands (1-based; line_to and page_to may be left out), or
    text         the passage itself, as it stands in the document
    role         primary, supporting, tangential or discarded, or
    label        1 for evidence, 0 for none
    judge        the annotator (a member's e-mail address, or any name) or the model
    seconds      time spent, optional
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from arbitration import bounded_json
from arbitration.contracts import Role
from arbitration.evaluation.question_groups import question_key
from training.snapshot import Side
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection
from workbench.errors import Conflict, WorkbenchError
from workbench.infra.imports import MEGABYTE, RefusedRow, csv_rows, file_text
from workbench.infra.storable import storable

from .matching import Matcher
from .models import Label, LabelImport, Pair, PairOrigin, Project, SourceChoice
from .passages import DocumentTexts, Place, pair_fields
from .projects import require_manage
from .selectors import question_sides
from .services import judgment
from .supply import pair_key, pairs_store, part

MAX_MEGABYTES = 50
MAX_BYTES = MAX_MEGABYTES * MEGABYTE
MAX_ROWS = 200_000
MAX_QUESTION = 4000
_COLUMNS = (
    "question", "document", "page", "line_from", "line_to", "page_to", "text", "role", "label", "judge", "seconds",
)  # fmt: skip
_BINARY = {"1": Role.PRIMARY, "0": Role.DISCARDED, "true": Role.PRIMARY, "false": Role.DISCARDED}
#: The number of a row in its file with its cells by column, or with a problem in words where it cannot be read.
Row = tuple[int, Mapping[str, str] | str]
#: Reads the rows of a file.
Reader = Callable[[bytes], Iterator[Row]]
#: Problems named one by one; of more than these only the number is told.
SHOWN_PROBLEMS = 200


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row that can be taken."""

    line: int
    question: str
    place: Place
    role: Role | None
    judge: str
    seconds: float | None


@dataclass(slots=True)
class ImportReport:
    """What became of a file. ``added`` labels or pairs; ``known`` were there already. ``idle`` are good rows that train
    nothing, since they mean no candidate; of ``not_checked`` rows that is not known yet."""

    rows: int = 0
    good: int = 0
    added: int = 0
    known: int = 0
    dry_run: bool = True
    bad: list[RefusedRow] = field(default_factory=list)
    bad_count: int = 0
    idle: list[RefusedRow] = field(default_factory=list)
    idle_count: int = 0
    not_checked: int = 0

    def refuse(self, row: RefusedRow) -> None:
        """Counts a bad row, and names it while there are few."""
        self.bad_count += 1
        if len(self.bad) < SHOWN_PROBLEMS:
            self.bad.append(row)

    def name_idle(self, rows: Sequence[ReadRow]) -> None:
        """Counts good rows that train nothing, and names the first."""
        self.idle_count = len(rows)
        why = _("No candidate of this question shares enough text with this place.")
        self.idle = [RefusedRow(row.line, row.question[:120], why) for row in rows[:SHOWN_PROBLEMS]]


def labels_import(
    *,
    actor: User,
    collection: Collection,
    content: bytes,
    file_name: str,
    source: str,
    judge: str = "",
    is_gold: bool = False,
    dry_run: bool = False,
    reader: Reader | None = None,
    match: Matcher | None = None,
) -> ImportReport:
    """Takes in a file of labels, all of it or, when a row is bad, nothing; with ``dry_run`` only the report.

    ``reader`` reads files of another kind than this module's (``trec.py``, ``label_studio.py``). ``judge`` is the
    annotator or model of rows that do not say. ``match`` tells which rows train nothing.

    Raises :class:`NotAllowed` for those who do not manage the collection, :class:`Conflict` when the
    same file was taken in before, :class:`WorkbenchError` when it is no such file at all.
    """
    require_manage(actor=actor, collection=collection)
    if source not in (SourceChoice.ANNOTATOR, SourceChoice.LLM):
        raise WorkbenchError(_("Labels are imported from annotators or from a model."), code="source_unknown")
    if is_gold and source != SourceChoice.ANNOTATOR:
        raise WorkbenchError(_("A gold set is made by people, never by a model."), code="gold_is_human")
    digest = hashlib.sha256(content).hexdigest()
    if LabelImport.objects.filter(collection=collection, sha256=digest, source=source).exists():
        raise Conflict(_("This file was imported before."), code="imported_before")
    read = (reader or table_rows)(content)
    report, rows = _checked(collection, read, dry_run=dry_run, judge=judge, needs_role=True)
    if report.bad_count:
        return report
    if dry_run:
        rehearsed = LabelImport(collection=collection, source=source, is_gold=is_gold)
        labels = [_label(collection, row, batch=rehearsed, people={}) for row in rows]
        _name_idle(report, rows, labels, match, are_stored=False)
        return report
    with transaction.atomic():
        batch = _batch(actor, collection, file_name, digest, source=source, is_gold=is_gold, report=report)
        people = _people(collection)
        labels = [_label(collection, row, batch=batch, people=people) for row in rows]
        Label.objects.bulk_create(labels, batch_size=2000)
        audit_record(
            actor=actor,
            action=Action.LABELS_IMPORTED,
            obj=batch,
            after={"sha256": digest, "source": source, "labels": len(labels), "is_gold": is_gold},
        )
    report.added = len(labels)
    _name_idle(report, rows, labels, match, are_stored=True)
    return report


def _name_idle(
    report: ImportReport,
    rows: Sequence[ReadRow],
    labels: Sequence[Label],
    match: Matcher | None,
    *,
    are_stored: bool,
) -> None:
    """Says which rows train nothing, as far as that can be told by now."""
    if match is None:
        report.not_checked = len(rows)
        return
    found = match(labels, are_stored)
    report.name_idle([rows[place] for place in found.places])
    report.not_checked = found.not_checked


def pairs_import(*, actor: User, project: Project, content: bytes, dry_run: bool = False) -> ImportReport:
    """Takes in a file of pairs to label, all of it or nothing; a role given is the known answer of its pair.

    Raises as :func:`labels_import`.
    """
    require_manage(actor=actor, collection=project.collection)
    read = table_rows(content)
    report, rows = _checked(project.collection, read, dry_run=dry_run, judge="-", needs_role=False)
    if dry_run or report.bad_count:
        return report
    with transaction.atomic():
        sides = question_sides(new=[row.question for row in rows])
        fresh: dict[Any, Pair] = {}
        for row in rows:
            held_out = sides.side(row.question) is Side.HOLDOUT
            pair = _pair(project, row, is_holdout=held_out)
            fresh.setdefault(pair_key(pair), pair)
        known = {pair_key(pair) for pair in Pair.objects.filter(collection=project.collection)}
        new = [pair for key, pair in fresh.items() if key not in known]
        supplied = pairs_store(project=project, pairs=new, known=len(rows) - len(new))
        audit_record(
            actor=actor,
            action=Action.LABELING_PAIRS_IMPORTED,
            obj=project,
            after={
                "sha256": hashlib.sha256(content).hexdigest(),
                "added": supplied.added,
                "known": supplied.known,
            },
        )
    report.added, report.known = supplied.added, supplied.known
    return report


# --- rows -------------------------------------------------------------------------------------------


def _checked(
    collection: Collection, read: Iterator[Row], *, dry_run: bool, judge: str, needs_role: bool
) -> tuple[ImportReport, list[ReadRow]]:
    report, rows = ImportReport(dry_run=dry_run), []
    given = _rows_given(read)
    report.rows = len(given)
    places = DocumentTexts(collection).places([{} if isinstance(raw, str) else raw for _line, raw in given])
    for (line, raw), place in zip(given, places, strict=True):
        try:
            rows.append(_read(line, raw, place=place, judge=judge, needs_role=needs_role))
        except WorkbenchError as error:
            shown = str(raw.get("question", ""))[:120] if isinstance(raw, Mapping) else str(raw)[:120]
            report.refuse(RefusedRow(line, storable(shown), error.message))
    report.good = len(rows)
    return report, rows


def _rows_given(read: Iterator[Row]) -> list[Row]:
    """The rows of a file, of each the columns that are read."""
    given: list[Row] = []
    for line, raw in read:
        if len(given) >= MAX_ROWS:
            raise WorkbenchError(
                _("The file has more than %(limit)d rows. Split it.") % {"limit": MAX_ROWS},
                code="too_many_rows",
            )
        cells = raw if isinstance(raw, str) else {name: raw[name] for name in _COLUMNS if name in raw}
        given.append((line, cells))
    return given


def _read(
    line: int,
    raw: Mapping[str, str] | str,
    *,
    place: Place | WorkbenchError,
    judge: str,
    needs_role: bool,
) -> ReadRow:
    if isinstance(raw, str):
        raise WorkbenchError(raw)
    question = storable(raw.get("question", "")).strip()
    if not question_key(question):
        raise WorkbenchError(_("The question is missing."))
    if len(question) > MAX_QUESTION:
        raise WorkbenchError(_("The question has more than %(n)d characters.") % {"n": MAX_QUESTION})
    role = _role(raw)
    if needs_role and role is None:
        raise WorkbenchError(_("Give a role, or a label of 1 or 0."))
    name = storable(raw.get("judge", "")).strip() or judge.strip()
    if needs_role and not name:
        raise WorkbenchError(_("Say who judged: a column “judge”, or one name for the whole file."))
    if isinstance(place, WorkbenchError):
        raise place
    return ReadRow(
        line=line,
        question=question,
        place=place,
        role=role,
        judge=name[:200],
        seconds=_seconds(raw.get("seconds", "")),
    )


def _role(raw: Mapping[str, str]) -> Role | None:
    role, label = raw.get("role", "").strip().lower(), raw.get("label", "").strip().lower()
    if role:
        try:
            return Role(role)
        except ValueError as error:
            raise WorkbenchError(
                _("“%(role)s” is not a role: use primary, supporting, tangential or discarded.")
                % {"role": role[:40]}
            ) from error
    if not label:
        return None
    if label not in _BINARY:
        raise WorkbenchError(
            _("A label is 1 (evidence) or 0 (none), not “%(label)s”.") % {"label": label[:40]}
        )
    return _BINARY[label]


def _seconds(raw: str) -> float | None:
    if not raw.strip():
        return None
    try:
        seconds = float(raw)
    except ValueError as error:
        raise WorkbenchError(_("“seconds” is a number.")) from error
    if not 0 <= seconds < 1e6:
        raise WorkbenchError(_("“seconds” is a number from 0 to a million."))
    return seconds


# --- writing ----------------------------------------------------------------------------------------


def _batch(
    actor: User,
    collection: Collection,
    file_name: str,
    digest: str,
    *,
    source: str,
    is_gold: bool,
    report: ImportReport,
) -> LabelImport:
    try:
        with transaction.atomic():
            return LabelImport.objects.create(
                collection=collection,
                file_name=storable(file_name)[:255],
                sha256=digest,
                source=source,
                is_gold=is_gold,
                rows_read=report.rows,
                labels_made=report.good,
                imported_by=actor,
            )
    except IntegrityError as error:
        raise Conflict(_("This file was imported before."), code="imported_before") from error


def _people(collection: Collection) -> dict[str, User]:
    """Members by e-mail address: a judge of that name is that person."""
    members = User.objects.filter(memberships__collection=collection).distinct()
    return {user.email.lower(): user for user in members}


def _label(collection: Collection, row: ReadRow, *, batch: LabelImport, people: Mapping[str, User]) -> Label:
    assert row.role is not None
    person = people.get(row.judge.lower()) if batch.source == SourceChoice.ANNOTATOR else None
    return Label(
        collection=collection,
        **pair_fields(question=row.question, place=row.place),
        person=person,
        judge_name="" if person else row.judge,
        seconds=row.seconds,
        blind=batch.is_gold,
        label_import=batch,
        **judgment(role=row.role, source=batch.source),
    )


def _pair(project: Project, row: ReadRow, *, is_holdout: bool) -> Pair:
    pair = Pair(
        project=project,
        collection=project.collection,
        **pair_fields(question=row.question, place=row.place),
        origin=PairOrigin.IMPORT,
        is_holdout=is_holdout,
        gold_role=row.role.value if row.role else None,
    )
    pair.shuffle = part(f"shuffle:{pair_key(pair)}")
    pair.priority = pair.shuffle
    return pair


# --- the file ---------------------------------------------------------------------------------------


def table_rows(content: bytes) -> Iterator[Row]:
    """The rows of a table: CSV with a header, or JSON lines."""
    text = file_text(content, max_megabytes=MAX_MEGABYTES)
    if not text.strip():
        raise WorkbenchError(_("The file is empty."), code="empty")
    reader: Callable[[str], Iterator[Row]]
    reader = _json_rows if text.lstrip().startswith(("{", "[")) else _csv_rows
    yield from reader(text)


def _json_rows(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = bounded_json.loads(line)
        except ValueError:
            yield number, _("This line is not a JSON object.")
            continue
        if not isinstance(value, dict):
            yield number, _("This line is not a JSON object.")
            continue
        yield number, {str(name).lower(): _cell(cell) for name, cell in value.items()}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return ("1" if value else "0") if isinstance(value, bool) else str(value)


def _csv_rows(text: str) -> Iterator[Row]:
    missing = _("The first line must name the columns, “question” and “document” among them.")
    yield from csv_rows(text, required=("question", "document"), missing=missing)
