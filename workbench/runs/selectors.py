"""What pages, commands and tasks read about questions and runs."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import Count, Q, Sum
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from workbench.accounts.permissions import Permission, collections_with

from .models import UNENDED, Candidate, LLMCall, Question, Run, RunQuerySet, RunStatus
from .restrictions import runs_open_to

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: Age of a queued run whose message must have been lost.
LOST_AFTER = timedelta(seconds=10)


def run_for(*, user: User, pk: int, permission: Permission = Permission.VIEW) -> Run:
    """The run, if the user may do this with it; else 404, as if it did not exist."""
    runs = Run.objects.visible_to(user, permission).select_related(
        "question", "question__document", "collection", "requested_by", "follows__question"
    )
    return get_object_or_404(runs, pk=pk)


#: Number of follow-ups shown on the page of a run.
MOST_FOLLOW_UPS = 10


def follow_ups(*, run: Run, user: User) -> RunQuerySet:
    """The first follow-ups of the run that the user can read, oldest first. Only their questions are loaded, not their
    results."""
    following = Run.objects.visible_to(user).filter(follows=run).select_related("question")
    return following.only("question__text").order_by("pk")[:MOST_FOLLOW_UPS]


def run_spent(*, run: Run) -> tuple[int, Decimal, int]:
    """Model calls of a run in the ledger so far: their number, their cost in USD, and how many have an unknown cost. A
    call under way is not included."""
    ledger = LLMCall.objects.filter(run=run).aggregate(
        calls=Count("pk"), usd=Sum("cost"), unpriced=Count("pk", filter=Q(is_priced=False))
    )
    return ledger["calls"], ledger["usd"] or Decimal(0), ledger["unpriced"]


def runs_visible(*, user: User, collection_id: int | None = None) -> RunQuerySet:
    """Runs the user may read, newest first."""
    runs = Run.objects.select_related("question", "question__document", "collection")
    allowed = collections_with(user=user, permission=Permission.VIEW)
    if allowed is not None:
        runs = runs.filter(runs_open_to(user), collection__in=allowed)
    return runs.filter(collection_id=collection_id) if collection_id is not None else runs


#: Fields shown of a run that answers a repeated question. The others are loaded on demand.
_SHOWN = (
    "id", "question_id", "collection_id", "strategy", "status", "review_state", "text_changed_at", "requested_by_id",
    "methods_run",
    "methods_skipped", "skipped_reasons", "not_found", "not_found_reason", "no_strong_match", "confidence",
    "needs_person", "failure_reason", "llm_call_count", "cost", "unpriced_call_count", "elapsed_ms", "created_at",
    "finished_at", "follows_id",
)  # fmt: skip
_RUN_WITH_KEY = f"""
    SELECT {", ".join(f"r.{name}" for name in _SHOWN)}, q.text AS asked_text, q.document_id AS asked_document
    FROM questions_run r JOIN questions_question q ON q.id = r.question_id
    WHERE r.cache_key = %s AND r.status = %s ORDER BY r.id DESC LIMIT 1
"""  # noqa: S608  (constants only)


def run_with_key(*, cache_key: str) -> Run | None:
    """The newest finished run with the same question, scope, state of documents, strategy and settings."""
    # Building this query from all thirty columns takes four times as long as running it.
    run = next(iter(Run.objects.raw(_RUN_WITH_KEY, [cache_key, RunStatus.DONE])), None)
    if run is not None:
        names = ("id", "collection_id", "document_id", "text")
        values = (run.question_id, run.collection_id, run.asked_document, run.asked_text)
        run.question = Question.from_db(run._state.db, names, values)  # other fields are loaded on demand
    return run


def runs_to_wake(*, free: Q, most: int) -> list[tuple[int, str]]:
    """(key, status) of unfinished runs that no worker is processing: all that lost their worker, at most a hundred,
    before ``most`` others that wait longer than a message takes."""
    # By the states that are not ended, which are few: their index says which runs these are.
    rows = Run.objects.filter(free, status__in=UNENDED).order_by("id").values_list("pk", "status")
    lapsed = list(rows.filter(lease_until__isnull=False)[:100])
    late = rows.filter(lease_until__isnull=True, created_at__lt=Now() - LOST_AFTER)
    return lapsed + list(late[: max(0, most - len(lapsed))])


#: Candidates in reading order, which reveals neither role nor rank.
PLACE = (
    *("document_id", "anchor_page_start", "anchor_line_start"),
    *("anchor_page_end", "anchor_line_end", "candidate_id"),
)


def neighbours(*, candidate: Candidate, by_place: bool) -> tuple[int | None, int | None, int, int]:
    """Keys of the previous and next candidate in the ranked list of the run, or ``by_place`` in the document; then its
    position and the total."""
    order = PLACE if by_place else ("verdict__order", "position")
    ranked = list(
        Candidate.objects.filter(run_id=candidate.run_id).order_by(*order).values_list("pk", flat=True)
    )
    place = ranked.index(candidate.pk)
    before = ranked[place - 1] if place else None
    after = ranked[place + 1] if place + 1 < len(ranked) else None
    return before, after, place + 1, len(ranked)
