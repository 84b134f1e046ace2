"""A period of a collection as one ZIP: an overview, every run as HTML and PDF, the trail as JSON lines, and the SHA-256
of each file, signed where the installation has a key."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import BinaryIO

from django.db.models import Q
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from workbench.audit.export import ExportScope, audit_export
from workbench.direction import shown_in_json
from workbench.documents.models import Collection
from workbench.review.run_tabs import record
from workbench.runs.models import Run, RunQuerySet, RunStatus

from .blocks import Facts, Report, Row, Section, Table, Text
from .html import report_html
from .keys import Signer
from .models import Export
from .pdf import report_pdf
from .run_report import run_report
from .sums import SIGNATURE, SUMS, sums_of
from .words import moment, signature_row


def runs_of_period(*, collection: Collection, since: object, until: object) -> RunQuerySet:
    """Finished runs asked, decided or signed in the period, oldest first."""
    period = (since, until)
    touched = (
        Q(created_at__gte=since, created_at__lt=until)
        | Q(pk__in=_runs_with("reviews__created_at", collection, period))
        | Q(pk__in=_runs_with("signatures__signed_at", collection, period))
    )
    return (
        Run.objects.filter(touched, collection=collection, status=RunStatus.DONE)
        .select_related("question__document", "collection", "requested_by")
        .order_by("pk")
    )


def _runs_with(path: str, collection: Collection, period: tuple[object, object]) -> RunQuerySet:
    between = {f"{path}__gte": period[0], f"{path}__lt": period[1]}
    return Run.objects.filter(collection=collection, **between).order_by().values("pk")


class _Parcel:
    """A ZIP being written, with the hash of each file in it."""

    def __init__(self, target: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED)
        self._sums: list[tuple[str, str]] = []

    def add(self, name: str, content: bytes) -> None:
        self._zip.writestr(name, content)
        self._sums.append((name, hashlib.sha256(content).hexdigest()))

    def close(self, *, signer: Signer) -> None:
        sums = sums_of(self._sums)
        self._zip.writestr(SUMS, sums)
        if (signature := signer.sign(sums)) is not None:
            self._zip.writestr(SUMS + SIGNATURE, signature)
        self._zip.close()


def write_period(*, export: Export, to: BinaryIO, signer: Signer, progress: Callable[[int], None]) -> None:
    """Writes the ZIP; ``progress`` is told after each run how many are written, and may raise to stop."""
    runs = runs_of_period(collection=export.collection, since=export.since, until=export.until)
    parcel = _Parcel(to)
    listed: list[Run] = []
    for run in runs.iterator(chunk_size=50):
        report = run_report(run, signed_by=signer.id)
        parcel.add(f"runs/run-{run.pk}.html", report_html(report))
        parcel.add(f"runs/run-{run.pk}.pdf", report_pdf(report))
        parcel.add(f"runs/run-{run.pk}.json", _json(run))
        listed.append(run)
        progress(len(listed))
    trail = _trail(export)
    parcel.add("trail.jsonl", trail.encode())
    events = json.loads(trail.partition("\n")[0])
    overview = _overview(export, listed, events=events, signed_by=signer.id)
    parcel.add("overview.html", report_html(overview))
    parcel.add("overview.pdf", report_pdf(overview))
    parcel.close(signer=signer)


def _json(run: Run) -> bytes:
    return shown_in_json(json.dumps(record(run), ensure_ascii=False, indent=2)).encode()


def _trail(export: Export) -> str:
    lines = io.StringIO()
    scope = ExportScope(collection=export.collection, since=export.since, until=export.until)
    audit_export(actor=export.requested_by, scope=scope, to=lines)
    return lines.getvalue()


def _overview(export: Export, runs: list[Run], *, events: dict[str, object], signed_by: str) -> Report:
    assert export.since is not None
    assert export.until is not None
    facts = (
        Row(label=_("Collection"), value=export.collection.name),
        Row(label=_("From"), value=moment(export.since)),
        Row(label=_("Until (excluded)"), value=moment(export.until)),
        Row(label=_("Runs"), value=str(len(runs))),
        Row(label=_("Events of the trail"), value=str(events["events"])),
        Row(label=_("Head of the audit chain"), value=str(events["head"]), is_code=True),
        Row(label=_("Made for"), value=f"{export.requested_by}, {moment(timezone.now())}"),
        signature_row(signed_by),
    )
    table = Table(
        header=(_("Run"), _("Question"), _("Asked of"), _("Outcome"), _("Review"), _("Asked by"), _("Time")),
        rows=tuple(_run_row(run) for run in runs),
        links=tuple(f"runs/run-{run.pk}.html" for run in runs),
    )
    how = _(
        "Runs that were asked, decided or signed in the period, as they stood when this was made. trail.jsonl "
        "holds the period's events with the links of the chain between them; SHA256SUMS names the hash of every "
        "file, and SHA256SUMS.sig signs it where the installation has a key."
    )
    return Report(
        kicker=_("Record of a period"),
        title=export.collection.name,
        language=translation.get_language() or "en",
        facts=Facts(rows=facts),
        sections=(
            Section(title=_("Runs"), blocks=(table,) if runs else (Text(text=_("No run."), tone="note"),)),
            Section(title=_("How to check this record"), blocks=(Text(text=how),)),
        ),
        footer=_("Export %(pk)d · made %(at)s") % {"pk": export.pk, "at": moment(timezone.now())},
    )


def _run_row(run: Run) -> tuple[str, ...]:
    return (
        str(run.pk),
        run.question.text,
        run.question.asked_of,
        _("not found") if run.not_found else _("found"),
        run.review_words,
        str(run.requested_by),
        moment(run.created_at),
    )
