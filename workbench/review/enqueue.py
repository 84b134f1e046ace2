"""Filling the queue when a run's verdicts are there: what needs a person, how urgently, and why."""

from __future__ import annotations

import hashlib

from workbench.questions.models import Candidate, RoleChoice, Run, demands_decision

from .models import QueueItem, ReviewPolicy

#: Share of items raised at random, so that the queue also shows what nobody expected.
RANDOM_SHARE = 0.05


def queue_fill(*, run: Run, candidates: list[Candidate]) -> None:
    """One item per candidate with a verdict, or one for the not-found. Safe to repeat."""
    policy = ReviewPolicy.objects.filter(collection=run.collection_id).first() or ReviewPolicy()
    items = [_item(run, candidate, policy) for candidate in candidates]
    if run.not_found:
        items.append(
            QueueItem(
                run=run, collection_id=run.collection_id, is_required=True, priority=1.0, why=["not_found"]
            )
        )
    QueueItem.objects.bulk_create(items, ignore_conflicts=True)


def _item(run: Run, candidate: Candidate, policy: ReviewPolicy) -> QueueItem:
    verdict = candidate.verdict
    is_blind = verdict.role is not None and falls_in(candidate, "blind", policy.blind_share)
    needs_second = falls_in(candidate, "second", policy.second_share)
    why = _why(candidate) + ["blind"] * is_blind + ["second"] * needs_second
    return QueueItem(
        run=run,
        collection_id=run.collection_id,
        candidate=candidate,
        is_required=demands_decision(role=verdict.role, needs_person=verdict.needs_person),
        is_blind=is_blind,
        needs_second=needs_second,
        priority=_priority(candidate, is_random="random" in why),
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
    """Uncertainty times disagreement, between 0 and 1; what asks for a person and random checks come first.
    Age enters by ``QueueItem.urgency``: a week of waiting weighs as much as a factor e of priority."""
    verdict = candidate.verdict
    score = 0.5 * uncertainty(verdict.probability) * (0.5 + 0.5 * disagreement(candidate))
    if verdict.needs_person:
        score += 0.4
    elif verdict.role in (RoleChoice.PRIMARY, RoleChoice.SUPPORTING):
        score += 0.2
    return round(min(1.0, score + (0.3 if is_random else 0.0)), 4)


def uncertainty(probability: float | None) -> float:
    """1 at p = .5, 0 at p = 0 or 1; 1 when there is no probability."""
    return 1.0 if probability is None else 1.0 - abs(2.0 * probability - 1.0)


def disagreement(candidate: Candidate) -> float:
    """Share of the run's detectors that did not find this candidate."""
    ran = len(candidate.run.methods_run)
    return 1.0 - len(candidate.methods) / ran if ran else 0.0


def _is_random(candidate: Candidate) -> bool:
    return falls_in(candidate, "", RANDOM_SHARE)


def falls_in(candidate: Candidate, purpose: str, share: float) -> bool:
    """Whether the candidate belongs to a fixed share by hash: the same one always falls the same way, and apart from
    the other purposes."""
    name = ":".join(filter(None, (purpose, str(candidate.run_id), candidate.candidate_id)))
    return hashlib.sha256(name.encode()).digest()[0] / 256 < share
