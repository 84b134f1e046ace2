"""Fills the queue when a run has verdicts: what needs review, how urgently, and why."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from django.db.models import Value
from django.db.models.functions import Coalesce

from arbitration.settings import EngineSettings
from training.draw import blind_chance
from workbench.runs.models import Candidate, RoleChoice, Run, demands_decision
from workbench.runs.records import span_of
from workbench.runs.reranking import reranking_services

from .blindness import BLIND_STAGE
from .models import ItemState, QueueItem, Review, ReviewAction, ReviewPolicy

#: Share of items raised at random, so that the queue also shows what nobody expected.
RANDOM_SHARE = 0.05
#: The priority of every card that hides its role: its place in the queue must not tell it.
BLIND_PRIORITY = 0.5


def queue_fill(*, run: Run, candidates: list[Candidate]) -> None:
    """Creates an item per candidate with a verdict, or one for the not-found result. Safe to repeat. Items are created
    in the order of the document, so that keys and equal priorities do not reveal the rank."""
    policy = ReviewPolicy.objects.filter(collection=run.collection_id).first() or ReviewPolicy()
    chances = _chances(run, candidates, policy)
    items = [
        _item(run, candidate, policy, chances.get(candidate.text_hash, 0.0))
        for candidate in sorted(candidates, key=lambda candidate: (candidate.document_id, span_of(candidate)))
    ]
    QueueItem.objects.bulk_create(items, ignore_conflicts=True)
    not_found_fill(run=run)


def not_found_fill(*, run: Run) -> None:
    """Creates an item for the not-found result of a run once none of its cards hides its role, because the result would
    reveal every card's role. Safe to repeat."""
    if not run.not_found or run.queue_items.filter(BLIND_STAGE, state=ItemState.WAITING).exists():
        return
    words = Review.objects.filter(run=run, candidate__isnull=True, superseded_by__isnull=True)
    if words.exclude(action=ReviewAction.UNDO).exists():
        return  # somebody added the evidence that was missing
    item = QueueItem(
        run=run, collection_id=run.collection_id, is_required=True, priority=1.0, why=["not_found"]
    )
    QueueItem.objects.bulk_create([item], ignore_conflicts=True)


def _chances(run: Run, candidates: Sequence[Candidate], policy: ReviewPolicy) -> dict[str, float]:
    """The probability that each passage is blind, by the hash of its text.

    Under the current shares, it keeps the probability of its first run: another model must neither reveal what is
    hidden nor hide what was open. Draws from before probabilities were recorded had the share itself. If a passage
    occurs twice, the greater probability applies to both. Empty if nothing is drawn.
    """
    if not policy.blind_share:
        return {}
    drawn = QueueItem.objects.filter(
        run__question__collection=run.collection_id,
        run__question__normalised=run.question.normalised,
        candidate__text_hash__in={candidate.text_hash for candidate in candidates},
    )
    if policy.pk:
        drawn = drawn.filter(created_at__gt=policy.changed_at)
    chances = drawn.annotate(chance=Coalesce("blind_chance", Value(policy.blind_share)))
    kept = dict(chances.order_by("-pk").values_list("candidate__text_hash", "chance"))
    bar, fresh = _bar(), dict[str, float]()
    for candidate in candidates:
        chance = blind_chance(policy.blind_share, candidate.verdict.probability, bar)
        fresh[candidate.text_hash] = max(chance, fresh.get(candidate.text_hash, 0.0))
    return fresh | kept


def _bar() -> float:
    """The probability from which the champion counts a passage as evidence."""
    scorer = reranking_services().scorer
    return EngineSettings().rules_accept if scorer is None else scorer.threshold


def _item(run: Run, candidate: Candidate, policy: ReviewPolicy, chance: float) -> QueueItem:
    """The queue item of a verdict. A blind card always requires a decision and has a fixed priority, so that neither
    reveals its role."""
    verdict = candidate.verdict
    has_role = verdict.role is not None
    is_blind = has_role and falls_in(share=chance, purpose="blind", passage=passage_key(run, candidate))
    needs_second = falls_in(share=policy.second_share, purpose="second", passage=passage_key(run, candidate))
    why = _why(candidate) + ["blind"] * is_blind + ["second"] * needs_second
    priority = BLIND_PRIORITY if is_blind else _priority(candidate, is_random="random" in why)
    return QueueItem(
        run=run,
        collection_id=run.collection_id,
        candidate=candidate,
        is_required=is_blind or demands_decision(role=verdict.role, needs_person=verdict.needs_person),
        is_blind=is_blind,
        blind_chance=chance if has_role and chance else None,
        needs_second=needs_second,
        priority=priority,
        why=why,
    )


def _why(candidate: Candidate) -> list[str]:
    verdict = candidate.verdict
    why: list[str] = []
    if verdict.role is None:
        why.append("undecided")
    elif verdict.needs_person:
        why.append("needs_person")
    if verdict.injection_suspected:
        why.append("injection_suspected")
    if verdict.role:
        why.append(verdict.role)
    if uncertainty(verdict.probability) > 0.6:
        why.append("uncertain")
    if disagreement(candidate) > 0.6:
        why.append("disagreement")
    if _is_random(candidate):
        why.append("random")
    return why


def _priority(candidate: Candidate, *, is_random: bool) -> float:
    """Uncertainty times disagreement, from 0 to 1. Cards that need review and random checks come first. Age is added by
    ``QueueItem.urgency``: a week of waiting weighs as much as a factor e of priority."""
    verdict = candidate.verdict
    score = 0.5 * uncertainty(verdict.probability) * (0.5 + 0.5 * disagreement(candidate))
    if verdict.needs_person:
        score += 0.4
    elif verdict.role in (RoleChoice.PRIMARY, RoleChoice.SUPPORTING):
        score += 0.2
    return round(min(1.0, score + (0.3 if is_random else 0.0)), 4)


def uncertainty(probability: float | None) -> float:
    """1 at p = .5, 0 at p = 0 or 1, and 1 without a probability."""
    return 1.0 if probability is None else 1.0 - abs(2.0 * probability - 1.0)


def disagreement(candidate: Candidate) -> float:
    """The share of the run's detectors that did not find this candidate."""
    ran = len(candidate.run.methods_run)
    return 1.0 - len(candidate.methods) / ran if ran else 0.0


def _is_random(candidate: Candidate) -> bool:
    return falls_in(share=RANDOM_SHARE, passage=f"{candidate.run_id}:{candidate.candidate_id}")


def passage_key(run: Run, candidate: Candidate) -> str:
    """Identifies a question and a passage by their words, so that both are treated the same in every run: what is
    hidden in one is not open in the next."""
    return f"{run.question.normalised}\0{candidate.text_hash}"


def falls_in(*, share: float, passage: str, purpose: str = "") -> bool:
    """Whether the passage belongs to a fixed share by hash. The same passage always gets the same result, independently
    of other purposes."""
    name = ":".join(filter(None, (purpose, passage)))
    return (int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) >> 11) / 2**53 < share
