"""What the pages of question sets show."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_in
from workbench.infra.crumbs import crumbs
from workbench.infra.dates import day_in_words
from workbench.infra.plots import Chart, chart, over

from .forms import QuestionsForm, RoundForm
from .models import QuestionSet, Round
from .selectors import CELL_STATES, MOST_ROUNDS, Grid, GridCell, GridRow, RoundCoverage, coverage

STATE_LABELS = {
    "waiting": gettext_lazy("waiting"),
    "running": gettext_lazy("running"),
    "failed": gettext_lazy("failed"),
    "disputed": gettext_lazy("disputed"),
    "to_review": gettext_lazy("to review"),
    "decided": gettext_lazy("decided"),
    "signed": gettext_lazy("signed"),
}

#: From what is settled to what is not asked yet, as the chart stacks them.
_COVERAGE = (
    (gettext_lazy("Settled"), ("signed", "decided")),
    (gettext_lazy("To review"), ("to_review",)),
    (gettext_lazy("Disputed"), ("disputed",)),
    (gettext_lazy("Failed"), ("failed",)),
    (gettext_lazy("Not answered yet"), ("waiting", "running")),
)


def set_page(*, question_set: QuestionSet, user: User, round_form: RoundForm | None = None) -> dict[str, Any]:
    """A set: its questions, the form that changes them, its rounds, the form that starts one."""
    entries = list(question_set.entries.filter(is_current=True))
    rounds = list(question_set.rounds.select_related("requested_by")[:MOST_ROUNDS])
    may_ask = Permission.ASK in permissions_in(user, question_set.collection)
    questions = "\n".join(entry.text for entry in entries)
    return {
        "set": question_set,
        "collection": question_set.collection,
        "entries": entries,
        "rounds": rounds,
        "coverage": _coverage_chart(coverage(rounds=reversed(rounds))) if rounds else None,
        "may_ask": may_ask,
        "questions_form": QuestionsForm(initial={"questions": questions}) if may_ask else None,
        "round_form": (round_form or RoundForm(question_set=question_set, user=user)) if may_ask else None,
        "crumbs": crumbs((_("Question sets"), reverse("question_sets:sets")), here=question_set.name),
    }


def _coverage_chart(rounds: list[RoundCoverage]) -> Chart:
    """How much of each round is settled, the oldest first; a bar is as high as the round has questions."""
    return chart(
        title=_("Coverage by round"),
        x_label=_("Round of"),
        y_label=_("Questions asked of documents"),
        labels=[
            _("%(day)s, round %(number)d")
            % {"day": day_in_words(one.round.created_at.date()), "number": one.round.pk}
            for one in rounds
        ],
        tick_labels=[day_in_words(one.round.created_at.date()) for one in rounds],
        series=[
            over(str(label), [sum(one.counts[state] for state in states) for one in rounds], "bars")
            for label, states in _COVERAGE
        ],
        digits=0,
    )


def round_page(*, round_: Round, grid: Grid, may_ask: bool, query: QueryDict) -> dict[str, Any]:
    """The grid with its counts; ``show`` in the address keeps the rows that hold a state."""
    shown = query.get("show", "")
    rows = [row for row in grid.rows if _matches(row, shown)]
    address = round_.get_absolute_url()
    going = grid.counts["waiting"] + grid.counts["running"] > 0
    return {
        "round": round_,
        "set": round_.question_set,
        "entries": grid.entries,
        "rows": [_row(row, may_ask=may_ask) for row in rows],
        "stats": [
            {
                "value": grid.counts[state],
                "label": str(STATE_LABELS[state]),
                "url": f"{address}?show={state}",
                "warn": state in {"failed", "disputed"} and grid.counts[state] > 0,
            }
            for state in CELL_STATES
            if grid.counts[state] or state in {"to_review", "decided"}
        ]
        + (
            [{"value": grid.overdue, "label": _("overdue"), "url": f"{address}?show=overdue", "warn": True}]
            if grid.overdue
            else []
        ),
        "ended": grid.ended,
        "total": grid.total,
        "shown": shown,
        "poll_url": address if going else "",
        "crumbs": crumbs(
            (_("Question sets"), reverse("question_sets:sets")),
            round_.question_set,
            here=_("Round %(pk)d") % {"pk": round_.pk},
        ),
    }


def _matches(row: GridRow, shown: str) -> bool:
    cells = [cell for cell in row.cells if cell is not None]
    if not shown:
        return True
    if shown == "overdue":
        return any(cell.is_overdue for cell in cells)
    return any(cell.state == shown for cell in cells)


def _row(row: GridRow, *, may_ask: bool) -> dict[str, Any]:
    return {
        "document": row.document,
        "cells": [_cell(cell, may_ask=may_ask) if cell else None for cell in row.cells],
    }


def _cell(cell: GridCell, *, may_ask: bool) -> dict[str, Any]:
    found = {True: _("found"), False: _("not found"), None: ""}[cell.found]
    return {
        "state": cell.state,
        "label": str(STATE_LABELS[cell.state]),
        "found": found,
        "open_items": cell.open_items,
        "is_overdue": cell.is_overdue,
        "note": cell.failure,
        "url": reverse("questions:run", args=[cell.run_id]) if cell.run_id else "",
        "retry_url": reverse("question_sets:retry", args=[cell.pk])
        if may_ask and cell.state == "failed"
        else "",
    }
