"""What pages, commands and tasks read about questions and runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import Count, OuterRef, Prefetch, Q, Subquery, Sum
from django.db.models.functions import Coalesce, Now
from django.http import QueryDict
from django.shortcuts import get_object_or_404

from workbench.accounts.permissions import Permission, collections_with
from workbench.infra.addresses import number_in, words_in
from workbench.review.blindness import of_withheld_run
from workbench.review.models import ItemState, QueueItem
from workbench.review.selectors import REVIEWS

from .models import ENDED, Candidate, LLMCall, Question, Run, RunQuerySet, RunStatus
from .records import CARD_COLUMNS

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


def run_spent(*, run: Run) -> tuple[int, Decimal, int]:
    """How many calls of models the ledger holds for a run by now, their USD, and how many have an unknown cost; a call
    under way is not among them."""
    ledger = LLMCall.objects.filter(run=run).aggregate(
        calls=Count("pk"), usd=Sum("cost"), unpriced=Count("pk", filter=Q(is_priced=False))
    )
    return ledger["calls"], ledger["usd"] or Decimal(0), ledger["unpriced"]


#: Of its run, what a card and the page around it show.
CARD_RUN_COLUMNS = (
    *(
        "question_id",
        "collection_id",
        "strategy",
        "status",
        "review_state",
        "text_changed_at",
        "requested_by_id",
    ),
    *("methods_run", "not_found", "no_strong_match", "needs_person", "created_at", "finished_at"),
    *("question__text", "question__collection_id", "question__document__name", "question__document__title"),
    *("collection__slug", "collection__name", "collection__language"),
)


def candidate_for(
    *, user: User, pk: int, permission: Permission = Permission.VIEW, as_card: bool = False
) -> Candidate:
    """The candidate, if the user may do this with it; else 404. ``as_card``: with the columns that a card shows.

    Its run is read by itself: to find the best order of ten joins takes the database longer than both readings.
    """
    allowed = collections_with(user=user, permission=permission)
    candidates = Candidate.objects.select_related("document", "verdict", "text", "queue_item")
    if allowed is not None:
        candidates = candidates.filter(run__collection__in=allowed)
    runs = Run.objects.select_related("question__document", "collection")
    if as_card:
        candidates, runs = candidates.only(*CARD_COLUMNS), runs.only(*CARD_RUN_COLUMNS)
    return get_object_or_404(candidates.prefetch_related(Prefetch("run", runs), "added_by", REVIEWS), pk=pk)


def candidate_to_decide(*, user: User, pk: int) -> Candidate:
    """The candidate's name and run, if the user may see it; else 404. What is decided upon, the service locks and reads
    by itself."""
    candidates = Candidate.objects.only("run_id", "candidate_id")
    allowed = collections_with(user=user, permission=Permission.VIEW)
    if allowed is not None:
        candidates = candidates.filter(run__collection__in=allowed)
    return get_object_or_404(candidates, pk=pk)


def runs_visible(*, user: User, collection_id: int | None = None) -> RunQuerySet:
    """Runs the user may read, newest first."""
    runs = Run.objects.select_related("question", "question__document", "collection")
    allowed = collections_with(user=user, permission=Permission.VIEW)
    if allowed is not None:
        runs = runs.filter(collection__in=allowed)
    return runs.filter(collection_id=collection_id) if collection_id is not None else runs


#: What a row of a list of runs shows.
_ROW_COLUMNS = (
    *("strategy", "status", "review_state", "text_changed_at", "not_found", "no_strong_match", "created_at"),
    *("question__text", "question__document__name", "question__document__title"),
    *("collection__name", "collection__slug"),
)


def runs_listed(*, user: User) -> RunQuerySet:
    """Runs for a list, newest first, each with ``open_required``: how many verdicts people must still decide; and
    ``is_withheld``: what it came to is not shown to this person."""
    waiting = (
        QueueItem.objects.filter(run=OuterRef("pk"), state=ItemState.WAITING, is_required=True)
        .order_by()
        .values("run")
        .annotate(number=Count("pk"))
        .values("number")
    )
    runs = runs_visible(user=user).only(*_ROW_COLUMNS)
    return runs.annotate(
        open_required=Coalesce(Subquery(waiting), 0), is_withheld=of_withheld_run(user=user, run="pk")
    )


#: What is shown of the run that answers a question again; the rest of it is read where somebody wants it.
_SHOWN = (
    "id", "question_id", "collection_id", "strategy", "status", "review_state", "text_changed_at", "requested_by_id",
    "methods_run",
    "methods_skipped", "skipped_reasons", "not_found", "not_found_reason", "no_strong_match", "confidence",
    "needs_person", "failure_reason", "llm_call_count", "cost", "unpriced_call_count", "elapsed_ms", "created_at",
    "finished_at",
)  # fmt: skip
_RUN_WITH_KEY = f"""
    SELECT {", ".join(f"r.{name}" for name in _SHOWN)}, q.text AS asked_text, q.document_id AS asked_document
    FROM questions_run r JOIN questions_question q ON q.id = r.question_id
    WHERE r.cache_key = %s AND r.status = %s ORDER BY r.id DESC LIMIT 1
