"""Asking for an export, making it, handing it out, removing it. Each step is on record."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import BinaryIO

import structlog
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record, audit_work
from workbench.documents.models import Collection
from workbench.documents.restrictions import hidden_documents
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.docx_files import MEDIA_TYPE as DOCX
from workbench.infra.leases import Heartbeat, LeaseLost, lease_claim, lease_free, leased, new_owner
from workbench.infra.replica import from_replica
from workbench.infra.storable import storable
from workbench.infra.stored import file_store, scratch
from workbench.review.blindness import require_sight, require_sight_of_collection
from workbench.runs.models import Run, RunStatus

from .blocks import Report
from .docx import report_docx
from .html import report_html
from .keys import Signer, signer
from .models import Export, ExportFile, ExportKind, ExportState
from .pdf import report_pdf
from .period import runs_of_period, write_period
from .period_report import period_report_of
from .run_report import run_report
from .sums import SIGNATURE, SUFFIX, sums_of

logger = structlog.get_logger(__name__)

HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
PDF, ZIP, BYTES = "application/pdf", "application/zip", "application/octet-stream"
#: Of every file of an export, as its description names them.
MEDIA_TYPES = frozenset(kind.split(";")[0] for kind in (HTML, TEXT, PDF, DOCX, ZIP, BYTES))

#: Runs of one period; a longer one is exported in parts.
MOST_RUNS = 5_000
#: Files hold document text: they stay no longer than it takes to fetch them.
KEPT_FOR = timedelta(days=7)
#: A request whose message should have arrived long ago.
LOST_AFTER = timedelta(seconds=10)


def run_export(*, actor: User, run: Run) -> Export:
    """Asks for a finished run as HTML and PDF.

    Raises :class:`NotAllowed`, or :class:`Conflict` while the run is on its way.
    """
    if not has_permission(actor, run.collection, Permission.VIEW):
        raise NotAllowed(_("You may not read this collection."))
    require_sight(user=actor, runs=[run])
    if run.status != RunStatus.DONE:
        raise Conflict(_("Only a finished run can be exported."), code="not_finished")
    return export_ask(Export(collection=run.collection, run=run, total=1), actor=actor)


def period_export(*, actor: User, collection: Collection, since: datetime, until: datetime) -> Export:
    """Asks for the runs and the trail of a period, ``until`` excluded.

    Raises :class:`NotAllowed` for who may not read the trail, :class:`WorkbenchError` for an empty or too long period.
    """
    require_period(actor=actor, collection=collection, since=since, until=until)
    total = runs_of_period(collection=collection, since=since, until=until).count()
    if total > MOST_RUNS:
        raise WorkbenchError(
            _("That period holds %(n)d runs; an export holds at most %(limit)d. Choose a shorter one.")
            % {"n": total, "limit": MOST_RUNS},
            code="period_too_long",
        )
    return export_ask(Export(collection=collection, since=since, until=until, total=total), actor=actor)


def period_report(*, actor: User, collection: Collection, since: datetime, until: datetime) -> Export:
    """Asks for the report of a period as files, ``until`` excluded. Raises as :func:`period_export` does."""
    require_period(actor=actor, collection=collection, since=since, until=until)
    period = {"since": since, "until": until}
    return export_ask(Export(collection=collection, kind=ExportKind.REPORT, total=1, **period), actor=actor)


def require_period(*, actor: User, collection: Collection, since: datetime, until: datetime) -> None:
    """Raises :class:`NotAllowed` for who may not read the trail, :class:`DecideFirst` for who decides blind there,
    :class:`WorkbenchError` for an empty period."""
    if not has_permission(actor, collection, Permission.AUDIT):
        raise NotAllowed(_("Only auditors and admins of this collection may export a period."))
    require_sight_of_collection(user=actor, collection=collection)
    if hidden_documents(user=actor, collection=collection):
        raise NotAllowed(
            _(
                "This report covers the whole collection, and you may not see some of its documents. "
                "Ask an admin to give you access to them, or to make the export."
            ),
            code="restricted",
        )
    if since >= until:
        raise WorkbenchError(_("The first day must not be after the last."), code="period_empty")


def export_ask(export: Export, *, actor: User) -> Export:
    """Puts an export down and has a worker make it. The caller has checked that the actor may have it."""
    export.requested_by = actor
    export.language = (translation.get_language() or "en")[:8]
    with transaction.atomic():
        export.save(force_insert=True)
        audit_record(
            actor=actor,
            action=Action.EXPORT_REQUESTED,
            obj=export,
            after={
                "kind": export.kind,
                "run": export.run_id,
                "since": export.since.isoformat() if export.since else None,
                "until": export.until.isoformat() if export.until else None,
                "runs": export.total,
            },
        )
        dispatch_on_commit("exports.make", export_id=export.pk)
    return export


def exports_to_wake() -> list[int]:
    """Keys of requests whose message was lost or whose worker is gone."""
    rows = Export.objects.filter(lease_free(), state=ExportState.WAITING, created_at__lt=Now() - LOST_AFTER)
    return list(rows.order_by("pk").values_list("pk", flat=True)[:100])


def export_make(*, export_id: int) -> None:
    """Makes the files. Safe to repeat: an export is made once, and a lost worker's is begun anew."""
    rows = Export.objects.filter(pk=export_id)
    owner = new_owner()
    if not lease_claim(rows.filter(state=ExportState.WAITING), owner=owner):
        return
    with leased(rows, owner=owner) as heartbeat:
        export = rows.select_related(
            "collection", "requested_by", "run__question__document", "run__collection", "run__requested_by"
        ).get()
        try:
            _require_right(export)
            if export.attempts > settings.MAX_ATTEMPTS:
                raise WorkbenchError(
                    _("This stopped its worker three times and was given up. Request it again.")
                )
            by = signer()
            with translation.override(export.language):
                files = _files_of(export, heartbeat, by)
            heartbeat.check()
            _finish(export, owner, files, signed_by=by.id)
        except LeaseLost:
            return
        except (WorkbenchError, OSError) as error:
            logger.warning("export.failed", export=export.pk, error=type(error).__name__)
            _fail(export, owner, getattr(error, "message", "") or _("A file could not be written."))


