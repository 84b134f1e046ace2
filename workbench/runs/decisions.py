"""The engine's decision, read back from the rows of a run."""

from __future__ import annotations

from arbitration.contracts import ConflictPair, DecidedBy, QuoteCheck, Role
from arbitration.decision import Decision
from arbitration.strategies.base import Verdict
from arbitration.strategies.registry import order_by_name

from .models import Run
from .models import Verdict as VerdictRow


def decision_from_rows(run: Run) -> Decision:
    """The decision of arbitration, as the engine's record."""
    rows = VerdictRow.objects.filter(candidate__run=run).select_related("candidate").order_by("order")
    verdicts = tuple(map(_verdict, rows))
    return Decision(
        strategy=run.strategy,
        verdicts=verdicts,
        ordered_by=order_by_name(run.strategy),
        not_found=bool(run.not_found),
        not_found_reason=run.not_found_reason or None,
        no_strong_match=run.no_strong_match,
        confidence=run.confidence or 0.0,
        needs_person=run.needs_person,
        conflicts=tuple(ConflictPair.model_validate(pair) for pair in run.conflicts),
        unknown_ids=tuple(run.unknown_ids),
        repeated_ids=tuple(run.repeated_ids),
        undecided_ids=tuple(verdict.candidate_id for verdict in verdicts if verdict.role is None),
        notes=tuple(run.notes),
        artefacts=dict(run.artefacts),
    )


def _verdict(row: VerdictRow) -> Verdict:
    return Verdict(
        candidate_id=row.candidate.candidate_id,
        role=Role(row.role) if row.role else None,
        reason=row.reason,
        decided_by=DecidedBy.model_validate(
            {
                "kind": row.decided_by_kind,
                "name": row.decided_by_name,
                "version": row.decided_by_version or None,
            }
        ),
        probability=row.probability,
        raw_score=row.raw_score,
        score_scale=row.score_scale or None,
        normalised_score=row.normalised_score,
        terms=dict(row.terms),
        needs_person=row.needs_person,
        needs_person_reasons=tuple(row.needs_person_reasons),
        counter_argument=row.counter_argument or None,
        model_confidence=row.model_confidence,
        quotes=tuple(QuoteCheck.model_validate(quote) for quote in row.quotes),
        injection_suspected=row.injection_suspected,
        injection_words=tuple(row.injection_words),
    )
