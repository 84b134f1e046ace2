"""The page of maintenance: each kind of work with its last outcome, and where every command has its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workbench.accounts.models import User
from workbench.infra.crumbs import crumbs

from .forms import AnchorsForm
from .jobs import may_start
from .models import Job, JobKind, JobState


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Work that has a page of its own, and the address of that page."""

    does: Promise
    at: str


#: What else an administrator does without a shell.
ELSEWHERE = (
    Elsewhere(gettext_lazy("Language models, budgets and a test mail"), "ops:operations"),
    Elsewhere(gettext_lazy("Prices of models"), "ops:prices"),
    Elsewhere(gettext_lazy("Trainings, versions and rollback"), "models:models"),
    Elsewhere(gettext_lazy("Label imports, by project"), "labeling:projects"),
    Elsewhere(gettext_lazy("Archives of collections"), "archives:sent"),
    Elsewhere(gettext_lazy("Signed exports of runs and periods"), "exports:exports"),
    Elsewhere(gettext_lazy("Audit trail and its anchors"), "audit:trail"),
)


def jobs_page(*, user: User, anchors: AnchorsForm | None = None) -> dict[str, Any]:
    """Everything the page shows. Two queries a kind at most."""
    kinds = [_kind(kind, user, anchors) for kind in JobKind]
    return {
        "kinds": kinds,
        "is_working": any(kind["progress"] for kind in kinds),
        "elsewhere": [(each.does, reverse(each.at)) for each in ELSEWHERE],
        "crumbs": crumbs((_("Operations"), reverse("ops:operations")), here=_("Maintenance")),
    }


EXPLAINED = {
    JobKind.TRAIL: gettext_lazy(
        "Recomputes every link of the chain and names the first event that was changed, moved or "
        "removed. Anchors kept elsewhere also show whether the end was cut off."
    ),
    JobKind.VECTORS: gettext_lazy(
        "Passages of documents from an earlier version may lack vectors. This computes them; what is there stays."
    ),
}


def _kind(kind: JobKind, user: User, anchors: AnchorsForm | None) -> dict[str, Any]:
    newest = Job.objects.filter(kind=kind).select_related("requested_by").first()
    is_waiting = newest is not None and newest.state == JobState.WAITING
    return {
        "name": kind.value,
        "title": kind.label,
        "explained": EXPLAINED[kind],
        "may_start": may_start(user, kind) and not is_waiting,
        "form": (anchors or AnchorsForm()) if kind == JobKind.TRAIL else None,
        "progress": _progress(newest) if newest is not None and is_waiting else None,
        "last": newest if not is_waiting else None,
        "says": outcome_words(newest) if newest is not None and not is_waiting else "",
        "is_bad": newest is not None
        and not is_waiting
        and (newest.state == JobState.FAILED or newest.result.get("ok") is False),
    }


def outcome_words(job: Job) -> str:
    """What a job that ended came to, in a sentence."""
    result = job.result
    if job.state == JobState.FAILED:
        return str(job.failure)
    if job.kind == JobKind.VECTORS:
        return _(
            "%(passages)d passages of %(documents)d documents were completed. %(left)d still lack a vector."
        ) % {name: result[name] for name in ("passages", "documents", "left")}
    if result["ok"]:
        whole = _("The chain is whole: %(events)d events, %(unsealed)d of them waiting for their seal.") % {
            name: result[name] for name in ("events", "unsealed")
        }
        anchored = _("It holds all %(n)d anchors.") % {"n": result["anchors"]} if result["anchors"] else ""
        return f"{whole} {anchored}".strip()
    return _("The chain is broken at event %(id)s: %(problem)s.") % {
        "id": result["first_broken"],
        "problem": result["problem"],
    }


def _progress(job: Job) -> dict[str, Any]:
    label = (
        _("Passages done: %(done)d of %(total)d") % {"done": job.done, "total": job.total}
        if job.total
        else _("Under way")
    )
    return {
        "dom_id": f"job-{job.kind}",
        "title": str(job),
        "state": "running" if job.lease_owner else "queued",
        "elapsed_s": (timezone.now() - job.created_at).total_seconds(),
        "stages": [{"label": label, "state": "running"}],
    }
