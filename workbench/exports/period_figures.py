"""The figures of a period of a collection, as an audit committee asks for them. Cards that wait for a blind decision
are not counted: a figure must not tell what is on one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Count, Q, QuerySet, Sum

from arbitration.evaluation.intervals import Interval
from training.elusion import missed_rate
from workbench.documents.models import Collection
from workbench.labeling.elusion import ElusionRate, elusion_rates
from workbench.review.blindness import of_undecided_card
from workbench.review.models import (
    Adjudication,
    ItemStage,
    ItemState,
    QueueItem,
    Reopening,
    Review,
    ReviewAction,
    SecondReview,
    Signature,
)
from workbench.review.services import SURVIVING
from workbench.runs.models import LLMCall, Run, RunStatus

_DECIDING = (ReviewAction.APPROVE, ReviewAction.OVERRIDE)


@dataclass(frozen=True, slots=True)
class Spent:
    """What models cost; ``unpriced`` calls are of models without a price."""

    calls: int
    usd: Decimal
    unpriced: int


@dataclass(frozen=True, slots=True)
class PeriodFigures:
    """Counts of the period; shares with their exact 95 % interval. ``missed`` is of all samples up to now, as is
    ``waiting``, the decisions that are still open."""

    asked: int
    finished: int
    failed: int
    not_found: int
    not_found_confirmed: int
    not_found_refuted: int
    decided: int
    approved: int
    overridden: int
    override_share: Interval
    cannot_tell: int
    people: int
    evidence_added: int
    waiting: int
    signed: int
    reopened: int
    second_reviews: int
    disputes: int
    second_agreement: Interval
    adjudicated: int
    disputes_open: int
    missed: tuple[ElusionRate, ...]
    spent: Spent


def period_figures(*, collection: Collection, since: datetime, until: datetime) -> PeriodFigures:
    """The figures from ``since`` to ``until``, the latter excluded. A fixed number of queries."""
    period = Q(created_at__gte=since, created_at__lt=until)
    runs = _counts(Run.objects.filter(period, collection=collection), _RUNS)
    standing = Review.objects.filter(period, run__collection=collection, superseded_by__isnull=True)
    reviews = _counts(standing.exclude(of_undecided_card()), _REVIEWS)
    seconds = SecondReview.objects.filter(period, run__collection=collection).exclude(of_undecided_card())
    pairs = _counts(seconds, {"given": Count("pk"), "agreed": Count("pk", filter=Q(agrees=True))})
    by_machine = reviews["approved"] + reviews["overridden"]
    signed_between = {"signed_at__gte": since, "signed_at__lt": until}
    reopened_between = {"reopened_at__gte": since, "reopened_at__lt": until}
    return PeriodFigures(
        **runs,
        **reviews,
        override_share=missed_rate(missed=reviews["overridden"], judged=by_machine),
        **_items(collection),
        signed=Signature.objects.filter(run__collection=collection, **signed_between).count(),
        reopened=Reopening.objects.filter(signature__run__collection=collection, **reopened_between).count(),
        second_reviews=pairs["given"],
        disputes=pairs["given"] - pairs["agreed"],
        second_agreement=missed_rate(missed=pairs["agreed"], judged=pairs["given"]),
        adjudicated=Adjudication.objects.filter(
            run__collection=collection, review__created_at__gte=since, review__created_at__lt=until
        ).count(),
        missed=tuple(elusion_rates(collection=collection)),
        spent=_spent(LLMCall.objects.filter(period, collection=collection)),
    )


_RUNS = {
    "asked": Count("pk"),
    "finished": Count("pk", filter=Q(status=RunStatus.DONE)),
    "failed": Count("pk", filter=Q(status=RunStatus.FAILED)),
    "not_found": Count("pk", filter=Q(status=RunStatus.DONE, not_found=True)),
}
#: Of the decisions that stand. What people add themselves is no decision about a verdict.
_OF_VERDICTS = Q(machine_role__isnull=False)
_REVIEWS = {
    "decided": Count("pk", filter=Q(action__in=_DECIDING)),
    "approved": Count("pk", filter=_OF_VERDICTS & Q(action=ReviewAction.APPROVE)),
    "overridden": Count("pk", filter=_OF_VERDICTS & Q(action=ReviewAction.OVERRIDE)),
    "cannot_tell": Count("pk", filter=Q(action=ReviewAction.UNSURE)),
    "people": Count("reviewer", distinct=True),
    "not_found_confirmed": Count("pk", filter=Q(action=ReviewAction.CONFIRM_NOT_FOUND)),
    "not_found_refuted": Count("pk", filter=Q(action=ReviewAction.REFUTE_NOT_FOUND)),
    "evidence_added": Count("pk", filter=Q(candidate__added_by__isnull=False, role__in=SURVIVING)),
}


def _counts(rows: QuerySet, wanted: dict[str, Count]) -> dict[str, int]:  # type: ignore[type-arg]
    return dict(rows.order_by().aggregate(**wanted))


def _items(collection: Collection) -> dict[str, int]:
    waiting = QueueItem.objects.filter(collection=collection, state=ItemState.WAITING)
    wanted = {
        "waiting": Count("pk", filter=Q(is_required=True)),
        "disputes_open": Count("pk", filter=Q(stage=ItemStage.ADJUDICATION)),
    }
    return _counts(waiting, wanted)


def _spent(calls: QuerySet[LLMCall]) -> Spent:
    sums = calls.order_by().aggregate(
        calls=Count("pk"), usd=Sum("cost"), unpriced=Count("pk", filter=Q(is_priced=False))
    )
    return Spent(calls=sums["calls"], usd=sums["usd"] or Decimal(0), unpriced=sums["unpriced"])
