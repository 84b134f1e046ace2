"""Whether the machine can be trusted, and whether people check it: what a collection's decisions of a year tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Case, Count, F, IntegerField, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce, Now, TruncDate
from django.http import QueryDict
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from arbitration.evaluation.intervals import Interval
from training.elusion import missed_rate, weighted_rate
from training.risk import SHIPPED_CARDS, SHIPPED_LOSS, controlled_risk, fewest_groups
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, member_condition_any, permissions_in
from workbench.collection_settings.bars import bars_in_use
from workbench.collection_settings.models import BarDecides, CollectionBar
from workbench.documents.collection_choice import collection_choice
from workbench.documents.models import Collection
from workbench.infra.dates import day_in_words, days_between, month_in_words, week_of
from workbench.infra.plots import BarPlot, Chart, bar_plot, chart, over
from workbench.labeling.agreement import ModelAgreement, collection_agreement
from workbench.labeling.elusion import ElusionRate, elusion_rates
from workbench.review.blindness import of_undecided_card
from workbench.review.models import Review, ReviewAction, SecondReview
from workbench.runs.models import Candidate, RoleChoice

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


@dataclass(frozen=True, slots=True)
class TimedShare(Share):
    """Of the decisions that took less than ``under`` seconds and no less than the group before; None for the last."""

    under: int | None


def share(name: str, *, part: int, whole: int) -> Share:
    """``part`` of ``whole``, by the interval that rare cases need."""
    return Share(name, part, missed_rate(missed=part, judged=whole))


@dataclass(frozen=True, slots=True)
class LostUnseen:
    """Of the questions whose evidence people decided on, those whose evidence the machine had all discarded. ``bound``
    is the share that conformal risk control allows to promise, None while there are too few questions to promise the
    share that ships."""

    questions: Share
    bound: float | None

    @property
    def bound_percent(self) -> int | None:
        """The bound in per cent, rounded up, so that no more is promised than is held."""
        return None if self.bound is None else math.ceil(100 * self.bound - 1e-9)


@dataclass(frozen=True, slots=True)
class Conduct:
    """How often people said what the machine had said: having seen it, without sight of it, and by time on the card."""

    seen: Share
    blind: Share
    by_time: tuple[TimedShare, ...]
    second: Share


@dataclass(frozen=True, slots=True)
class Trust:
    """What a collection's decisions of a year tell: the page's figures."""

    conduct: Conduct
    lost: LostUnseen
    promises: list[CollectionBar]
    misses: Misses
    elusion: list[ElusionRate]
    models: tuple[ModelAgreement, ...]


def trust_of(*, collection: Collection) -> Trust:
    return Trust(
        conduct=conduct_of(collection=collection),
        lost=lost_unseen(collection=collection),
        promises=list(bars_in_use(collection=collection)),
        misses=misses_of(collection=collection),
        elusion=elusion_rates(collection=collection),
        models=collection_agreement(collection=collection).models,
    )


def trusted_collections(*, user: User) -> QuerySet[Collection]:
    """Those whose figures the person may ask for."""
    return Collection.objects.filter(member_condition_any(user, TRUST_READERS)).distinct()


def conduct_of(*, collection: Collection) -> Conduct:
    """From the decisions that stand, on cards that wait for nobody's blind decision. Two queries, counted in the
    database."""
    decisions = Review.objects.filter(
        run__collection=collection,
        action__in=[ReviewAction.APPROVE, ReviewAction.OVERRIDE],
        machine_role__isnull=False,
        superseded_by__isnull=True,
        created_at__gt=Now() - WINDOW,
    ).exclude(of_undecided_card())
    cases = [When(seconds_on_card__lt=end, then=Value(place)) for place, end in enumerate(TIMES)]
    group = Case(
        When(seconds_on_card__isnull=True, then=Value(None)),
        *cases,
        default=Value(len(TIMES)),
        output_field=IntegerField(),
    )
    # For how many cards a blind one stands; those from before chances were recorded were drawn with the shipped share.
    inverse = Value(1.0) / Coalesce(F("blind_chance"), Value(float(settings.BLIND_SHARE) or 1.0))
    agrees = Q(role=F("machine_role"))
    rows = list(
        decisions.annotate(group=group)
        .order_by()
        .values("blind", "group")
        .annotate(
            whole=Count("pk"),
            part=Count("pk", filter=agrees),
            stands_for=Sum(inverse),
            agreeing=Sum(inverse, filter=agrees, default=0.0),
            squares=Sum(inverse * inverse),
        )
    )

    def added(name: str, *, blind: bool, place: int | None = None) -> Share:
        chosen = [row for row in rows if row["blind"] is blind and (place is None or row["group"] == place)]
        part, whole = (sum(row[key] for row in chosen) for key in ("part", "whole"))
        return share(name, part=part, whole=whole)

    seconds = SecondReview.objects.filter(run__collection=collection, created_at__gt=Now() - WINDOW)
    counts = seconds.aggregate(whole=Count("pk"), part=Count("pk", filter=Q(agrees=True)))
    return Conduct(
        seen=added(_("with the machine's role in sight"), blind=False),
        blind=_weighed([row for row in rows if row["blind"]]),
        by_time=tuple(
            TimedShare(found.name, found.part, found.figure, TIMES[place] if place < len(TIMES) else None)
            for place, label in enumerate(_TIME_LABELS)
            if (found := added(str(label), blind=False, place=place)).figure.n
        ),
        second=share(_("a second reviewer, without sight of the first"), **counts),
    )


def _weighed(rows: Sequence[dict[str, Any]]) -> Share:
    """Blind decisions that say what the machine said: each counts for as many cards as it stands for."""
    sums = {
        name: sum(row[name] for row in rows)
        for name in ("part", "whole", "agreeing", "stands_for", "squares")
    }
    figure = weighted_rate(
        part=sums["agreeing"], whole=sums["stands_for"], squares=sums["squares"], counted=sums["whole"]
    )
    return Share(_("without sight of it, weighted by the chance of the draw"), sums["part"], figure)


@dataclass(frozen=True, slots=True)
class Misses:
    """Of the runs that people decided on, those where they had to add what the detectors had missed: by month of the
    run (``2026-11``), the newest first, and all of a year up to the end of each week, by its Monday."""

    by_month: list[Share]
    to_week: list[Share]


def misses_of(*, collection: Collection) -> Misses:
    """Two queries, however long the year."""
    of_runs = {"run__collection": collection, "run__created_at__gt": Now() - WINDOW}
    decided = _runs_by_day(Review.objects.filter(**of_runs))
    added = _runs_by_day(
        Candidate.objects.filter(**of_runs, added_by__isnull=False, reviews__role__in=_EVIDENCE)
    )
    months = sorted({f"{day:%Y-%m}" for day in decided}, reverse=True)
    weeks = days_between(week_of(min(decided)), max(decided), step=7) if decided else []

    def shared(name: str, holds: Callable[[date], bool]) -> Share:
        part, whole = (sum(n for day, n in runs.items() if holds(day)) for runs in (added, decided))
        return share(name, part=part, whole=whole)

    return Misses(
        by_month=[shared(month, lambda day, month=month: f"{day:%Y-%m}" == month) for month in months],
        to_week=[
            shared(week.isoformat(), lambda day, end=week + timedelta(days=7): day < end) for week in weeks
        ],
    )


def _runs_by_day(rows: QuerySet[Any]) -> dict[date, int]:
    return dict(
        rows.annotate(day=TruncDate("run__created_at"))
        .order_by()
        .values_list("day")
        .annotate(Count("run", distinct=True))
    )


def lost_unseen(*, collection: Collection) -> LostUnseen:
    """How many questions would have lost all their evidence, had nobody looked at what was discarded. A question asked
    again is one question. Lines that no detector found are counted under what was missed, and cards that wait for
    somebody's blind decision not yet. One query."""
    rows = list(
        Review.objects.filter(
            run__collection=collection,
            role__in=_EVIDENCE,
            machine_role__isnull=False,
            superseded_by__isnull=True,
            created_at__gt=Now() - WINDOW,
        )
        .exclude(of_undecided_card())
        .order_by()
        .values("run__question__normalised", "run__question__document_id")
        .annotate(kept=Count("pk", filter=~Q(machine_role=RoleChoice.DISCARDED)))
    )
    losses = [float(row["kept"] == 0) for row in rows]
    bound = controlled_risk(losses, [str(number) for number in range(len(losses))])
    found = share(_("questions with evidence"), part=int(sum(losses)), whole=len(losses))
    return LostUnseen(found, bound if len(losses) >= fewest_groups(SHIPPED_LOSS) else None)


