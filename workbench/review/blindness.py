"""Decides what is hidden from a person, for pages, API, exports, receipts, lists and counts.

A card is hidden while it waits for this person's decision without sight of the machine's role, or of a first
reviewer's. "This person" is a member who reviews in the collection. A token with fewer rights than its owner changes
nothing, because it is the person who must not know. A card masks itself (:func:`hides`). Statements about a whole run
that would reveal the role of a card wait until none of them is hidden: :func:`is_withheld` omits them,
:func:`require_sight` refuses. A run that has not finished may hold verdicts without cards: it is hidden as a whole
where cards are decided blind (:func:`unfinished_runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Protocol

from django.contrib import messages
from django.db.models import CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, ngettext

from workbench.accounts.permissions import Permission, collections_of_member
from workbench.errors import Conflict
from workbench.runs.models import UNENDED, Candidate, ReviewState, Run, RunStatus, Verdict
from workbench.synonyms.models import DictionaryEntry

from .models import (
    Comment,
    ItemStage,
    ItemState,
    QueueItem,
    Review,
    ReviewAction,
    ReviewPolicy,
    SecondReview,
)

if TYPE_CHECKING:
    from workbench.accounts.models import User
    from workbench.documents.models import Collection

#: Stages at which a waiting card hides its role from whoever may decide it. As :func:`waits_blind` has it.
BLIND_STAGE = Q(stage=ItemStage.SECOND) | Q(stage=ItemStage.FIRST, is_blind=True)


class Place(Protocol):
    """The relevant columns of a queue item, as a row or as plain values."""

    @property
    def candidate_id(self) -> int | None: ...
    @property
    def state(self) -> str: ...
    @property
    def stage(self) -> str: ...
    @property
    def is_blind(self) -> bool: ...
    @property
    def first_reviewer_id(self) -> int | None: ...


class DecideFirst(Conflict):
    """The person must make blind decisions on these runs first. ``run`` is one of them."""

    code = "decide_first"

    def __init__(self, message: str, *, run: int) -> None:
        super().__init__(message)
        self.run = run


# --- one card ---------------------------------------------------------------------------------------


class Sight:
    """What a person may see, for all cards of a page or response. Their roles are read once."""

    def __init__(self, user: User) -> None:
        self._user = user
        self._reviewed = frozenset(collections_of_member(user=user, permission=Permission.REVIEW) or ())
        self._blind_collections: dict[int, bool] = {}

    def hides(self, *, item: Place | None, run: Run) -> bool:
        """Whether the person must decide before seeing the machine's or a first reviewer's role of the candidate with
        this queue item. Queries the database only for unfinished runs."""
        if run.collection_id not in self._reviewed:
            return False
        if run.status != RunStatus.DONE:
            return self._will_be_blind(run.collection_id)
        if run.review_state == ReviewState.SIGNED or item is None:
            return False
        return waits_blind(item) and not self._has_seen(item)

    def _has_seen(self, item: Place) -> bool:
        """Whether the person's own decision has shown them what the waiting item hides."""
        if item.first_reviewer_id == self._user.pk:
            return True
        # A second review hides the role of another first reviewer too.
        return item.stage == ItemStage.FIRST and item.candidate_id in self._decided

    @cached_property
    def _decided(self) -> frozenset[int | None]:
        """The candidates that wait for a first decision again and that the person has decided before."""
        items = QueueItem.objects.filter(_has_decided(self._user), state=ItemState.WAITING, is_blind=True)
        return frozenset(
            items.filter(stage=ItemStage.FIRST).order_by().values_list("candidate_id", flat=True)
        )

    def _will_be_blind(self, collection_id: int) -> bool:
        """Whether the candidate will be decided blind. Verdicts exist before the queue is filled, and remain if a run
        fails: asked again, the same passages are decided blind."""
        if collection_id not in self._blind_collections:
            policy = ReviewPolicy.objects.filter(collection=collection_id).first() or ReviewPolicy()
            self._blind_collections[collection_id] = policy.blind_share > 0
        return self._blind_collections[collection_id]


def hides(*, item: Place | None, run: Run, user: User) -> bool:
    """:meth:`Sight.hides` for one card."""
    return Sight(user).hides(item=item, run=run)


def _decisions(user: User) -> tuple[QuerySet[Review], QuerySet[SecondReview]]:
    """What the person has decided, even if they took it back or said later that they cannot tell: each decision showed
    them the role."""
    own = Review.objects.filter(reviewer=user).exclude(action=ReviewAction.UNSURE)
    return own, SecondReview.objects.filter(reviewer=user)


def _has_decided(user: User) -> Q:
    """The condition that the person has decided the candidate of a queue item, and so has seen its role."""
    own, seconds = _decisions(user)
    here = OuterRef("candidate")
    return Q(Exists(own.filter(candidate=here))) | Q(Exists(seconds.filter(candidate=here)))


