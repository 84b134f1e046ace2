"""What the pages of exports show."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_anywhere, permissions_in
from workbench.infra.crumbs import crumbs
from workbench.runs.models import ReviewState, Run
from workbench.runs.words import run_crumbs

from .forms import LinkForm, PeriodForm
from .links import link_state, links_of
from .models import LINK_READERS, Export, ExportKind, ExportState, ReportLink
from .selectors import exports_listed
from .services import KEPT_FOR

_STATES = {ExportState.READY: "ready", ExportState.FAILED: "failed", ExportState.REMOVED: "cancelled"}


def export_list(*, user: User, form: PeriodForm) -> dict[str, Any]:
    may_audit = Permission.AUDIT in permissions_anywhere(user=user)
    return {
        "form": form if may_audit else None,
        "exports": [export_row(export) for export in exports_listed(user=user)],
    }


def export_page(*, export: Export) -> dict[str, Any]:
    row = export_row(export)
    days = KEPT_FOR.days
    return {
        "export": export,
        "row": row,
        "progress": _progress(export, row),
        "kept": ngettext("The files are kept for %(n)d day.", "The files are kept for %(n)d days.", days)
        % {"n": days},
        "crumbs": export_crumbs(row["title"]),
    }


def export_crumbs(here: str) -> list[dict[str, str]]:
    return crumbs((_("Exports"), reverse("exports:exports")), here=here)


def links_page(*, run: Run, user: User, form: LinkForm) -> dict[str, Any]:
    """The links of a run with what became of each, and the form for one more where the run is signed."""
    may = permissions_in(user, run.collection)
    may_make = bool({Permission.REVIEW, Permission.MANAGE} & may)
    if not may & set(LINK_READERS):
        raise Http404
    return {
        "run": run,
        "form": form if may_make and run.review_state == ReviewState.SIGNED else None,
        "may_make": may_make,
        "links": [_link_row(link) for link in links_of(user=user, run=run)],
        "crumbs": run_crumbs(run, here=_("Links for outsiders")),
    }


def _link_row(link: ReportLink) -> dict[str, Any]:
    state = link_state(link)
    words = {
        "revoked": _("revoked"),
        "expired": _("expired"),
        "reopened": _("closed: the run was reopened"),
        "restricted": _("closed: its maker may not show the run any more"),
        "removed": _("closed: the report was removed"),
        "preparing": _("being prepared"),
        "open": _("open"),
    }
    return {"link": link, "state": state, "words": words[state], "is_open": state in {"open", "preparing"}}


def export_row(export: Export) -> dict[str, Any]:
    """One export: what it is, its state, its files."""
    return {
        "export": export,
        "title": _title(export),
        "detail": export.run.question.text if export.run else export.collection.name,
        "state": _STATES.get(ExportState(export.state), "running" if export.lease_owner else "queued"),
        "is_waiting": export.state == ExportState.WAITING,
        "url": export.get_absolute_url(),
        "files": [
            {
                "name": file.name,
                "size": filesizeformat(file.size),
                "sha256": file.sha256,
                "url": reverse("exports:fetch", args=[file.pk]) if export.state == ExportState.READY else "",
            }
            for file in export.files.all()
        ],
    }


def _title(export: Export) -> str:
    if export.run_id:
        return _("Run %(pk)d") % {"pk": export.run_id}
    if export.kind == ExportKind.REPORT:
        return _("Period report: %(days)s") % {"days": _days(export)}
    return _days(export)


def _days(export: Export) -> str:
    days = [date_format(day, "DATE_FORMAT") for day in (export.since, export.until) if day]
    return _("%(since)s to %(until)s (excluded)") % {"since": days[0], "until": days[-1]}


def _progress(export: Export, row: dict[str, Any]) -> dict[str, Any]:
    ended = export.finished_at or timezone.now()
    state = row["state"]
    stages = [
        {
            "label": _("Runs written: %(done)d of %(total)d") % {"done": export.done, "total": export.total},
            "state": {"ready": "done", "cancelled": "done"}.get(
                state, state if state == "failed" else "running"
            ),
        }
    ]
    return {
        "dom_id": "export-progress",
        "title": row["title"],
        "state": state,
        "elapsed_s": (ended - export.created_at).total_seconds(),
        "stages": stages,
        "reason": export.failure,
    }
