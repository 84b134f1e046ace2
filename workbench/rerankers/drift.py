"""Drift: how often people overrule the machine, by role, detector, collection, month and week."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import Now, TruncMonth, TruncWeek

from training.drift import OverrideRate, override_rate
from workbench.accounts.models import User
from workbench.accounts.permissions import member_condition
from workbench.review.blindness import of_undecided_card
from workbench.review.models import Review, ReviewAction

#: How far back the page looks.
WINDOW = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class DriftRow:
    """The override rate of one role, detector, collection, month, or week (named by its Monday)."""

    name: str
    figure: OverrideRate


@dataclass(frozen=True, slots=True)
class Drift:
    """Override rates of the last year, over all and by five views."""

    overall: OverrideRate
    by_role: tuple[DriftRow, ...]
    by_detector: tuple[DriftRow, ...]
    by_collection: tuple[DriftRow, ...]
    by_month: tuple[DriftRow, ...]
    by_week: tuple[DriftRow, ...]


def drift_for(*, user: User) -> Drift:
    """Of the decisions that count today in collections the person sees, on cards that wait for nobody's blind decision.
    One query, grouped in the database."""
    rows = list(
        Review.objects.filter(
            member_condition(user, prefix="run__collection"),
            action__in=[ReviewAction.APPROVE, ReviewAction.OVERRIDE],
            superseded_by__isnull=True,
            machine_role__isnull=False,
            created_at__gt=Now() - WINDOW,
        )
        .exclude(of_undecided_card())
        .annotate(month=TruncMonth("created_at"), week=TruncWeek("created_at"))
        .order_by()
        .values("action", "machine_role", "month", "week", "run__collection__name", "candidate__methods")
        .annotate(count=Count("pk"))
    )
    return Drift(
        overall=_rates(rows, lambda row: [""])[0].figure if rows else override_rate(overridden=0, decided=0),
        by_role=_rates(rows, lambda row: [row["machine_role"]]),
        by_detector=_rates(rows, lambda row: row["candidate__methods"]),
        by_collection=_rates(rows, lambda row: [row["run__collection__name"]]),
        by_month=_rates(rows, lambda row: [f"{row['month']:%Y-%m}"]),
        by_week=_rates(rows, lambda row: [f"{row['week']:%Y-%m-%d}"]),
    )


def _rates(
    rows: Iterable[dict[str, Any]], names: Callable[[dict[str, Any]], Iterable[str]]
) -> tuple[DriftRow, ...]:
    decided: dict[str, int] = defaultdict(int)
    overridden: dict[str, int] = defaultdict(int)
    for row in rows:
        for name in names(row):
            decided[name] += row["count"]
            overridden[name] += row["count"] if row["action"] == ReviewAction.OVERRIDE else 0
    return tuple(
        DriftRow(name, override_rate(overridden=overridden[name], decided=decided[name]))
        for name in sorted(decided)
    )