def has_decided(*, user: User, candidate: Candidate, besides: SecondReview | None = None) -> bool:
    """Whether the person has decided this candidate before: their next decision is not a blind one. ``besides`` is the
    second review that they give now."""
    own, seconds = _decisions(user)
    if besides is not None:
        seconds = seconds.exclude(pk=besides.pk)
    return own.filter(candidate=candidate).exists() or seconds.filter(candidate=candidate).exists()


def waits_blind(item: Place | None) -> bool:
    """Whether the item waits for a blind decision, whoever looks at it. Same as :data:`BLIND_STAGE`."""
    if item is None or item.state != ItemState.WAITING:
        return False
    return item.stage == ItemStage.SECOND or (item.is_blind and item.stage == ItemStage.FIRST)


# --- many -------------------------------------------------------------------------------------------


def _reviewed(user: User) -> list[int]:
    """Keys of the collections that the person reviews. None for the system, which reads everything. A query for who
    comes with a token: every function here asks once."""
    return collections_of_member(user=user, permission=Permission.REVIEW) or []


def hidden_items(*, user: User) -> QuerySet[QueueItem]:
    """The items of finished runs whose cards :class:`Sight` hides from the person."""
    return _hidden_items(user, _reviewed(user))


def _hidden_items(user: User, reviewed: list[int]) -> QuerySet[QueueItem]:
    if not reviewed:
        return QueueItem.objects.none()
    return (
        QueueItem.objects.filter(
            BLIND_STAGE, collection__in=reviewed, run__status=RunStatus.DONE, state=ItemState.WAITING
        )
        .exclude(run__review_state=ReviewState.SIGNED)
        .exclude(first_reviewer=user)
        .exclude(_has_decided(user), stage=ItemStage.FIRST)
        .order_by()
    )


def unfinished_runs(*, user: User) -> QuerySet[Run]:
    """The runs that have not finished and that :class:`Sight` hides from the person, whether or not they have verdicts
    yet."""
    return _unfinished_runs(_reviewed(user))


def _unfinished_runs(reviewed: list[int]) -> QuerySet[Run]:
    if not reviewed:
        return Run.objects.none()
    policies = ReviewPolicy.objects.filter(collection=OuterRef("collection"))
    runs = Run.objects.filter(collection__in=reviewed).exclude(status=RunStatus.DONE).order_by()
    if ReviewPolicy().blind_share > 0:  # what a collection without a policy has
        return runs.exclude(Exists(policies.filter(blind_share__lte=0)))
    return runs.filter(Exists(policies.filter(blind_share__gt=0)))


def runs_withheld(*, user: User) -> QuerySet[Run]:
    """The runs whose result is hidden from the person, as :func:`is_withheld` has it for one."""
    return _runs_withheld(user, _reviewed(user))


def _runs_withheld(user: User, reviewed: list[int]) -> QuerySet[Run]:
    if not reviewed:
        return Run.objects.none()
    has_hidden_card = Exists(_hidden_items(user, reviewed).filter(run=OuterRef("pk")))
    is_unfinished = Exists(_unfinished_runs(reviewed).filter(pk=OuterRef("pk")))
    return Run.objects.filter(has_hidden_card | is_unfinished).order_by()


def of_hidden_card(*, user: User, candidate: str = "candidate") -> Exists:
    """The condition that a row's candidate is hidden. ``candidate`` is the row's path to it."""
    return _of_hidden_card(user, _reviewed(user), candidate)


def _of_hidden_card(user: User, reviewed: list[int], candidate: str = "candidate") -> Exists:
    found = Candidate.objects.filter(pk=OuterRef(candidate)).order_by()
    if not reviewed:
        return Exists(found.none())
    is_hidden = Exists(_hidden_items(user, reviewed).filter(candidate=OuterRef("pk")))
    is_unfinished = Exists(_unfinished_runs(reviewed).filter(pk=OuterRef("run")))
    return Exists(found.filter(is_hidden | is_unfinished))


def of_undecided_card(*, candidate: str = "candidate") -> Exists:
    """The condition that a row's candidate waits for a blind decision, whoever asks. Figures of a collection include a
    card only once it is settled, so that they never reveal its role earlier."""
    return Exists(
        QueueItem.objects.filter(
            BLIND_STAGE, state=ItemState.WAITING, candidate=OuterRef(candidate)
        ).order_by()
    )


def of_withheld_run(*, user: User, run: str = "run") -> Exists:
    """The condition that the result of the row's run is hidden. ``run`` is the row's path to it."""
    return Exists(runs_withheld(user=user).filter(pk=OuterRef(run)))


def reviews_shown(*, user: User) -> QuerySet[Review]:
    """Leaves out decisions on hidden cards, and other people's decisions on the not-found result of a withheld run."""
    reviewed = _reviewed(user)
    is_withheld_run = Exists(_runs_withheld(user, reviewed).filter(pk=OuterRef("run")))
    others_word = Q(is_withheld_run, candidate__isnull=True) & ~Q(reviewer=user)
    return Review.objects.exclude(_of_hidden_card(user, reviewed)).exclude(others_word)