def _require_right(export: Export) -> None:
    """Who lost the right between asking and making gets nothing."""
    if not Export.objects.visible_to(export.requested_by).filter(pk=export.pk).exists():
        raise NotAllowed(_("You may not read this collection any more."))


@from_replica
def _files_of(export: Export, heartbeat: Heartbeat, signer: Signer) -> list[ExportFile]:
    if export.run and export.kind == ExportKind.LINK:
        shown = report_html(run_report(export.run, with_annex=False))
        return [_written(export, shown, name=f"run-{export.run.pk}.html", content_type=HTML)]
    if export.run:
        made = run_report(export.run, signed_by=signer.id)
        return _files_of_report(export, made, signer, name=f"run-{export.run.pk}")
    if export.kind == ExportKind.REPORT:
        report = period_report_of(export, signed_by=signer.id)
        return _files_of_report(export, report, signer, name=f"report-{_period_name(export)}")
    return _files_of_period(export, heartbeat, signer)


def _files_of_report(export: Export, report: Report, signer: Signer, *, name: str) -> list[ExportFile]:
    """One report as HTML, PDF and DOCX, with the sums of the three and their signature."""
    made = (
        (f"{name}.html", HTML, report_html(report)),
        (f"{name}.pdf", PDF, report_pdf(report)),
        (f"{name}.docx", DOCX, report_docx(report)),
    )
    files = [_written(export, content, name=name, content_type=kind) for name, kind, content in made]
    sums, sums_name = sums_of([(file.name, file.sha256) for file in files]), f"{name}{SUFFIX}"
    files.append(_written(export, sums, name=sums_name, content_type=TEXT))
    if (signature := signer.sign(sums)) is not None:
        files.append(_written(export, signature, name=sums_name + SIGNATURE, content_type=BYTES))
    return files


