"""What is hidden from a person: decided here, once, and asked by pages, API, exports, receipts, lists and counts.

A card is hidden while it waits for this person's decision without sight of the machine's role, or of a first
reviewer's. "This person" is a member who reviews in the collection. A token that covers less than its owner may do
changes nothing: it is the person who must not know.

A card masks itself (:func:`hides`). What is said of a whole run, and would tell the role of one of its cards, waits
until none of them is hidden: :func:`is_withheld` leaves it out, :func:`require_sight` refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

from django.contrib import messages
from django.db.models import CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, ngettext

from workbench.accounts.permissions import Permission, collections_of_member
from workbench.errors import Conflict
from workbench.runs.models import ReviewState, Run, RunStatus

from .models import Comment, ItemStage, ItemState, QueueItem, Review, ReviewPolicy

if TYPE_CHECKING:
    from workbench.accounts.models import User
    from workbench.documents.models import Collection

#: Stages at which a waiting card hides its role from whoever may decide it. As :func:`waits_blind` has it.
BLIND_STAGE = Q(stage=ItemStage.SECOND) | Q(stage=ItemStage.FIRST, is_blind=True)


class Place(Protocol):
    """What of a queue item decides: a row of it, or the columns alone."""

    @property
    def state(self) -> str: ...
    @property
    def stage(self) -> str: ...
    @property
    def is_blind(self) -> bool: ...
    @property
    def first_reviewer_id(self) -> int | None: ...


class DecideFirst(Conflict):
    """The person has blind decisions to make on these runs. ``run`` is one of them."""

    code = "decide_first"

    def __init__(self, message: str, *, run: int) -> None:
        super().__init__(message)
        self.run = run


# --- one card ---------------------------------------------------------------------------------------


class Sight:
    """What one person may see, for as many cards as a page or an answer holds: their roles are read once."""

    def __init__(self, user: User) -> None:
        self._user = user
        self._reviewed = frozenset(collections_of_member(user=user, permission=Permission.REVIEW) or ())
        self._blind_collections: dict[int, bool] = {}

    def hides(self, *, item: Place | None, run: Run) -> bool:
        """Whether the person must decide before they see what the machine, or a first reviewer, said of the candidate
        that has this place in the queue. Reads the database for unfinished runs only."""
        if run.collection_id not in self._reviewed:
            return False
        if run.status != RunStatus.DONE:
            return self._will_be_blind(run.collection_id)
        if run.review_state == ReviewState.SIGNED or item is None:
            return False
        return waits_blind(item) and item.first_reviewer_id != self._user.pk

    def _will_be_blind(self, collection_id: int) -> bool:
        """Verdicts are there before the queue is filled, and stay where a run fails: asked again, the same passages
        are decided blind."""
        if collection_id not in self._blind_collections:
            policy = ReviewPolicy.objects.filter(collection=collection_id).first() or ReviewPolicy()
            self._blind_collections[collection_id] = policy.blind_share > 0
        return self._blind_collections[collection_id]


def hides(*, item: Place | None, run: Run, user: User) -> bool:
    """:meth:`Sight.hides` for one card."""
    return Sight(user).hides(item=item, run=run)


def waits_blind(item: Place | None) -> bool:
    """Whether the item waits for a decision made without sight of the role, whoever looks at it. As
    :data:`BLIND_STAGE` has it."""
    if item is None or item.state != ItemState.WAITING:
        return False
    return item.stage == ItemStage.SECOND or (item.is_blind and item.stage == ItemStage.FIRST)


# --- many -------------------------------------------------------------------------------------------


def hidden_items(*, user: User) -> QuerySet[QueueItem]:
    """The items of finished runs whose cards :class:`Sight` hides from the person."""
    reviewed = collections_of_member(user=user, permission=Permission.REVIEW)
    if not reviewed:  # nobody's reviewer, or the system, which reads everything
        return QueueItem.objects.none()
    return (
        QueueItem.objects.filter(
            BLIND_STAGE, collection__in=reviewed, run__status=RunStatus.DONE, state=ItemState.WAITING
        )
        .exclude(run__review_state=ReviewState.SIGNED)
        .exclude(first_reviewer=user)
        .order_by()
    )


def of_hidden_card(*, user: User, candidate: str = "candidate") -> Exists:
    """The condition that a row's candidate is hidden; ``candidate`` is the row's path to it."""
    return Exists(hidden_items(user=user).filter(candidate=OuterRef(candidate)))


def of_undecided_card(*, candidate: str = "candidate") -> Exists:
    """The condition that a row's candidate waits for a blind decision, whoever asks: figures of a collection count what
    was said of a card once the card is settled, so that they never tell it before."""
    return Exists(
        QueueItem.objects.filter(
            BLIND_STAGE, state=ItemState.WAITING, candidate=OuterRef(candidate)
        ).order_by()
    )


def of_withheld_run(*, user: User, run: str = "run") -> Exists:
    """The condition that one of the cards of a row's run is hidden; ``run`` is the row's path to it."""
    return Exists(hidden_items(user=user).filter(run=OuterRef(run)))


def reviews_shown(*, user: User) -> QuerySet[Review]:
    """Decisions without those on hidden cards, and without another's word on the not-found of a withheld run."""
    others_word = Q(of_withheld_run(user=user), candidate__isnull=True) & ~Q(reviewer=user)
    return Review.objects.exclude(of_hidden_card(user=user)).exclude(others_word)


