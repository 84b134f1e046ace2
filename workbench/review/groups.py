"""Groups the queue by question: the cards of a run together, the runs in the order of their first card.

A page contains whole groups. Its position is that of a card in the order of the queue, wherever that card is by now:
the next page begins with the first run without an open card before it. So no group is split over two pages or left out,
and a group moves to a later page only if its first card was decided in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from .models import ItemState, QueueItem, QueueItemQuerySet

#: Places of the order that are read at once while runs are looked for.
SCANNED = 400


@dataclass(frozen=True, slots=True)
class Group:
    """The open cards of a run, in order."""

    run_id: int
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How many cards of a run must be decided, and how many are decided."""

    decided: int = 0
    required: int = 0

    @property
    def open(self) -> int:
        return self.required - self.decided


def first_cards(
    items: QueueItemQuerySet, *, order: str, after: int | None = None
) -> Iterator[tuple[int, int]]:
    """Run and first card of each group after a position. ``items`` are the queue in this order. Reads only as much as
    requested: all cards before the last group's first card belong to the earlier groups."""
    seen: set[int] = set()
    place = after
    while True:
        behind = items if place is None else items.behind(place, order)
        rows = list(behind.values_list("pk", "run_id")[:SCANNED])
        first: dict[int, int] = {}
        for key, run in rows:
            if run not in seen:
                first.setdefault(run, key)
        seen.update(first)
        before = _begun(items, runs=first, order=order, place=after) if after is not None else set()
        yield from ((run, key) for run, key in first.items() if run not in before)
        if len(rows) < SCANNED:
            return
        place = rows[-1][0]


def _begun(items: QueueItemQuerySet, *, runs: Iterable[int], order: str, place: int) -> set[int]:
    """The runs whose group is on an earlier page, because they have a card at or before the position."""
    waiting = items.filter(run__in=list(runs)).order_by()
    return set(
        waiting.exclude(pk__in=waiting.behind(place, order).values("pk")).values_list("run_id", flat=True)
    )


def groups_page(
    items: QueueItemQuerySet, *, order: str, after: int | None, most_groups: int, most_cards: int, shown: int
) -> tuple[list[Group], int | None]:
    """The groups of a page, and the position of the next one, if any. A page ends before it exceeds its number of
    groups or cards; ``shown`` cards count per group."""
    found = list(islice(first_cards(items, order=order, after=after), most_groups + 1))
    cards: dict[int, list[int]] = {run: [] for run, _key in found[:most_groups]}
    for key, run in items.filter(run__in=list(cards)).values_list("pk", "run_id"):
        cards[run].append(key)
    groups: list[Group] = []
    place, room = None, most_cards
    for run, key in found[:most_groups]:
        room -= min(shown, len(cards[run]))
        if groups and room < 0:
            break
        groups.append(Group(run, tuple(cards[run])))
        place = key
    return groups, place if len(groups) < len(found) else None


def next_run(items: QueueItemQuerySet, *, order: str, run_id: int) -> int | None:
    """The run whose group comes after that of a run; after the last, the first."""
    here = items.filter(run_id=run_id).values_list("pk", flat=True).first()
    others = items.exclude(run_id=run_id)
    behind = None if here is None else next(first_cards(items, order=order, after=here), None)
    found = behind or next(first_cards(others, order=order), None)
    return found[0] if found else None


def progress_of(runs: Iterable[int]) -> dict[int, Progress]:
    """Progress by run, without runs that require nothing. Blind cards are required whatever the machine's role, and
    stay open until the last person has decided, so the counts reveal no role."""
    required = QueueItem.objects.filter(run__in=list(runs), is_required=True)
    counted = (
        required.exclude(state=ItemState.WITHDRAWN)
        .order_by()
        .values("run_id")
        .annotate(required=Count("pk"), decided=Count("pk", filter=Q(state=ItemState.DECIDED)))
    )
    return {row["run_id"]: Progress(decided=row["decided"], required=row["required"]) for row in counted}


def progress_words(progress: Progress) -> str:
    """The progress of a question in words, for its reviewers."""
    if not progress.required:
        return _("Nothing here must be decided.")
    if not progress.open:
        return _("All that must be decided is decided.")
    return ngettext(
        "%(decided)d of %(required)d decided, then the answer is final",
        "%(decided)d of %(required)d decided, then the answer is final",
        progress.required,
    ) % {"decided": progress.decided, "required": progress.required}