def promise_in_words(bar: CollectionBar) -> str:
    """What an admin of the collection promised, at how many cards a question."""
    cards = next(way["cards"] for way in bar.proposal.ways if way["bar"] == bar.bar)
    figures = {
        "share": number_format(f"{100 * bar.proposal.promised:g}"),
        "cards": number_format(f"{cards:.1f}"),
        "n": bar.proposal.groups,
    }
    if bar.decides == BarDecides.DISCARD:
        return (
            _(
                "An admin of this collection promised that at most %(share)s %% of its questions lose "
                "their evidence unseen, at %(cards)s cards a question, based on %(n)d decided questions."
            )
            % figures
        )
    return (
        _(
            "An admin of this collection promised that at most %(share)s %% of the passages accepted "
            "unseen are wrong, at %(cards)s cards a question, based on %(n)d decided questions."
        )
        % figures
    )


def trust_page(*, user: User, query: QueryDict) -> dict[str, Any]:
    """The figures of the collection that the address names, else of the first that the person may ask about."""
    chosen, filters = collection_choice(
        user=user, permissions=TRUST_READERS, query=query, url=reverse("ops:trust")
    )
    context: dict[str, Any] = {"collection": chosen, "filters": filters}
    if chosen is None:
        return context
    trust = trust_of(collection=chosen)
    conduct = trust.conduct
    return context | {
        "conduct": conduct,
        "ways": [found for found in (conduct.seen, conduct.blind, conduct.second) if found.figure.n],
        "time_plot": _plot(
            _("Decisions that say what the machine said, by time on the card"), conduct.by_time
        ),
        "misses": [replace(row, name=month_in_words(row.name)) for row in trust.misses.by_month],
        "misses_chart": _misses_chart(trust.misses.to_week) if trust.misses.to_week else None,
        "elusion": trust.elusion,
        "models": trust.models,
        "lost": trust.lost,
        "promises": [promise_in_words(bar) for bar in trust.promises],
        "may_see_risk": Permission.AUDIT in permissions_in(user, chosen),
        "shipped_share": round(100 * SHIPPED_LOSS),
        "shipped_cards": SHIPPED_CARDS,
    }


def _plot(title: str, shares: Sequence[Share]) -> BarPlot | None:
    figures = [(row.name, row.figure.value or 0.0, row.figure.low, row.figure.high) for row in shares]
    return bar_plot(title=title, figures=figures, top=1.0, is_share=True) if figures else None


def _misses_chart(weeks: Sequence[Share]) -> Chart:
    """The estimate of each week's end, from all that was decided up to it."""
    return chart(
        title=_("Missed evidence, estimated week by week"),
        x_label=_("Up to the week of"),
        y_label=_("% of decided runs"),
        labels=[day_in_words(date.fromisoformat(row.name)) for row in weeks],
        series=[
            over(
                _("Runs with evidence missed"),
                [100 * (row.figure.value or 0.0) for row in weeks],
                band=[(100 * (row.figure.low or 0.0), 100 * (row.figure.high or 0.0)) for row in weeks],
            )
        ],
        unit=" %",
    )
