"""How the work of a collection goes: the queue day by day, and each reviewer's decisions week by week."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from django.db.models import Count, F, Q
from django.db.models.functions import TruncDate, TruncWeek
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from workbench.documents.collection_choice import collection_choice
from workbench.infra.dates import day_in_words, days_between, week_of
from workbench.infra.plots import Chart, chart, over
from workbench.review.blindness import of_undecided_card
from workbench.review.models import ItemState, QueueItem, Review, ReviewAction, SecondReview

from .selectors import TRUST_READERS
from .trust import Share, share

if TYPE_CHECKING:
    from workbench.accounts.models import User
    from workbench.documents.models import Collection

#: How far back the page looks: whole weeks, so that none is shown cut.
WEEKS = 8
#: As many people as a chart tells apart; the others are added up.
_MOST_PEOPLE = 4


@dataclass(frozen=True, slots=True)
class QueueDay:
    """What came into the queue on a day and must be decided, what of it was decided, and what waited at its end."""

    day: date
    entered: int
    decided: int
    waiting: int


@dataclass(frozen=True, slots=True)
class ReviewerWeek:
    """One reviewer's decisions of a week (by its Monday), and of those on a verdict with a role, how many said what the
    machine had said."""

    reviewer: str
    week: date
    decided: int
    agreed: int
    compared: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The last :data:`WEEKS` weeks of a collection. ``second`` are second reviews that agree, by who gave them."""

    queue: list[QueueDay]
    reviewers: list[ReviewerWeek]
    second: list[Share]


def progress_of(*, collection: Collection) -> Progress:
    """Five queries. Decisions count once their card is settled, so that no figure tells a role that is still hidden."""
    today = timezone.now().date()
    first = week_of(today) - timedelta(weeks=WEEKS - 1)
    return Progress(
        queue=queue_days(collection=collection, first=first, last=today),
        reviewers=reviewer_weeks(collection=collection, first=first),
        second=_second_reviews(collection, first),
    )


def queue_days(*, collection: Collection, first: date, last: date) -> list[QueueDay]:
    """Every day from the first to the last, reckoned back from what waits now. Three queries."""
    items = QueueItem.objects.filter(collection=collection, is_required=True).order_by()
    items = items.exclude(state=ItemState.WITHDRAWN)
    closed = items.filter(state=ItemState.DECIDED)
    entered = _by_day(items.filter(created_at__date__gte=first), "created_at")
    decided = _by_day(closed.filter(decided_at__date__gte=first), "decided_at")
    waiting = items.filter(state=ItemState.WAITING).count()
    days: list[QueueDay] = []
    for day in reversed(days_between(first, last)):
        days.append(QueueDay(day, entered.get(day, 0), decided.get(day, 0), waiting))
        waiting += decided.get(day, 0) - entered.get(day, 0)
    return days[::-1]


def _by_day(items: Any, moment: str) -> dict[date, int]:
    return dict(items.annotate(day=TruncDate(moment)).values_list("day").annotate(Count("pk")))


def reviewer_weeks(*, collection: Collection, first: date) -> list[ReviewerWeek]:
    """By week and name. One query."""
    compared = Q(machine_role__isnull=False, action__in=[ReviewAction.APPROVE, ReviewAction.OVERRIDE])
    rows = (
        Review.objects.filter(run__collection=collection, created_at__date__gte=first)
        .exclude(action=ReviewAction.UNDO)
        .exclude(superseded_by__action=ReviewAction.UNDO)
        .exclude(of_undecided_card())
        .annotate(week=TruncWeek("created_at"))
        .order_by("week", "reviewer__name", "reviewer")
        .values("week", "reviewer", "reviewer__name")
        .annotate(
            decided=Count("pk"),
            compared=Count("pk", filter=compared),
            agreed=Count("pk", filter=compared & Q(role=F("machine_role"))),
        )
    )
    return [
        ReviewerWeek(
            row["reviewer__name"], row["week"].date(), row["decided"], row["agreed"], row["compared"]
        )
        for row in rows
    ]