def _written(export: Export, content: bytes, *, name: str, content_type: str) -> ExportFile:
    with scratch() as file:
        file.write(content)
        return _stored(export, file, name=name, content_type=content_type)


def _files_of_period(export: Export, heartbeat: Heartbeat, signer: Signer) -> list[ExportFile]:
    def told(done: int) -> None:
        heartbeat.check()
        Export.objects.filter(pk=export.pk).update(done=done)

    with scratch() as file:
        write_period(export=export, to=file, signer=signer, progress=told)
        return [_stored(export, file, name=f"{_period_name(export)}.zip", content_type=ZIP)]


def _period_name(export: Export) -> str:
    days = "-".join(f"{day:%Y%m%d}" for day in (export.since, export.until) if day)
    return f"{export.collection.slug}-{days}"


def _stored(export: Export, content: BinaryIO, *, name: str, content_type: str) -> ExportFile:
    stored = file_store(content, folder=f"exports/{export.collection_id}/{export.pk}", name=name)
    return ExportFile(
        export=export,
        name=name,
        content_type=content_type,
        path=stored.path,
        size=stored.size,
        sha256=stored.sha256,
    )


def _finish(export: Export, owner: str, files: list[ExportFile], *, signed_by: str) -> None:
    with transaction.atomic():
        changed = Export.objects.filter(pk=export.pk, lease_owner=owner, state=ExportState.WAITING).update(
            state=ExportState.READY, done=export.total, finished_at=Now(), signed_by=signed_by
        )
        if not changed:
            raise LeaseLost
        ExportFile.objects.bulk_create(files)
        audit_work(
            action=Action.EXPORT_MADE,
            obj=export,
            after={"files": {file.name: file.sha256 for file in files}, "signed_by": signed_by or None},
        )


def _fail(export: Export, owner: str, failure: str) -> None:
    with transaction.atomic():
        changed = Export.objects.filter(pk=export.pk, lease_owner=owner, state=ExportState.WAITING).update(
            state=ExportState.FAILED, failure=storable(failure), finished_at=Now()
        )
        if changed:
            audit_work(
                action=Action.EXPORT_FAILED,
                obj=export,
                reason=failure[:300],
            )


def export_fetched(*, actor: User, file: ExportFile) -> None:
    """Records that a person takes a file out. Raises :class:`Conflict` when it was removed."""
    if file.export.state != ExportState.READY:
        raise Conflict(_("This export was removed. Ask for it again."), code="removed")
    with transaction.atomic():
        audit_record(
            actor=actor,
            action=Action.EXPORT_FETCHED,
            obj=file.export,
            after={"file": file.name, "sha256": file.sha256},
        )


def exports_remove_old() -> int:
    """Removes the files of exports that were kept long enough, and of links that open nothing any more; gives their
    number."""
    is_over = Q(link__expires_at__lt=Now()) | Q(link__revoked_at__isnull=False)
    is_old = Q(finished_at__lt=Now() - KEPT_FOR) & ~Q(kind=ExportKind.LINK)
    old = Export.objects.filter(is_old | is_over, state=ExportState.READY)
    return sum(_remove(export) for export in old.order_by("pk")[:200])


def exports_erase(*, collection: Collection) -> int:
    """Removes every export of a collection: called when text of it must go. Gives the number."""
    return sum(
        _remove(export) for export in Export.objects.filter(collection=collection, state=ExportState.READY)
    )


def _remove(export: Export) -> int:
    with transaction.atomic():
        changed = Export.objects.filter(pk=export.pk, state=ExportState.READY).update(
            state=ExportState.REMOVED
        )
        if not changed:
            return 0
        audit_record(
            actor=User.objects.system(),
            action=Action.EXPORT_REMOVED,
            obj=export,
        )
    for file in export.files.all():
        default_storage.delete(file.path)
    return 1
