"""Candidates with their decisions, read for cards, records and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Prefetch
from django.shortcuts import get_object_or_404

from workbench.accounts.permissions import Permission, collections_with
from workbench.runs.models import Candidate, Run
from workbench.runs.restrictions import runs_open_to

from .selectors import REVIEWS

if TYPE_CHECKING:
    from workbench.accounts.models import User


def candidates_of(run: Run) -> list[Candidate]:
    """All candidates of a run with verdict, text, document and decisions: a fixed number of queries."""
    return list(
        run.candidates.select_related("verdict", "text", "document", "added_by", "queue_item")
        .prefetch_related(REVIEWS)
        .order_by("verdict__order", "position")
    )


#: What a card and the evidence beside it show, of tables with a hundred columns more; the rest is read when asked for.
CARD_COLUMNS = (
    *("run_id", "candidate_id", "position", "section_id", "breadcrumb", "added_by_id", "text_hash"),
    *("anchor_page_start", "anchor_line_start", "anchor_page_end", "anchor_line_end"),
    *("context_page_start", "context_line_start", "context_page_end", "context_line_end"),
    *("methods", "ranks", "scores", "whys", "matched_keywords", "rrf_score", "rrf_rank"),
    *(f"document__{name}" for name in ("collection_id", "name", "title", "kind", "status", "language")),
    *(f"document__{name}" for name in ("sha256", "page_count", "deleted_at", "erased_at")),
    *("verdict", "text", "queue_item"),
)


def candidates_shown(run: Run, *, keys: list[int]) -> list[Candidate]:
    """Some candidates of a run with the data of their cards: a fixed number of queries."""
    rows = run.candidates.filter(pk__in=keys).select_related("document", "verdict", "text", "queue_item")
    return list(rows.only(*CARD_COLUMNS).prefetch_related("added_by", REVIEWS))


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
    """The candidate, if the user may do this with it; else 404. ``as_card`` loads the columns of a card. Its run is
    read separately, because planning a query with ten joins takes longer than two queries."""
    allowed = collections_with(user=user, permission=permission)
    candidates = Candidate.objects.select_related("document", "verdict", "text", "queue_item")
    if allowed is not None:
        candidates = candidates.filter(runs_open_to(user, "run"), run__collection__in=allowed)
    runs = Run.objects.select_related("question__document", "collection")
    if as_card:
        candidates, runs = candidates.only(*CARD_COLUMNS), runs.only(*CARD_RUN_COLUMNS)
    return get_object_or_404(candidates.prefetch_related(Prefetch("run", runs), "added_by", REVIEWS), pk=pk)


def candidate_to_decide(*, user: User, pk: int) -> Candidate:
    """The candidate's name and run, if the user can see it; else 404. The service locks and reads the rest itself."""
    candidates = Candidate.objects.only(
        "run_id",
        "candidate_id",
        "section_id",
        *(f"anchor_{name}" for name in ("page_start", "line_start", "page_end", "line_end")),
    )
    allowed = collections_with(user=user, permission=Permission.VIEW)
    if allowed is not None:
        candidates = candidates.filter(runs_open_to(user, "run"), run__collection__in=allowed)
    return get_object_or_404(candidates, pk=pk)