"""  # noqa: S608  (constants only)


def run_with_key(*, cache_key: str) -> Run | None:
    """The newest finished run of this very question, scope, state of documents, strategy and settings."""
    # To build this query from the model's thirty columns takes four times as long as the database needs for it.
    run = next(iter(Run.objects.raw(_RUN_WITH_KEY, [cache_key, RunStatus.DONE])), None)
    if run is not None:
        names = ("id", "collection_id", "document_id", "text")
        values = (run.question_id, run.collection_id, run.asked_document, run.asked_text)
        run.question = Question.from_db(
            run._state.db, names, values
        )  # what else it has is read when asked for
    return run


def runs_to_wake(*, free: Q) -> list[tuple[int, str]]:
    """(key, status) of runs that nobody works on although they have not ended."""
    stale = Q(lease_until__isnull=False) | Q(created_at__lt=Now() - LOST_AFTER)
    rows = Run.objects.exclude(status__in=ENDED).filter(free, stale)
    return list(rows.order_by("id").values_list("pk", "status")[:100])


@dataclass(frozen=True, slots=True)
class RunSlice:
    """Some runs, newest first, and the cursor of the next ones."""

    items: list[Run]
    next_cursor: str


def run_page(*, user: User, query: QueryDict, size: int = 25) -> RunSlice:
    """Runs the user may read, filtered by the address: collection, status, words of the question, one's own."""
    runs = runs_listed(user=user)
    if query.get("collection"):
        runs = runs.filter(collection__slug=words_in(query["collection"]))
    if query.get("status") in RunStatus.values:
        runs = runs.filter(status=query["status"])
    if query.get("asked_by") == "me":
        runs = runs.filter(requested_by=user)
    if text := words_in(query.get("q")):
        runs = runs.filter(question__text__icontains=text)
    cursor = number_in(query.get("before"))
    if cursor is not None:
        runs = runs.filter(pk__lt=cursor)
    items = list(runs[: size + 1])
    return RunSlice(items[:size], str(items[size - 1].pk) if len(items) > size else "")


#: The order in which a reader meets the candidates of a run; it tells neither role nor rank.
PLACE = (
    *("document_id", "anchor_page_start", "anchor_line_start"),
    *("anchor_page_end", "anchor_line_end", "candidate_id"),
)


def neighbours(*, candidate: Candidate, by_place: bool) -> tuple[int | None, int | None, int, int]:
    """Keys of the candidates before and after this one in the ranked list of its run, or ``by_place`` in the
    document; its place, their number."""
    order = PLACE if by_place else ("verdict__order", "position")
    ranked = list(
        Candidate.objects.filter(run_id=candidate.run_id).order_by(*order).values_list("pk", flat=True)
    )
    place = ranked.index(candidate.pk)
    before = ranked[place - 1] if place else None
    after = ranked[place + 1] if place + 1 < len(ranked) else None
    return before, after, place + 1, len(ranked)
