"""What a person must not see yet: while a card waits for their blind decision, the machine's role, and a first
reviewer's, is on no page and in no file that this person can open.

Cards mask themselves (``cards.is_hidden_from``). What cannot be masked card by card, since the role stands in words
or stands behind a hash, waits until the person has decided: :func:`require_sight`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import ngettext

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, member_condition
from workbench.errors import Conflict
from workbench.questions.models import ReviewState, Run, RunStatus

from .models import ItemStage, ItemState, QueueItem

HIDDEN = Q(stage=ItemStage.SECOND) | Q(stage=ItemStage.FIRST, is_blind=True)


class DecideFirst(Conflict):
    """The person has blind decisions to make on these runs. ``run`` is one of them."""

    code = "decide_first"

    def __init__(self, message: str, *, run: int) -> None:
        super().__init__(message)
        self.run = run


def runs_decided_blind(*, user: User, runs: Iterable[Run]) -> list[int]:
    """For each card of these runs that the person may decide and must not see the verdict of before, the key of its
    run. One query."""
    if user.is_system:
        return []
    waiting = QueueItem.objects.filter(
        HIDDEN,
        member_condition(user, Permission.REVIEW, prefix="collection"),
        run__in=runs if isinstance(runs, QuerySet) else list(runs),
        run__status=RunStatus.DONE,
        state=ItemState.WAITING,
    )
    items = waiting.exclude(run__review_state=ReviewState.SIGNED).exclude(first_reviewer=user)
    return list(items.values_list("run_id", flat=True))


def require_sight(*, user: User, runs: Iterable[Run]) -> None:
    """Raises :class:`DecideFirst` when the person must decide blind on one of the runs."""
    keys = runs_decided_blind(user=user, runs=runs)
    if keys:
        raise DecideFirst(blind_words(len(keys)), run=keys[0])


def blind_words(count: int) -> str:
    """Why something is not shown yet."""
    return ngettext(
        "%(n)d card of this run waits for your blind decision. This is shown once you have decided.",
        "%(n)d cards of this run wait for your blind decision. This is shown once you have decided.",
        count,
    ) % {"n": count}


def after_blind_decisions(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A page that meets :class:`DecideFirst` leads to the run, where the cards are, and says so."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except DecideFirst as error:
            messages.warning(request, error.message)
            return redirect("questions:run", pk=error.run)

    return guarded
