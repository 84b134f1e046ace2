"""What models cost in a month: by collection, strategy, model and kind of call."""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db.models import F, Q
from django.db.models.functions import TruncDate
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from workbench.documents.models import Collection
from workbench.infra.dates import day_in_words, days_between
from workbench.infra.exports import csv_text
from workbench.infra.plots import Chart, bar_plot, chart, over
from workbench.runs.gateway import llm_control
from workbench.runs.models import LLMCall
from workbench.runs.words import step_words

from .operations import SUMS, WITHOUT_RUN, Usage, seen_by

if TYPE_CHECKING:
    from workbench.accounts.models import User

_MONTH = re.compile(r"(20\d\d)-(0[1-9]|1[0-2])")


def month_named(raw: str) -> dt.date | None:
    """The first day of the month that an address names (``2026-11``); None for anything else."""
    match = _MONTH.fullmatch(raw)
    return dt.date(int(match[1]), int(match[2]), 1) if match else None


def month_in(raw: str | None) -> dt.date:
    """The first day of the month that an address names, else of this one (UTC)."""
    return month_named(raw or "") or timezone.now().date().replace(day=1)


def _next_month(first: dt.date) -> dt.date:
    return (first + dt.timedelta(days=32)).replace(day=1)


def _in_month(user: User, first: dt.date) -> Q:
    return seen_by(user) & Q(
        created_at__gte=dt.datetime.combine(first, dt.time(), tzinfo=dt.UTC),
        created_at__lt=dt.datetime.combine(_next_month(first), dt.time(), tzinfo=dt.UTC),
    )


def cost_sums(*, user: User, first: dt.date) -> list[dict[str, Any]]:
    """The month's sums by collection, strategy, model and stage, as the ledger has them. One query."""
    return list(
        LLMCall.objects.filter(_in_month(user, first))
        .annotate(strategy=F("run__strategy"))
        .values("collection_id", "strategy", "model", "stage")
        .order_by("collection_id", "strategy", "model", "stage")
        .annotate(**SUMS)
    )


def cost_days(*, user: User, first: dt.date) -> list[dict[str, Any]]:
    """The month's cost by day (UTC) and collection; days without a call are left out. One query."""
    return list(
        LLMCall.objects.filter(_in_month(user, first))
        .annotate(day=TruncDate("created_at", tzinfo=dt.UTC))
        .values("day", "collection_id")
        .order_by("day", "collection_id")
        .annotate(usd=SUMS["usd"], calls=SUMS["calls"])
    )


@dataclass(frozen=True, slots=True)
class MonthCosts:
    """A month's costs for a person. ``rows`` and ``days`` have the ``slug`` of collections that the person belongs to,
    else None."""

    month: dt.date
    budget: Decimal | None
    total: Usage
    rows: list[dict[str, Any]]
    days: list[dict[str, Any]]


def costs_of(*, user: User, first: dt.date) -> MonthCosts:
    """The month as programs read it: keys and codes, no words. Four queries."""
    rows, total = cost_sums(user=user, first=first), Usage()
    days = cost_days(user=user, first=first)
    slugs = dict(Collection.objects.visible_to(user).values_list("pk", "slug"))
    for row in rows:
        total.add(row)
    for row in [*rows, *days]:
        row["slug"] = slugs.get(row["collection_id"])
    return MonthCosts(month=first, budget=llm_control().month_budget, total=total, rows=rows, days=days)


def cost_rows(*, user: User, first: dt.date) -> list[dict[str, Any]]:
    """The same sums under names that people read. Two queries."""
    rows = cost_sums(user=user, first=first)
    names = dict(Collection.objects.visible_to(user).values_list("pk", "name"))
    for row in rows:
        row["collection"] = _collection_named(names, row["collection_id"])
        row["strategy"] = row["strategy"] or WITHOUT_RUN
    return rows


def _collection_named(names: Mapping[int, str], key: int | None) -> str:
    """Who does not belong to a collection reads its number, not its name."""
    if key is None:
        return str(WITHOUT_RUN)
    return names.get(key) or _("collection %(n)d") % {"n": key}


def costs_page(*, user: User, first: dt.date) -> dict[str, Any]:
    """The month, added up four ways."""
    rows = cost_rows(user=user, first=first)
    total = Usage()
    for row in rows:
        total.add(row)
    groups = [
        (_("Collection"), _grouped(rows, "collection")),
        (_("Strategy"), _grouped(rows, "strategy")),
        (_("Model"), _grouped(rows, "model")),
        (_("Step"), _grouped([row | {"stage": capfirst(step_words(row["stage"]))} for row in rows], "stage")),
    ]
    figures = [(name, float(usage.cost), None, None) for name, usage in groups[0][1][:12]]
    named = {row["collection_id"]: row["collection"] for row in rows}
    return {
        "month": first,
        "previous": (first - dt.timedelta(days=1)).strftime("%Y-%m"),
        "next": _next_month(first).strftime("%Y-%m") if _next_month(first) <= timezone.now().date() else "",
        "total": total,
        "budget": llm_control().month_budget,
        "groups": [{"label": label, "rows": usages} for label, usages in groups],
        "plot": bar_plot(title=_("Cost by collection, USD"), figures=figures, digits=4) if figures else None,
        "days": _days_chart(cost_days(user=user, first=first), named, first) if rows else None,
    }


#: As many collections as a chart of days tells apart; the others are added up.
_MOST_COLLECTIONS = 4


def _days_chart(days: list[dict[str, Any]], named: Mapping[int | None, str], first: dt.date) -> Chart:
    """Cost by day, the dearest collections apart, up to the end of the month or today."""
    last = min(_next_month(first) - dt.timedelta(days=1), timezone.now().date())
    shown = days_between(first, max(last, max(row["day"] for row in days)))
    costs: dict[str, dict[dt.date, float]] = defaultdict(lambda: defaultdict(float))
    for row in days:
        costs[named.get(row["collection_id"], str(WITHOUT_RUN))][row["day"]] += float(row["usd"])
    dearest = sorted(costs, key=lambda name: -sum(costs[name].values()))
    kept = {name: costs[name] for name in dearest[:_MOST_COLLECTIONS]}
    for name in dearest[_MOST_COLLECTIONS:]:
        others = kept.setdefault(_("Other collections"), defaultdict(float))
        for day, cost in costs[name].items():
            others[day] += cost
    return chart(
        title=_("Cost by day and collection"),
        x_label=_("Day"),
        y_label=_("USD"),
        labels=[day_in_words(day) for day in shown],
        series=[over(name, [by_day.get(day, 0.0) for day in shown], "bars") for name, by_day in kept.items()],
        digits=4,
    )


def _grouped(rows: list[dict[str, Any]], name: str) -> list[tuple[str, Usage]]:
    usages: dict[str, Usage] = defaultdict(Usage)
    for row in rows:
        usages[row[name]].add(row)
    return sorted(usages.items(), key=lambda item: (-item[1].cost, item[0]))


def costs_csv(*, user: User, first: dt.date) -> str:
    """The month's sums as a file."""
    header = (
        "month", "collection", "strategy", "model", "step", "calls", "failed", "input tokens", "cached tokens",
        "output tokens", "cost USD", "calls of unknown cost",
    )  # fmt: skip
    keys = ("collection", "strategy", "model", "stage", "calls", "failed", "input", "cached", "output")
    rows = cost_rows(user=user, first=first)
    return csv_text(
        header=header,
        rows=(
            [first.strftime("%Y-%m"), *(row[key] for key in keys), float(row["usd"]), row["unpriced"]]
            for row in rows
        ),
    )
