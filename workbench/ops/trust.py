"""Whether the machine can be trusted, and whether people check it: what a collection's decisions of a year tell."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Case, Count, F, IntegerField, Q, Value, When
from django.db.models.functions import Now, TruncMonth
from django.http import QueryDict
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from arbitration.evaluation.intervals import Interval
from training.elusion import missed_rate
from workbench.accounts.models import User
from workbench.documents.models import Collection
from workbench.labeling.agreement import collection_agreement
from workbench.labeling.elusion import elusion_rates
from workbench.questions.models import Candidate, RoleChoice
from workbench.review.models import Review, ReviewAction, SecondReview

from .collection_choice import collection_choice
from .plots import BarPlot, bar_plot
from .selectors import TRUST_READERS

#: How far back the page looks.
WINDOW = timedelta(days=366)
#: Upper ends of times on a card, in seconds; the last group has none.
TIMES = (3, 10, 30, 120)
_TIME_LABELS = (
    gettext_lazy("under 3 s"),
    gettext_lazy("3 to 10 s"),
    gettext_lazy("10 to 30 s"),
    gettext_lazy("30 s to 2 min"),
    gettext_lazy("over 2 min"),
)
_EVIDENCE = (RoleChoice.PRIMARY, RoleChoice.SUPPORTING)


@dataclass(frozen=True, slots=True)
class Share:
    """A named share with its exact 95 % interval (Clopper and Pearson): ``part`` of ``figure.n``."""

    name: str
    part: int
    figure: Interval


def share(name: str, *, part: int, whole: int) -> Share:
    """``part`` of ``whole``, by the interval that rare cases need."""
    return Share(name, part, missed_rate(missed=part, judged=whole))


@dataclass(frozen=True, slots=True)
class Conduct:
    """How often people said what the machine had said: having seen it, without sight of it, and by time on the card."""

    seen: Share
    blind: Share
    by_time: tuple[Share, ...]
    second: Share


def conduct_of(*, collection: Collection) -> Conduct:
    """From the decisions that stand. Two queries, counted in the database."""
    decisions = Review.objects.filter(
        run__collection=collection,
        action__in=[ReviewAction.APPROVE, ReviewAction.OVERRIDE],
        machine_role__isnull=False,
        superseded_by__isnull=True,
        created_at__gt=Now() - WINDOW,
    )
    cases = [When(seconds_on_card__lt=end, then=Value(place)) for place, end in enumerate(TIMES)]
    group = Case(
        When(seconds_on_card__isnull=True, then=Value(None)),
        *cases,
        default=Value(len(TIMES)),
        output_field=IntegerField(),
    )
    rows = list(
        decisions.annotate(group=group)
        .order_by()
        .values("blind", "group")
        .annotate(whole=Count("pk"), part=Count("pk", filter=Q(role=F("machine_role"))))
    )

    def added(name: str, *, blind: bool, place: int | None = None) -> Share:
        chosen = [row for row in rows if row["blind"] is blind and (place is None or row["group"] == place)]
        part, whole = (sum(row[key] for row in chosen) for key in ("part", "whole"))
        return share(name, part=part, whole=whole)

    seconds = SecondReview.objects.filter(run__collection=collection, created_at__gt=Now() - WINDOW)
    counts = seconds.aggregate(whole=Count("pk"), part=Count("pk", filter=Q(agrees=True)))
    return Conduct(
        seen=added(_("with the machine's word before them"), blind=False),
        blind=added(_("without sight of it"), blind=True),
        by_time=tuple(
            found
            for place, label in enumerate(_TIME_LABELS)
            if (found := added(str(label), blind=False, place=place)).figure.n
        ),
        second=share(_("a second reviewer, without sight of the first"), **counts),
    )


def misses_by_month(*, collection: Collection) -> list[Share]:
    """Of the runs that people decided on, those where they had to add what the detectors had missed. Two queries."""
    decided = dict(
        Review.objects.filter(run__collection=collection, run__created_at__gt=Now() - WINDOW)
        .annotate(month=TruncMonth("run__created_at"))
        .order_by()
        .values_list("month")
        .annotate(Count("run", distinct=True))
    )
    added = dict(
        Candidate.objects.filter(
            run__collection=collection,
            run__created_at__gt=Now() - WINDOW,
            added_by__isnull=False,
            reviews__role__in=_EVIDENCE,
        )
        .annotate(month=TruncMonth("run__created_at"))
        .order_by()
        .values_list("month")
        .annotate(Count("run", distinct=True))
    )
    return [
        share(date_format(month, "YEAR_MONTH_FORMAT"), part=added.get(month, 0), whole=decided[month])
        for month in sorted(decided, reverse=True)
    ]


def trust_page(*, user: User, query: QueryDict) -> dict[str, Any]:
    """The figures of the collection that the address names, else of the first that the person may ask about."""
    chosen, filters = collection_choice(
        user=user, permissions=TRUST_READERS, query=query, url=reverse("ops:trust")
    )
    context: dict[str, Any] = {"collection": chosen, "filters": filters}
    if chosen is None:
        return context
    conduct = conduct_of(collection=chosen)
    return context | {
        "conduct": conduct,
        "ways": [found for found in (conduct.seen, conduct.blind, conduct.second) if found.figure.n],
        "time_plot": _plot(
            _("Decisions that say what the machine said, by time on the card"), conduct.by_time
        ),
        "misses": misses_by_month(collection=chosen),
        "elusion": elusion_rates(collection=chosen),
        "models": collection_agreement(collection=chosen).models,
    }


def _plot(title: str, shares: tuple[Share, ...]) -> BarPlot | None:
    figures = [(row.name, row.figure.value or 0.0, row.figure.low, row.figure.high) for row in shares]
    return bar_plot(title=title, figures=figures, top=1.0) if figures else None
