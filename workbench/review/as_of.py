"""A run at a given time, rebuilt from rows that are never edited: verdicts, decisions, second reviews, signatures and
answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workbench.runs.models import Answer, Candidate, ReviewState, Run
from workbench.runs.records import anchor_of, verdict_of
from workbench.trail.selectors import TrailRow, history_of

from .candidates import candidates_of
from .models import Review, Signature
from .selectors import effective_role, standing_review


@dataclass(frozen=True, slots=True)
class CandidateThen:
    """A candidate's role then and now. ``decision`` is the person's decision that counted then."""

    candidate: Candidate
    scope: Any
    machine_role: str | None
    role: str | None
    role_now: str | None
    decision: Review | None

    @property
    def changed_since(self) -> bool:
        return self.role != self.role_now


@dataclass(frozen=True, slots=True)
class RunThen:
    """A run at a given time: its content, the review progress, and what had happened by then."""

    at: datetime
    existed: bool
    state: str
    review_state: str
    candidates: list[CandidateThen]
    answer: Answer | None
    signature: Signature | None
    not_found_review: Review | None
    events: list[TrailRow]


def run_as_of(*, run: Run, at: datetime) -> RunThen:
    """The run at that time. A fixed number of queries."""
    rows = candidates_of(run)
    events = [event for event in history_of(run, *rows) if event.at <= at]
    reviews = [
        review
        for review in run.reviews.filter(candidate__isnull=True).select_related("reviewer")
        if review.created_at <= at
    ]
    signatures = run.signatures.filter(signed_at__lte=at).select_related("reopening").order_by("pk")
    standing = [row for row in signatures if _stood(row, at)]
    return RunThen(
        at=at,
        existed=run.created_at <= at,
        state=_state(run, at),
        review_state=_review_state(rows, reviews, standing, at),
        candidates=[then for row in rows if (then := _candidate(row, at)) is not None],
        answer=run.answers.filter(created_at__lte=at).last(),
        signature=standing[-1] if standing else None,
        not_found_review=standing_review(reviews),
        events=events,
    )


def _stood(signature: Signature, at: datetime) -> bool:
    reopening = getattr(signature, "reopening", None)
    return reopening is None or reopening.reopened_at > at


def _state(run: Run, at: datetime) -> str:
    if run.created_at > at:
        return "unknown"
    ended = run.finished_at
    return str(run.status) if ended is not None and ended <= at else "running"


def _review_state(
    rows: list[Candidate], reviews: list[Review], standing: list[Signature], at: datetime
) -> str:
    if standing:
        return ReviewState.SIGNED
    decided = reviews or any(review.created_at <= at for row in rows for review in row.reviews.all())
    return ReviewState.IN_REVIEW if decided else ReviewState.OPEN


def _candidate(row: Candidate, at: datetime) -> CandidateThen | None:
    """The candidate at that time; None if nobody had found it yet."""
    everything = list(row.reviews.all())
    reviews = [review for review in everything if review.created_at <= at]
    verdict = verdict_of(row)
    is_there = bool(reviews) if verdict is None else verdict.created_at <= at
    if not is_there:
        return None
    machine_role = verdict.role if verdict else None
    decision = standing_review(reviews)
    return CandidateThen(
        candidate=row,
        scope=anchor_of(row),
        machine_role=machine_role,
        role=effective_role(machine_role=machine_role, review=decision),
        role_now=effective_role(machine_role=machine_role, review=standing_review(everything)),
        decision=decision,
    )
