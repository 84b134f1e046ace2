"""What the shell and the home page read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.core.cache import caches
from django.db.models import Count, Max, Min, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, administers, permissions_anywhere
from workbench.documents.models import WORKING_STATUSES, Document, DocumentStatus
from workbench.labeling.progress import pairs_waiting
from workbench.review.selectors import queue_open
from workbench.review.waiting import number_told
from workbench.runs.gateway import endpoint_trouble, llm_control
from workbench.runs.models import ENDED, Run, RunStatus

#: Who has something to do or to see in the labeling workbench.
LABELLERS = frozenset({Permission.LABEL, Permission.MANAGE, Permission.REVIEW, Permission.AUDIT})

#: Who asks whether the machine is right and people check it.
TRUST_READERS = frozenset({Permission.MANAGE, Permission.REVIEW, Permission.AUDIT})

_DEGRADED = "shell.degraded"

#: A worker takes up what is asked within seconds; after this time something is wrong.
WORKER_LATE = timedelta(minutes=2)


def navigation(*, user: User, path: str, to_review: int) -> list[dict[str, Any]]:
    """The entries of the top bar for a person, with what waits for them and the keys that lead there."""
    may = permissions_anywhere(user=user)
    entries = [
        (_("Home"), "home", "g h", True),
        (_("Collections"), "documents:collections", "g c", True),
        (_("Ask"), "questions:ask", "g a", Permission.ASK in may),
        (_("Question sets"), "question_sets:sets", "g s", Permission.VIEW in may),
        (_("Runs"), "questions:runs", "g r", Permission.VIEW in may),
        (_("Queue"), "review:queue", "g q", Permission.REVIEW in may),
        (_("Labelling"), "labeling:projects", "g l", bool(may & LABELLERS)),
        (_("Strategies"), "questions:strategies", "g t", True),
        (_("Trust"), "ops:trust", "g y", bool(may & TRUST_READERS)),
        (_("Operations"), "ops:operations", "g o", Permission.AUDIT in may or administers(user)),
        (
            _("Models"),
            "models:models",
            "g m",
            bool({Permission.MANAGE, Permission.AUDIT} & may) or user.is_staff,
        ),
        (_("Audit"), "audit:trail", "g u", Permission.AUDIT in may or user.is_staff),
    ]
    return [
        {
            "label": label,
            "url": reverse(name),
            "key": key,
            "active": _is_active(reverse(name), path),
            "count": number_told(to_review) if to_review and name == "review:queue" else "",
        }
        for label, name, key, shown in entries
        if shown
    ]


def health() -> dict[str, Any]:
    """Whether work that was asked for gets done; looked at once in ten seconds and process."""
    ok = caches["process"].get("shell.health")
    if ok is None:
        waits = Q(lease_until__isnull=True, created_at__lt=Now() - WORKER_LATE)
        runs = Run.objects.filter(waits, status=RunStatus.QUEUED).order_by().values("pk")
        documents = Document.objects.filter(waits, status=DocumentStatus.QUEUED).order_by().values("pk")
        ok = not runs.union(documents, all=True).exists()
        caches["process"].set("shell.health", ok, timeout=10)
    label = _("All services answer") if ok else _("Work waits: no worker has taken it up")
    return {"ok": ok, "label": label}


@dataclass(frozen=True, slots=True)
class Degraded:
    """Why questions are answered without a language model just now: ``stopped`` by an administrator, for the reason
    in ``detail``, or ``silent``, since the endpoint's last calls ended as ``detail`` names them."""

    kind: Literal["stopped", "silent"]
    detail: str
    since: datetime | None = None


def degraded() -> Degraded | None:
    """For the banner on every page; looked at once in ten seconds and process. None while models answer, and where
    none is configured, which each verdict says itself."""
    seen: tuple[Degraded | None] | None = caches["process"].get(_DEGRADED)
    if seen is None:
        seen = (_degraded_now(),)
        caches["process"].set(_DEGRADED, seen, timeout=10)
    return seen[0]


def _degraded_now() -> Degraded | None:
    control = llm_control()
    if control.is_stopped:
        return Degraded("stopped", control.stop_reason)
    trouble = endpoint_trouble()
    return Degraded("silent", trouble.outcome, trouble.since) if trouble else None


def degraded_forget() -> None:
    """The next page looks again: the switch was used."""
    caches["process"].delete(_DEGRADED)


def _is_active(url: str, path: str) -> bool:
    return path == url or (url != reverse("home") and path.startswith(url))


def home_stats(*, user: User) -> list[dict[str, Any]]:
    """What waits for this person, as counts that are links."""
    may = permissions_anywhere(user=user)
    stats = _review_stats(user) if Permission.REVIEW in may else []
    if Permission.LABEL in may:
        address = reverse("labeling:projects")
        stats.append({"value": pairs_waiting(user=user), "label": _("pairs to label"), "url": address})
    if Permission.UPLOAD in may:
        stats += _document_stats(user)
    return stats + _run_stats(user)


def _review_stats(user: User) -> list[dict[str, Any]]:
    counts = (
        queue_open(user=user, required_only=True)
        .order_by()
        .aggregate(all=Count("pk"), held=Count("pk", filter=Q(claimed_by=user, claimed_until__gt=Now())))
    )
    held = ngettext("%(n)d held by you", "%(n)d held by you", counts["held"]) % {"n": counts["held"]}
    return [
        {
            "value": counts["all"],
            "label": _("verdicts to decide"),
            "url": reverse("review:queue"),
            "hint": held if counts["held"] else "",
        }
    ]


def _document_stats(user: User) -> list[dict[str, Any]]:
    failed = Q(status=DocumentStatus.FAILED)
    counts = Document.objects.visible_to(user, Permission.UPLOAD).aggregate(
        working=Count("pk", filter=Q(status__in=WORKING_STATUSES)),
        failed=Count("pk", filter=failed),
        first=Min("collection__slug", filter=failed),
        last=Max("collection__slug", filter=failed),
    )
    collections = reverse("documents:collections")
    only = counts["first"] if counts["first"] == counts["last"] else None
    return [
        {"value": counts["working"], "label": _("documents being read"), "url": collections},
        {
            "value": counts["failed"],
            "label": _("documents that failed"),
            # Of several collections each says in the list how many of its own failed.
            "url": f"{reverse('documents:collection', args=[only])}?status=failed" if only else collections,
            "warn": counts["failed"] > 0,
        },
    ]


def _run_stats(user: User) -> list[dict[str, Any]]:
    runs = Run.objects.visible_to(user).filter(requested_by=user)
    counts = runs.aggregate(
        going=Count("pk", filter=~Q(status__in=ENDED)),
        finished=Count("pk", filter=Q(status=RunStatus.DONE, finished_at__gt=Now() - RECENT)),
        failed=Count("pk", filter=Q(status=RunStatus.FAILED)),
    )
    address = f"{reverse('questions:runs')}?asked_by=me"
    stats = [
        {"value": counts["going"], "label": _("questions of yours being answered"), "url": address},
        {
            "value": counts["finished"],
            "label": _("of your questions answered"),
            "hint": _("in the last seven days"),
            "url": f"{address}&status={RunStatus.DONE}",
        },
    ]
    if counts["failed"]:
        stats.append(
            {
                "value": counts["failed"],
                "label": _("questions that failed"),
                "url": f"{address}&status={RunStatus.FAILED}",
                "warn": True,
            }
        )
    return stats


#: How far back the home page looks for finished work.
RECENT = timedelta(days=7)
