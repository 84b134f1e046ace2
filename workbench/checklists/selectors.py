"""What the pages of question sets read."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now
from django.shortcuts import get_object_or_404

from workbench.accounts.permissions import Permission
from workbench.documents.models import Document
from workbench.documents.restrictions import open_to
from workbench.review.blindness import of_withheld_run
from workbench.review.models import ItemState, QueueItem, Review, ReviewAction
from workbench.runs.models import ENDED, Candidate, ReviewState, RoleChoice, RunStatus
from workbench.runs.restrictions import runs_open_to

from .models import Cell, Entry, QuestionSet, Round

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: A round with unasked cells whose message should have arrived long ago.
LOST_AFTER = timedelta(seconds=20)


def question_set_for(*, user: User, pk: int, permission: Permission = Permission.VIEW) -> QuestionSet:
    """The set, if the user may do this with it; else 404."""
    sets = QuestionSet.objects.visible_to(user, permission).select_related("collection", "created_by")
    return get_object_or_404(sets, pk=pk)


def round_for(*, user: User, pk: int, permission: Permission = Permission.VIEW) -> Round:
    """The round, if the user may do this with it; else 404."""
    rounds = Round.objects.visible_to(user, permission).select_related(
        "question_set__collection", "requested_by"
    )
    return get_object_or_404(rounds, pk=pk)


def cell_for(*, user: User, pk: int, permission: Permission = Permission.ASK) -> Cell:
    """The cell, if the user may do this with its round; else 404."""
    cells = Cell.objects.filter(*_open_to(user), round__in=Round.objects.visible_to(user, permission))
    return get_object_or_404(cells.select_related("round__question_set__collection"), pk=pk)


def question_sets_visible(*, user: User) -> QuerySet[QuestionSet]:
    """The user's sets with the number of their questions and rounds."""
    return (
        QuestionSet.objects.visible_to(user)
        .select_related("collection")
        .annotate(
            question_count=Count("entries", filter=Q(entries__is_current=True), distinct=True),
            round_count=Count("rounds", distinct=True),
        )
    )


def rounds_unfilled() -> list[int]:
    """Rounds with cells that nobody has asked for a while."""
    unasked = Cell.objects.filter(run__isnull=True, failure="", round__created_at__lt=Now() - LOST_AFTER)
    return list(unasked.values_list("round_id", flat=True).distinct()[:50])


def cells_open() -> QuerySet[Cell]:
    """Cells without an outcome: neither asked nor refused, or with a run on its way."""
    unasked = Q(run__isnull=True, failure="")
    return Cell.objects.filter(unasked | Q(run__isnull=False) & ~Q(run__status__in=ENDED))


def rounds_to_finish() -> list[int]:
    """Rounds that are not known to be finished and have no open cell."""
    open_cells = cells_open().filter(round=OuterRef("pk"))
    rounds = Round.objects.filter(~Exists(open_cells), finished_at__isnull=True)
    return list(rounds.order_by("pk").values_list("pk", flat=True)[:50])


# --- the grid ---------------------------------------------------------------------------------------

#: States of a cell in the order they are counted; the last two are ends.
CELL_STATES = ("waiting", "running", "failed", "disputed", "to_review", "decided", "signed")


@dataclass(frozen=True, slots=True)
class GridCell:
    """One place of the grid. ``found`` None while nothing is known, to anybody or to who looks."""

    pk: int
    state: str
    run_id: int | None
    found: bool | None
    open_items: int
    is_overdue: bool
    failure: str


