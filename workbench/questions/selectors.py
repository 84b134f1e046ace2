"""What pages, commands and tasks read about questions and runs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Q
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from workbench.accounts.permissions import Permission

from .models import ENDED, Candidate, Run, RunQuerySet, RunStatus

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: A queued run whose message should have arrived long ago.
LOST_AFTER = timedelta(seconds=10)


def run_for(*, user: User, pk: int, permission: Permission = Permission.VIEW) -> Run:
    """The run, if the user may do this with it; else 404, as if it did not exist."""
    runs = Run.objects.visible_to(user, permission).select_related(
        "question", "question__document", "collection", "requested_by"
    )
    return get_object_or_404(runs, pk=pk)


def candidate_for(*, user: User, pk: int, permission: Permission = Permission.VIEW) -> Candidate:
    """The candidate, if the user may do this with it; else 404."""
    candidates = Candidate.objects.filter(
        run__in=Run.objects.visible_to(user, permission).values("pk")
    ).select_related("run", "run__collection", "document", "verdict", "text")
    return get_object_or_404(candidates, pk=pk)


def runs_visible(*, user: User, collection_id: int | None = None) -> RunQuerySet:
    """Runs the user may read, newest first."""
    runs = Run.objects.visible_to(user).select_related("question", "question__document", "collection")
    return runs.filter(collection_id=collection_id) if collection_id is not None else runs


def run_with_key(*, cache_key: str) -> Run | None:
    """The newest finished run of this very question, scope, state of documents, strategy and settings."""
    return (
        Run.objects.filter(cache_key=cache_key, status=RunStatus.DONE)
        .select_related("question", "collection")
        .order_by("-id")
        .first()
    )


def runs_to_wake(*, free: Q) -> list[tuple[int, str]]:
    """(key, status) of runs that nobody works on although they have not ended."""
    stale = Q(lease_until__isnull=False) | Q(created_at__lt=Now() - LOST_AFTER)
    rows = Run.objects.exclude(status__in=ENDED).filter(free, stale)
    return list(rows.order_by("id").values_list("pk", "status")[:100])