def comments_shown(*, user: User) -> QuerySet[Comment]:
    """Comments without what others say of hidden cards."""
    return Comment.objects.exclude(Q(of_hidden_card(user=user)) & ~Q(author=user))


def events_hidden(user: User) -> Q:
    """The condition of the trail's events that would tell the person a hidden role: those of hidden cards, and of runs
    that are withheld."""
    items = hidden_items(user=user)
    cards = items.annotate(key=Cast("candidate_id", CharField())).filter(key=OuterRef("object_id"))
    runs = items.annotate(key=Cast("run_id", CharField())).filter(key=OuterRef("object_id"))
    return Q(Exists(cards), object_type="candidate") | Q(Exists(runs), object_type="run")


def withheld_runs(*, user: User, runs: Iterable[Run] | QuerySet[Run]) -> dict[int, int]:
    """Of these finished runs, those with hidden cards: the key of each to their number. One query."""
    chosen = runs if isinstance(runs, QuerySet) else list(runs)
    counts: dict[int, int] = {}
    for key in hidden_items(user=user).filter(run__in=chosen).values_list("run_id", flat=True):
        counts[key] = counts.get(key, 0) + 1
    return counts


def is_withheld(*, user: User, run: Run) -> bool:
    """Whether what the run came to is kept from the person: its answer, its tallies, the order of its candidates."""
    if run.status != RunStatus.DONE:
        return hides(item=None, run=run, user=user)
    return hidden_items(user=user).filter(run=run).exists()


def require_sight(*, user: User, runs: Iterable[Run] | QuerySet[Run]) -> None:
    """Raises :class:`DecideFirst` when the person must decide blind on one of the runs."""
    counts = withheld_runs(user=user, runs=runs)
    if counts:
        raise DecideFirst(blind_words(sum(counts.values())), run=next(iter(counts)))


def require_sight_of_collection(*, user: User, collection: Collection) -> None:
    """The same for a file of a whole collection."""
    items = hidden_items(user=user).filter(collection=collection)
    if (run := items.values_list("run_id", flat=True).first()) is not None:
        raise DecideFirst(blind_words_of_collection(items.count()), run=run)


# --- words ------------------------------------------------------------------------------------------


def blind_words(count: int) -> str:
    """Why something is not shown yet."""
    return ngettext(
        "%(n)d card of this run waits for your blind decision. This is shown once you have decided.",
        "%(n)d cards of this run wait for your blind decision. This is shown once you have decided.",
        count,
    ) % {"n": count}


def blind_words_of_collection(count: int) -> str:
    """The same of a file that holds what a whole collection's cards are."""
    return ngettext(
        "%(n)d card of this collection waits for your blind decision. You get this file once you have decided.",
        "%(n)d cards of this collection wait for your blind decision. You get this file once you have decided.",
        count,
    ) % {"n": count}


def withheld_words(*, user: User, run: Run) -> str:
    """Why what the run came to is not shown to the person; empty where it is."""
    if run.status != RunStatus.DONE:
        return unfinished_words() if is_withheld(user=user, run=run) else ""
    counts = withheld_runs(user=user, runs=[run])
    return blind_words(counts[run.pk]) if counts else ""


def unfinished_words() -> str:
    """The same of a run that ended before its cards came into the queue."""
    return gettext("This run did not finish. Its verdicts are hidden from reviewers who decide blind.")


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