def _second_reviews(collection: Collection, first: date) -> list[Share]:
    rows = (
        SecondReview.objects.filter(run__collection=collection, created_at__date__gte=first)
        .exclude(of_undecided_card())
        .order_by("reviewer__name", "reviewer")
        .values("reviewer", "reviewer__name")
        .annotate(whole=Count("pk"), part=Count("pk", filter=Q(agrees=True)))
    )
    return [share(row["reviewer__name"], part=row["part"], whole=row["whole"]) for row in rows]


# --- the page ---------------------------------------------------------------------------------------


def progress_page(*, user: User, query: QueryDict) -> dict[str, Any]:
    """The charts of the collection that the address names, else of the first that the person may ask about."""
    chosen, filters = collection_choice(
        user=user, permissions=TRUST_READERS, query=query, url=reverse("ops:progress")
    )
    context: dict[str, Any] = {"collection": chosen, "filters": filters}
    if chosen is None:
        return context
    progress = progress_of(collection=chosen)
    days = list(dropwhile(lambda day: not (day.entered or day.decided or day.waiting), progress.queue))
    began = min((row.week for row in progress.reviewers), default=progress.queue[-1].day)
    weeks = days_between(began, progress.queue[-1].day, step=7)
    return context | {
        "burn_down": _burn_down(days) if days else None,
        "throughput": _throughput(progress.reviewers, weeks) if progress.reviewers else None,
        "agreement": _agreement(progress.reviewers, weeks) if progress.reviewers else None,
        "second": progress.second,
    }


def _burn_down(days: list[QueueDay]) -> Chart:
    return chart(
        title=_("Queue, day by day"),
        x_label=_("Day"),
        y_label=_("Verdicts that must be decided"),
        labels=[day_in_words(day.day) for day in days],
        series=[
            over(_("Waiting at the end of the day"), [day.waiting for day in days]),
            over(_("Entered"), [day.entered for day in days]),
            over(_("Decided"), [day.decided for day in days]),
        ],
        digits=0,
    )


def _throughput(rows: list[ReviewerWeek], weeks: list[date]) -> Chart:
    return chart(
        title=_("Decisions by reviewer and week"),
        x_label=_("Week of"),
        y_label=_("Decisions"),
        labels=[day_in_words(week) for week in weeks],
        series=[
            over(name, [sum(row.decided for row in _of(mine, week)) for week in weeks], "bars")
            for name, mine in _people(rows).items()
        ],
        digits=0,
    )


def _agreement(rows: list[ReviewerWeek], weeks: list[date]) -> Chart:
    def shown(mine: Iterable[ReviewerWeek]) -> float | None:
        found = list(mine)
        compared = sum(row.compared for row in found)
        return 100 * sum(row.agreed for row in found) / compared if compared else None

    return chart(
        title=_("Agreement with the machine by reviewer and week"),
        x_label=_("Week of"),
        y_label=_("% of decisions"),
        labels=[day_in_words(week) for week in weeks],
        series=[
            over(name, [shown(_of(mine, week)) for week in weeks]) for name, mine in _people(rows).items()
        ],
        unit=" %",
        digits=0,
        top=100.0,
    )


def _of(rows: Iterable[ReviewerWeek], week: date) -> list[ReviewerWeek]:
    return [row for row in rows if row.week == week]


def _people(rows: list[ReviewerWeek]) -> dict[str, list[ReviewerWeek]]:
    """Everybody's weeks, those who decided most first; the rest together."""
    mine: dict[str, list[ReviewerWeek]] = defaultdict(list)
    for row in rows:
        mine[row.reviewer].append(row)
    names = sorted(mine, key=lambda name: (-sum(row.decided for row in mine[name]), name))
    shown = {name: mine[name] for name in names[:_MOST_PEOPLE]}
    if others := [row for name in names[_MOST_PEOPLE:] for row in mine[name]]:
        shown[_("Others")] = others
    return shown
