"""The queue by question: groups, their pages and their progress; a whole question taken and given back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import grow
from tests.workbench.scene import make_document, make_run
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, NotAllowed
from workbench.review import groups
from workbench.review.filters import QueueFilter, queue_filtered
from workbench.review.groups import Progress, groups_page, next_run, progress_of
from workbench.review.models import ItemState, QueueItem, QueueOrder
from workbench.review.queue import (
    queue_claim,
    queue_claim_next,
    queue_claim_run,
    queue_release_run,
    queue_undo,
)
from workbench.review.services import candidate_approve, candidate_unsure
from workbench.runs.models import Run

pytestmark = pytest.mark.usefixtures("here")

EVERYTHING = QueueFilter(show="all")


@pytest.fixture
def runs(cast: Cast) -> list[Run]:
    """Three questions whose cards are mixed in every order."""
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    texts = ("How long are access records kept?", "Who keeps the records?", "When are records deleted?")
    made = [make_run(asker=cast.analyst, document=document, text=text) for text in texts]
    for run in made:
        grow(run, to=7)
    QueueItem.objects.update(state=ItemState.WAITING, is_required=True)
    for number, item in enumerate(QueueItem.objects.order_by("pk")):
        QueueItem.objects.filter(pk=item.pk).update(priority=0.1 + (number * 7 % 20) / 25)
    return made


def walk(cast: Cast, filters: QueueFilter, *, most_groups: int = 1) -> list[list[groups.Group]]:
    """All pages, as a reader turns them."""
    items, pages, place = queue_filtered(user=cast.reviewer, filters=filters), [], None
    while True:
        found, place = groups_page(
            items, order=filters.order, after=place, most_groups=most_groups, most_cards=25, shown=6
        )
        pages.append(found)
        if place is None:
            return pages


@pytest.mark.parametrize("order", QueueOrder.values)
@pytest.mark.parametrize("scanned", [1, 4, 400])
def test_pages_hold_whole_questions_each_once_in_the_order_of_their_first_cards(
    cast: Cast, runs: list[Run], order: str, scanned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "SCANNED", scanned)
    filters = QueueFilter(show="all", order=order)
    ordered = list(queue_filtered(user=cast.reviewer, filters=filters).values_list("pk", "run_id"))
    wanted = {run: tuple(key for key, of in ordered if of == run) for _key, run in ordered}

    for most in (1, 2, 3):
        pages = walk(cast, filters, most_groups=most)
        assert [len(page) for page in pages] == {1: [1, 1, 1], 2: [2, 1], 3: [3]}[most]
        assert {group.run_id: group.keys for page in pages for group in page} == wanted
        assert [group.run_id for page in pages for group in page] == list(wanted)


def test_a_page_ends_before_it_has_too_many_cards_but_never_within_a_question(
    cast: Cast, runs: list[Run]
) -> None:
    items = queue_filtered(user=cast.reviewer, filters=EVERYTHING)
    found, place = groups_page(items, order="risk", after=None, most_groups=10, most_cards=5, shown=6)
    assert [len(group.keys) for group in found] == [7]
    assert place is not None


def test_nothing_is_lost_between_two_pages_where_cards_are_decided_meanwhile(
    cast: Cast, runs: list[Run]
) -> None:
    items = queue_filtered(user=cast.reviewer, filters=EVERYTHING)
    options = {"order": "risk", "most_groups": 1, "most_cards": 25, "shown": 6}
    (first,), place = groups_page(items, after=None, **options)
    assert place is not None
    (second,), _place = groups_page(items, after=place, **options)
    for key in second.keys[:1]:
        QueueItem.objects.filter(pk=key).update(state=ItemState.DECIDED)
    later = []
    while place is not None:
        (group,), place = groups_page(items, after=place, **options)
        later.append(group.run_id)
    assert sorted(later) == sorted({run.pk for run in runs} - {first.run_id})


def test_progress_counts_what_must_be_decided(cast: Cast, runs: list[Run]) -> None:
    keys = list(QueueItem.objects.filter(run=runs[0]).values_list("pk", flat=True))
    QueueItem.objects.filter(pk__in=keys[:2]).update(state=ItemState.DECIDED)
    QueueItem.objects.filter(pk=keys[2]).update(is_required=False)
    QueueItem.objects.filter(pk=keys[3]).update(state=ItemState.WITHDRAWN)
    assert progress_of([runs[0].pk])[runs[0].pk] == Progress(decided=2, required=5)


class TestMovingOn:
    def test_cards_of_the_question_first_then_the_next_question(self, cast: Cast, runs: list[Run]) -> None:
        order = [group.run_id for (group,) in walk(cast, EVERYTHING)]
        item = queue_claim_next(actor=cast.reviewer)
        met: list[int] = []
        while item is not None:
            met.append(item.run_id)
            assert item.candidate is not None
            candidate_unsure(actor=cast.reviewer, candidate=item.candidate)
            item = queue_claim_next(actor=cast.reviewer, run_id=item.run_id)
        assert met == [run for run in order for _ in range(7)]

    def test_what_need_not_be_decided_does_not_hold_a_question_up(self, cast: Cast, runs: list[Run]) -> None:
        first, second, *_ = [group.run_id for (group,) in walk(cast, EVERYTHING)]
        QueueItem.objects.filter(run=first).update(is_required=False)
        item = queue_claim_next(
            actor=cast.reviewer, filters=QueueFilter(run=str(second)), beyond=EVERYTHING, run_id=first
        )
        assert item is not None
        assert item.run_id == first, "the most urgent of all"
        QueueItem.objects.filter(pk=item.pk).update(claimed_by=None, claimed_until=None)
        QueueItem.objects.filter(run=first).update(priority=0.01)
        item = queue_claim_next(actor=cast.reviewer, filters=QueueFilter(), beyond=EVERYTHING, run_id=first)
        assert item is not None
        assert item.run_id != first

    def test_passing_over_goes_through_the_question_and_on_to_the_next(
        self, cast: Cast, runs: list[Run]
    ) -> None:
        order = [group.run_id for (group,) in walk(cast, EVERYTHING)]
        item = queue_claim_next(actor=cast.reviewer)
        met = []
        for _ in range(21):
            assert item is not None
            met.append(item.pk)
            item = queue_claim_next(actor=cast.reviewer, past=item.pk)
        ordered = QueueItem.objects.in_bulk(met)
        assert [ordered[key].run_id for key in met] == [run for run in order for _ in range(7)]
        assert len(set(met)) == 21
        assert item is not None
        assert item.pk == met[0], "after the last one the first again"

    def test_the_question_after_the_last_is_the_first(self, cast: Cast, runs: list[Run]) -> None:
        order = [group.run_id for (group,) in walk(cast, EVERYTHING)]
        items = queue_filtered(user=cast.reviewer, filters=EVERYTHING)
        following = [next_run(items, order="risk", run_id=run) for run in order]
        assert following == [*order[1:], order[0]]


class TestWholeQuestion:
    def test_all_free_cards_and_none_of_others(self, cast: Cast, runs: list[Run]) -> None:
        run = runs[0]
        held, handed, *_ = QueueItem.objects.filter(run=run).order_by("pk")
        queue_claim(actor=cast.second_reviewer, item=held)
        QueueItem.objects.filter(pk=handed.pk).update(assigned_to=cast.second_reviewer)

        taken = queue_claim_run(actor=cast.reviewer, run=run)

        mine = set(QueueItem.objects.filter(claimed_by=cast.reviewer, claimed_until__gt=Now()))
        assert len(taken) == 5
        assert mine == set(taken)
        assert not mine & {held, handed}
        assert {item.run_id for item in mine} == {run.pk}
        event = AuditEvent.objects.get(action="queue.claimed", object_type="run")
        assert sorted(event.after["items"]) == sorted(item.pk for item in taken)
        assert queue_release_run(actor=cast.second_reviewer, run=run) == 1, "their own only"
        assert queue_release_run(actor=cast.reviewer, run=run) == 5
        assert not QueueItem.objects.filter(claimed_by=cast.reviewer).exists()

    def test_what_is_kept_stays_kept_while_one_works_on_the_question(
        self, cast: Cast, runs: list[Run]
    ) -> None:
        first, *others = queue_claim_run(actor=cast.reviewer, run=runs[0])
        soon = Now() + timedelta(seconds=30)
        QueueItem.objects.filter(claimed_by=cast.reviewer).update(claimed_until=soon)
        assert first.candidate is not None
        candidate_approve(actor=cast.reviewer, candidate=first.candidate)

        following = queue_claim_next(actor=cast.reviewer, run_id=runs[0].pk)

        assert following == others[0]
        late = QueueItem.objects.filter(
            claimed_by=cast.reviewer, claimed_until__gt=Now() + timedelta(minutes=4)
        )
        assert late.count() == 6
        assert list(late.filter(claimed_at__isnull=False)) == [following], "only an open card counts seconds"

    def test_nothing_free_and_nobody_elses_collection(self, cast: Cast, runs: list[Run]) -> None:
        queue_claim_run(actor=cast.second_reviewer, run=runs[0])
        with pytest.raises(Conflict, match="No card of this question"):
            queue_claim_run(actor=cast.reviewer, run=runs[0])
        for actor in (cast.analyst, cast.auditor, cast.outsider):
            with pytest.raises(NotAllowed):
                queue_claim_run(actor=actor, run=runs[0])


def test_what_is_undone_is_the_persons_card_again(cast: Cast, runs: list[Run]) -> None:
    item = queue_claim_next(actor=cast.reviewer)
    assert item is not None
    assert item.candidate is not None
    candidate_approve(actor=cast.reviewer, candidate=item.candidate)
    following = queue_claim_next(actor=cast.reviewer, run_id=item.run_id)
    back = queue_undo(actor=cast.reviewer, candidate=item.candidate)
    assert back == item
    held = set(QueueItem.objects.filter(claimed_by=cast.reviewer, state=ItemState.WAITING))
    assert held == {item, following}
