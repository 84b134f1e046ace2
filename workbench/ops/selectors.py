"""What the shell and the home page read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _

from workbench.accounts.models import Membership
from workbench.accounts.permissions import ROLE_PERMISSIONS, Permission
from workbench.documents.models import WORKING_STATUSES, Document, DocumentStatus
from workbench.questions.models import ENDED, Run, RunStatus
from workbench.review.selectors import queue_open

if TYPE_CHECKING:
    from workbench.accounts.models import User


def permissions_anywhere(*, user: User) -> frozenset[Permission]:
    """What the user may do in at least one collection."""
    roles = set(Membership.objects.filter(user=user).values_list("role", flat=True))
    return frozenset().union(*(ROLE_PERMISSIONS[role] for role in roles))


def navigation(*, user: User, path: str) -> list[dict[str, Any]]:
    """The entries of the top bar for a person, with what waits for them."""
    may = permissions_anywhere(user=user)
    entries = [(_("Home"), reverse("home"), 0, True)]
    entries.append((_("Collections"), reverse("documents:collections"), 0, True))
    entries.append((_("Ask"), reverse("questions:ask"), 0, Permission.ASK in may))
    entries.append((_("Runs"), reverse("questions:runs"), 0, Permission.VIEW in may))
    if Permission.REVIEW in may:
        waiting = queue_open(user=user, required_only=True).count()
        entries.append((_("Queue"), reverse("review:queue"), waiting, True))
    entries.append((_("Audit"), reverse("audit:trail"), 0, Permission.AUDIT in may or user.is_staff))
    return [
        {"label": label, "url": url, "active": _is_active(url, path), "count": count}
        for label, url, count, shown in entries
        if shown
    ]


def _is_active(url: str, path: str) -> bool:
    return path == url or (url != reverse("home") and path.startswith(url))


def home_stats(*, user: User) -> list[dict[str, Any]]:
    """What waits for this person, as counts that are links."""
    documents = Document.objects.visible_to(user)
    runs = Run.objects.visible_to(user).filter(requested_by=user)
    may = permissions_anywhere(user=user)
    stats = []
    if Permission.REVIEW in may:
        items = queue_open(user=user, required_only=True)
        stats.append(
            {"value": items.count(), "label": _("verdicts to decide"), "url": reverse("review:queue")}
        )
        held = items.filter(claimed_by=user, claimed_until__gt=Now()).count()
        if held:
            stats.append({"value": held, "label": _("held by you"), "url": reverse("review:queue")})
    failed = documents.filter(status=DocumentStatus.FAILED).count()
    if Permission.UPLOAD in may:
        working = documents.filter(status__in=WORKING_STATUSES).count()
        stats.append(
            {"value": working, "label": _("documents being read"), "url": reverse("documents:collections")}
        )
        stats.append(
            {
                "value": failed,
                "label": _("documents that failed"),
                "url": reverse("documents:collections"),
                "warn": failed > 0,
            }
        )
    going = runs.exclude(status__in=ENDED).count()
    stats.append({"value": going, "label": _("runs on their way"), "url": reverse("questions:runs")})
    finished = runs.filter(status=RunStatus.DONE).count()
    stats.append({"value": finished, "label": _("runs finished"), "url": reverse("questions:runs")})
    broken = runs.filter(Q(status=RunStatus.FAILED)).count()
    if broken:
        stats.append(
            {"value": broken, "label": _("runs that failed"), "url": reverse("questions:runs"), "warn": True}
        )
    return stats