def comments_shown(*, user: User) -> QuerySet[Comment]:
    """Leaves out other people's comments on hidden cards."""
    return Comment.objects.exclude(Q(of_hidden_card(user=user)) & ~Q(author=user))


def events_hidden(user: User) -> Q:
    """The condition for audit events that would reveal a hidden role to the person: events of hidden cards, of withheld
    runs, and of pairs learned from a hidden card, which name the decision."""
    items = hidden_items(user=user)
    cards = items.annotate(key=Cast("candidate_id", CharField())).filter(key=OuterRef("object_id"))
    runs = items.annotate(key=Cast("run_id", CharField())).filter(key=OuterRef("object_id"))
    learned = DictionaryEntry.objects.filter(proposed_from__candidate__in=items.values("candidate"))
    pairs = learned.order_by().annotate(key=Cast("pk", CharField())).filter(key=OuterRef("object_id"))
    return (
        Q(Exists(cards), object_type="candidate")
        | Q(Exists(runs), object_type="run")
        | Q(Exists(pairs), object_type="dictionaryentry")
    )


def withheld_runs(*, user: User, runs: Iterable[Run] | QuerySet[Run]) -> dict[int, int]:
    """The runs with hidden cards among these finished runs: {key: number of hidden cards}. One query."""
    chosen = runs if isinstance(runs, QuerySet) else list(runs)
    counts: dict[int, int] = {}
    for key in hidden_items(user=user).filter(run__in=chosen).values_list("run_id", flat=True):
        counts[key] = counts.get(key, 0) + 1
    return counts


def is_withheld(*, user: User, run: Run) -> bool:
    """Whether the result of the run is hidden from the person: its answer, its counts, and the order of its
    candidates."""
    if run.status != RunStatus.DONE:
        return hides(item=None, run=run, user=user)
    return hidden_items(user=user).filter(run=run).exists()


def require_sight(*, user: User, runs: Iterable[Run] | QuerySet[Run]) -> None:
    """Raises :class:`DecideFirst` if the result of one of the runs is hidden from the person."""
    chosen, sight = list(runs), Sight(user)
    for run in chosen:
        if run.status != RunStatus.DONE and sight.hides(item=None, run=run):
            raise DecideFirst(unfinished_words(run), run=run.pk)
    counts = withheld_runs(user=user, runs=chosen)
    if counts:
        raise DecideFirst(blind_words(sum(counts.values())), run=next(iter(counts)))


def require_sight_of_collection(*, user: User, collection: Collection) -> None:
    """Like :func:`require_sight`, for a file of a whole collection. Runs without verdicts tell nothing, and one that
    failed or was stopped does not close the files of its collection for ever."""
    items = hidden_items(user=user).filter(collection=collection)
    if (run := items.values_list("run_id", flat=True).first()) is not None:
        raise DecideFirst(blind_words_of_collection(items.count()), run=run)
    runs = unfinished_runs(user=user).filter(collection=collection, status__in=UNENDED)
    judged = runs.filter(Exists(Verdict.objects.filter(candidate__run=OuterRef("pk"))))
    if (run := judged.values_list("pk", flat=True).first()) is not None:
        raise DecideFirst(unfinished_words_of_collection(), run=run)


# --- words ------------------------------------------------------------------------------------------


def blind_words(count: int) -> str:
    """Explains why something is not shown yet."""
    return ngettext(
        "%(n)d card of this run waits for your blind decision. This is shown once you have decided.",
        "%(n)d cards of this run wait for your blind decision. This is shown once you have decided.",
        count,
    ) % {"n": count}


def blind_words_of_collection(count: int) -> str:
    """Like :func:`blind_words`, for a file about a whole collection."""
    return ngettext(
        "%(n)d card of this collection waits for your blind decision. You get this file once you have decided.",
        "%(n)d cards of this collection wait for your blind decision. You get this file once you have decided.",
        count,
    ) % {"n": count}


def withheld_words(*, user: User, run: Run) -> str:
    """Explains why the result of the run is hidden from the person; empty if it is not."""
    if run.status != RunStatus.DONE:
        return unfinished_words(run) if is_withheld(user=user, run=run) else ""
    counts = withheld_runs(user=user, runs=[run])
    return blind_words(counts[run.pk]) if counts else ""


def unfinished_words(run: Run) -> str:
    """Like :func:`withheld_words`, for a run whose cards have not entered the queue, or never will."""
    if run.is_ended:
        return gettext("This run did not finish. Its verdicts are hidden from reviewers who decide blind.")
    return gettext("This run is not finished yet. Its verdicts are hidden from reviewers who decide blind.")


def unfinished_words_of_collection() -> str:
    """Like :func:`unfinished_words`, for a file about a whole collection."""
    return gettext(
        "A run of this collection is under way, and reviewers decide blind on its cards. Ask for this file again "
        "when it has finished."
    )


def after_blind_decisions(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Redirects a page that raises :class:`DecideFirst` to the run with the cards, with a message."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except DecideFirst as error:
            messages.warning(request, error.message)
            return redirect("questions:run", pk=error.run)

    return guarded