@dataclass(slots=True)
class GridRow:
    """A document with its cells in the order of the questions."""

    document: Document
    cells: list[GridCell | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Grid:
    """Documents x questions of a round."""

    entries: list[Entry]
    rows: list[GridRow]
    counts: dict[str, int]
    overdue: int

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """Cells that need nobody any more."""
        return self.counts["decided"] + self.counts["signed"]


def grid(*, round_: Round, today: dt.date, viewer: User) -> Grid:
    """The round's grid as a person may see it: three queries however large it is."""
    cells = list(_cells(round_, viewer))
    entries = list({cell.entry_id: cell.entry for cell in cells}.values())
    entries.sort(key=lambda entry: (entry.ordinal, entry.pk))
    place = {entry.pk: index for index, entry in enumerate(entries)}
    rows: dict[int, GridRow] = {}
    counts: Counter[str] = Counter(dict.fromkeys(CELL_STATES, 0))
    late = round_.due_on is not None and round_.due_on < today
    overdue = 0
    for cell in cells:
        row = rows.setdefault(cell.document_id, GridRow(cell.document, [None] * len(entries)))
        placed = _grid_cell(cell, late=late)
        row.cells[place[cell.entry_id]] = placed
        counts[placed.state] += 1
        overdue += placed.is_overdue
    ordered = sorted(rows.values(), key=lambda row: (row.document.name.lower(), row.document.pk))
    return Grid(entries=entries, rows=ordered, counts=dict(counts), overdue=overdue)


#: So many rounds of a set are listed and charted.
MOST_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class RoundCoverage:
    """How far a round is: its cells by state."""

    round: Round
    counts: dict[str, int]


def coverage(*, rounds: Iterable[Round]) -> list[RoundCoverage]:
    """Of each of the rounds, in their order. States tell no roles, so everybody sees the same. One query."""
    known = {row.pk: RoundCoverage(row, dict.fromkeys(CELL_STATES, 0)) for row in rounds}
    for cell in _with_states(Cell.objects.filter(round__in=known).select_related("run")):
        known[cell.round_id].counts[_state(cell)] += 1
    return list(known.values())


def _cells(round_: Round, viewer: User) -> list[Cell]:
    """Cells with their run and what people did with it, counted in the database."""
    return list(
        _with_states(
            round_.cells.filter(*_open_to(viewer)).select_related("entry", "document", "run")
        ).annotate(
            survives=Exists(_effective().filter(effective__in=_SURVIVING)),
            is_undecided=Exists(_effective().filter(effective__isnull=True)),
            is_withheld=of_withheld_run(user=viewer),
        )
    )


def _open_to(user: User) -> tuple[Q, Q]:
    """The filters that keep cells of documents, and with runs, that the person may see."""
    return open_to(user, "document"), runs_open_to(user, "run")


def _with_states(cells: QuerySet[Cell]) -> QuerySet[Cell]:
    """Cells with what :func:`_state` asks."""
    open_items = (
        QueueItem.objects.filter(run=OuterRef("run"), state=ItemState.WAITING, is_required=True)
        .order_by()
        .values("run")
        .annotate(n=Count("pk"))
        .values("n")
    )
    disputed = (
        Review.objects.filter(run=OuterRef("run"), supersedes__isnull=False)
        .exclude(reviewer=F("supersedes__reviewer"))
        .exclude(supersedes__action=ReviewAction.UNSURE)  # left to others, not said otherwise
    )
    refuted = Review.objects.filter(
        run=OuterRef("run"), action=ReviewAction.REFUTE_NOT_FOUND, superseded_by__isnull=True
    )
    return cells.annotate(open_items=open_items, is_disputed=Exists(disputed), is_refuted=Exists(refuted))


_SURVIVING = (RoleChoice.PRIMARY, RoleChoice.SUPPORTING, RoleChoice.TANGENTIAL)


def _effective() -> QuerySet[Candidate]:
    """Candidates of a cell's run with their effective role: the person's, else the machine's."""
    word = Review.objects.filter(
        candidate=OuterRef("pk"), superseded_by__isnull=True, role__isnull=False
    ).values("role")[:1]
    return Candidate.objects.filter(run=OuterRef("run")).annotate(
        effective=Coalesce(Subquery(word), F("verdict__role"))
    )


def _found(cell: Cell) -> bool | None:
    """As :func:`workbench.review.results.run_result` has it; None while nothing is known."""
    run = cell.run
    if run is None or run.not_found is None or run.status != RunStatus.DONE:
        return None
    if getattr(cell, "is_withheld", False):
        return None
    if getattr(cell, "survives", False):
        return True
    return not run.not_found and bool(getattr(cell, "is_undecided", False))


def _grid_cell(cell: Cell, *, late: bool) -> GridCell:
    state = _state(cell)
    run = cell.run
    return GridCell(
        pk=cell.pk,
        state=state,
        run_id=cell.run_id,
        found=_found(cell),
        open_items=getattr(cell, "open_items", 0) or 0,
        is_overdue=late and state not in {"decided", "signed"},
        failure=cell.failure or (run.failure_reason if run else ""),
    )


def _state(cell: Cell) -> str:
    run = cell.run
    if cell.failure or (run is not None and run.status in (RunStatus.FAILED, RunStatus.CANCELLED)):
        return "failed"
    if run is None or run.status == RunStatus.QUEUED:
        return "waiting"
    if run.status != RunStatus.DONE:
        return "running"
    if run.review_state == ReviewState.SIGNED:
        return "signed"
    if getattr(cell, "is_disputed", False) or getattr(cell, "is_refuted", False):
        return "disputed"
    return "to_review" if getattr(cell, "open_items", 0) else "decided"
