"""The candidates of a run in outline: the position of each, without the text of its card.

A run page shows a dozen cards of a hundred candidates. The others are read as rows instead of models, because creating
models took longer than showing the cards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from workbench.accounts.models import User
from workbench.runs.models import RoleChoice, Run, demands_decision

from .blindness import Sight
from .models import ItemState, Review
from .selectors import effective_role, newest_of

#: The group of the cards whose role is hidden.
HIDDEN = "hidden"
_COLUMNS = (
    *("pk", "candidate_id", "verdict__role", "verdict__needs_person"),
    "queue_item__candidate_id",
    *("queue_item__state", "queue_item__stage", "queue_item__is_required", "queue_item__is_blind"),
    "queue_item__first_reviewer_id",
)
#: Where a candidate stands in its document.
_PLACE = (
    *("document_id", "anchor_page_start", "anchor_line_start"),
    *("anchor_page_end", "anchor_line_end"),
)


class Place(NamedTuple):
    """A candidate's queue item, with the names of ``QueueItem``."""

    candidate_id: int | None
    state: str
    stage: str
    is_required: bool
    is_blind: bool
    first_reviewer_id: int | None


@dataclass(frozen=True, slots=True)
class Outline:
    """A candidate without its text. ``role`` is the effective one, None while undecided. ``needs_person`` is the
    machine's, None without a verdict. ``is_hidden``: none of these are known to the person looking."""

    pk: int
    candidate_id: str
    machine_role: str | None
    needs_person: bool | None
    role: str | None
    item: Place | None
    is_hidden: bool = False

    @property
    def is_brief(self) -> bool:
        """Whether the run page folds the card into one line: rejected, or of low priority and certain."""
        if self.role == RoleChoice.TANGENTIAL:
            return not demands_decision(role=self.machine_role, needs_person=bool(self.needs_person))
        return self.role == RoleChoice.DISCARDED


def outlines_of(run: Run, *, viewer: User) -> list[Outline]:
    """All candidates of a run as the person can see them: hidden ones first in the order of the document, then the
    others in the order of the record. Two queries."""
    sight = Sight(viewer)
    reviews: dict[int, list[Any]] = defaultdict(list)
    decided = Review.objects.filter(run=run, candidate__isnull=False)
    for row in decided.values_list("candidate_id", "pk", "role", "action", "supersedes_id", named=True):
        reviews[row.candidate_id].append(row)
    rows = run.candidates.order_by("verdict__order", "position").values_list(*_PLACE, *_COLUMNS)
    hidden: list[tuple[Sequence[int], Outline]] = []
    shown: list[Outline] = []
    for row in rows:
        place, (pk, candidate_id, machine_role, needs_person, *queued) = (
            row[: len(_PLACE)],
            row[len(_PLACE) :],
        )
        item = Place(*queued) if queued[0] is not None else None
        if sight.hides(item=item, run=run):
            hidden.append((place, Outline(pk, candidate_id, None, None, None, item, is_hidden=True)))
            continue
        role = effective_role(machine_role=machine_role, review=newest_of(reviews[pk]))
        shown.append(Outline(pk, candidate_id, machine_role, needs_person, role, item))
    hidden.sort(key=lambda pair: pair[0])
    return [*(outline for _place, outline in hidden), *shown]


def of_role(rows: list[Outline], role: str) -> list[Outline]:
    """The candidates with an effective role; "" for those without one."""
    return by_role(rows).get(role, [])


def by_role(rows: list[Outline]) -> dict[str, list[Outline]]:
    """Hidden candidates first, then those without a role, then role by role. Empty groups are left out."""
    groups: dict[str, list[Outline]] = {role: [] for role in [HIDDEN, "", *RoleChoice.values]}
    for row in rows:
        groups[HIDDEN if row.is_hidden else row.role or ""].append(row)
    return {role: members for role, members in groups.items() if members}


def tally_of(rows: list[Outline]) -> dict[str, int]:
    """Counts the verdicts of a run that people must decide, and how many of them are open."""
    required = [row.item for row in rows if row.item is not None and row.item.is_required]
    waiting = sum(item.state == ItemState.WAITING for item in required)
    return {"required": len(required), "open": waiting, "decided": len(required) - waiting}
