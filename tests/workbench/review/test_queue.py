"""The queue: who gets which item, in which order, and why it is there."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from tests.workbench.cast import Cast
from tests.workbench.review.signed import signed
from tests.workbench.scene import make_document, make_run
from workbench.accounts.models import MemberRole, Membership, User
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, NotAllowed
from workbench.review import enqueue
from workbench.review.bulk import bulk_finish
from workbench.review.enqueue import queue_fill, uncertainty
from workbench.review.filters import QueueFilter
from workbench.review.models import BulkApproval, BulkState, QueueItem
from workbench.review.queue import queue_claim, queue_claim_back, queue_claim_next, queue_release
from workbench.review.selectors import queue_free
from workbench.review.services import candidate_unsure
from workbench.runs.models import Candidate, RoleChoice, Run, Verdict

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def run(cast: Cast) -> Run:
    return make_run(asker=cast.analyst, document=make_document(collection=cast.alpha, owner=cast.analyst))


class TestClaiming:
    def test_the_most_urgent_first_and_ones_own_again(self, cast: Cast, run: Run) -> None:
        urgent = QueueItem.objects.order_by("priority").first()
        assert urgent is not None
        QueueItem.objects.filter(pk=urgent.pk).update(priority=1.0)

        first = queue_claim_next(actor=cast.reviewer)
        again = queue_claim_next(actor=cast.reviewer)
        other = queue_claim_next(actor=cast.second_reviewer)

        assert first is not None
        assert again is not None
        assert other is not None
        assert first.pk == again.pk == urgent.pk
        assert other.pk != urgent.pk
        assert AuditEvent.objects.filter(action="queue.claimed").count() == 2

    def test_what_one_passes_over_is_free_again_and_the_next_in_the_order_comes(
        self, cast: Cast, run: Run
    ) -> None:
        order = list(QueueItem.objects.order_by("-urgency", "pk"))
        first = queue_claim_next(actor=cast.reviewer)
        assert first is not None
        met = [first.pk]
        for _ in order[1:]:
            item = queue_claim_next(actor=cast.reviewer, past=met[-1])
            assert item is not None
            met.append(item.pk)

        assert met == [item.pk for item in order]
        assert QueueItem.objects.filter(claimed_by=cast.reviewer).get().pk == met[-1]
        assert AuditEvent.objects.filter(action="queue.released").count() == len(order) - 1
        around = queue_claim_next(actor=cast.reviewer, past=met[-1])
        assert around is not None
        assert around.pk == order[0].pk

    def test_nobody_passes_over_what_another_holds(self, cast: Cast, run: Run) -> None:
        theirs = queue_claim_next(actor=cast.second_reviewer)
        assert theirs is not None
        queue_claim_next(actor=cast.reviewer, past=theirs.pk)
        assert QueueItem.objects.get(pk=theirs.pk).claimed_by == cast.second_reviewer

    def test_one_goes_back_to_what_one_passed_over(self, cast: Cast, run: Run) -> None:
        first = queue_claim_next(actor=cast.reviewer)
        assert first is not None
        second = queue_claim_next(actor=cast.reviewer, past=first.pk)
        assert second is not None
        queue_claim_back(actor=cast.reviewer, item=first, left=second.pk)
        assert QueueItem.objects.get(claimed_by=cast.reviewer).pk == first.pk

        again = queue_claim_next(actor=cast.reviewer, past=first.pk)
        assert again is not None
        theirs = queue_claim_next(actor=cast.second_reviewer)
        assert theirs is not None
        with pytest.raises(Conflict, match="has taken the card that you skipped"):
            queue_claim_back(actor=cast.reviewer, item=theirs, left=again.pk)
        assert QueueItem.objects.get(claimed_by=cast.reviewer).pk == again.pk

        QueueItem.objects.filter(pk=theirs.pk).update(claimed_until=Now() - timedelta(seconds=1))
        assert queue_claim_back(actor=cast.reviewer, item=theirs, left=again.pk).claimed_by == cast.reviewer

    def test_nobody_goes_back_to_what_is_decided_or_theirs_to_leave_alone(self, cast: Cast, run: Run) -> None:
        item = QueueItem.objects.first()
        assert item is not None
        with pytest.raises(NotAllowed):
            queue_claim_back(actor=cast.analyst, item=item, left=None)
        held = queue_claim_next(actor=cast.second_reviewer)
        assert held is not None
        other = QueueItem.objects.exclude(pk=held.pk).first()
        assert other is not None
        queue_claim_back(actor=cast.reviewer, item=other, left=held.pk)
        assert QueueItem.objects.get(pk=held.pk).claimed_by == cast.second_reviewer, "only one's own is freed"
        QueueItem.objects.filter(pk=other.pk).update(state="decided")
        for claim in (queue_claim, partial(queue_claim_back, left=None)):
            with pytest.raises(Conflict, match="decided already"):
                claim(actor=cast.reviewer, item=other)

    def test_an_expired_claim_passes_on(self, cast: Cast, run: Run) -> None:
        item = queue_claim_next(actor=cast.reviewer)
        assert item is not None
        with pytest.raises(Conflict):
            queue_claim(actor=cast.second_reviewer, item=item)
        QueueItem.objects.filter(pk=item.pk).update(claimed_until=Now() - timedelta(seconds=1))

        assert queue_claim(actor=cast.second_reviewer, item=item).claimed_by == cast.second_reviewer
        with pytest.raises(Conflict):
            queue_claim(actor=cast.reviewer, item=item)

    def test_what_a_person_cannot_tell_does_not_come_back_to_them(self, cast: Cast, run: Run) -> None:
        item = queue_claim_next(actor=cast.reviewer)
        assert item is not None
        assert item.candidate is not None
        candidate_unsure(actor=cast.reviewer, candidate=item.candidate)

        mine, theirs = queue_claim_next(actor=cast.reviewer), queue_claim_next(actor=cast.second_reviewer)

        assert mine is None or mine.pk != item.pk
        assert theirs is not None
        assert theirs.pk == item.pk

    def test_a_signed_run_leaves_the_queue(self, cast: Cast, run: Run) -> None:
        signed(run)
        QueueItem.objects.filter(is_required=False).update(state="waiting")

        assert queue_claim_next(actor=cast.reviewer) is None

    def test_only_reviewers_of_the_collection(self, cast: Cast, run: Run) -> None:
        item = QueueItem.objects.first()
        assert item is not None
        for actor in (cast.analyst, cast.auditor, cast.outsider, cast.staff):
            assert queue_claim_next(actor=actor) is None
            with pytest.raises(NotAllowed):
                queue_claim(actor=actor, item=item)
        assert queue_claim_next(actor=cast.reviewer, collection_id=cast.beta.pk) is None

    def test_the_holder_or_an_admin_gives_it_back(self, cast: Cast, run: Run) -> None:
        item = queue_claim_next(actor=cast.reviewer)
        assert item is not None
        with pytest.raises(NotAllowed):
            queue_release(actor=cast.second_reviewer, item=item)

        queue_release(actor=cast.admin, item=item)

        item.refresh_from_db()
        assert (item.claimed_by, item.claimed_until) == (None, None)


@pytest.mark.django_db(transaction=True)
def test_two_reviewers_at_once_never_get_the_same_item(cast: Cast) -> None:
    run = make_run(asker=cast.analyst, document=make_document(collection=cast.alpha, owner=cast.analyst))
    waiting = QueueItem.objects.filter(run=run).count()
    assert waiting > 1
    both = threading.Barrier(2, timeout=120)
    got: dict[str, list[int]] = {"one": [], "two": []}

    def take(name: str, actor: User) -> None:
        try:
            for _ in range(waiting):
                both.wait()
                item = queue_claim_next(actor=actor)
                if item is not None:
                    got[name].append(item.pk)
                both.wait()
                if item is not None:  # out of the way, so that the next one is asked for
                    QueueItem.objects.filter(pk=item.pk).update(
                        claimed_until=Now() + timedelta(hours=1), state="decided"
                    )
        finally:
            connection.close()

    people = [
        threading.Thread(target=take, args=("one", cast.reviewer)),
        threading.Thread(target=take, args=("two", cast.second_reviewer)),
    ]
    for person in people:
        person.start()
    for person in people:
        person.join(60)

    everything = got["one"] + got["two"]
    assert len(everything) == len(set(everything)) == waiting


@pytest.mark.parametrize("order", ["risk", "age"])
def test_the_queue_of_several_collections_is_read_in_order_from_an_index(
    cast: Cast, run: Run, order: str
) -> None:
    Membership.objects.create(user=cast.reviewer, collection=cast.beta, role=MemberRole.REVIEWER)
    free = queue_free(user=cast.reviewer)
    items = QueueFilter(show="all", order=order).apply(free, user=cast.reviewer)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off")
        cursor.execute(*_explained(items[:1]))
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert items.first() is not None
    assert "waiting_items_of_all" in plan
    assert "Sort Key" not in plan, "all that waits would be sorted for one card"


def _explained(items: QuerySet[QueueItem]) -> tuple[str, Sequence[Any]]:
    sql, values = items.query.sql_with_params()
    return f"EXPLAIN {sql}", values


class TestWhy:
    """What is in the queue, how urgently, and the codes that say why."""

    def refill(self, run: Run, **verdict: object) -> QueueItem:
        """The item of the first candidate, with this verdict."""
        candidate = run.candidates.order_by("position").first()
        assert candidate is not None
        Verdict.objects.filter(candidate=candidate).update(**verdict)
        QueueItem.objects.filter(run=run).delete()
        queue_fill(run=run, candidates=list(run.candidates.select_related("verdict", "run")))
        return QueueItem.objects.get(candidate=candidate)

    @pytest.fixture(autouse=True)
    def _nothing_by_chance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(enqueue, "RANDOM_SHARE", 0.0)

    @pytest.mark.parametrize(
        ("verdict", "codes", "is_required"),
        [
            ({"role": "primary", "probability": 0.95}, {"primary"}, True),
            ({"role": "supporting", "probability": 0.95}, {"supporting"}, True),
            ({"role": "tangential", "probability": 0.05}, {"tangential"}, False),
            ({"role": "discarded", "probability": 0.05}, {"discarded"}, False),
            ({"role": "discarded", "probability": 0.5}, {"discarded", "uncertain"}, False),
            ({"role": "discarded", "probability": None}, {"discarded", "uncertain"}, False),
            ({"role": None, "needs_person": True, "probability": 0.1}, {"undecided"}, True),
            (
                {"role": "discarded", "needs_person": True, "probability": 0.1},
                {"discarded", "needs_person"},
                True,
            ),
            (
                {"role": "discarded", "injection_suspected": True, "probability": 0.1},
                {"discarded", "injection_suspected"},
                False,
            ),
        ],
    )
    def test_codes(self, run: Run, verdict: dict[str, object], codes: set[str], is_required: bool) -> None:
        item = self.refill(run, **({"needs_person": False, "injection_suspected": False} | verdict))

        assert set(item.why) - {"disagreement"} == codes
        assert item.is_required == is_required

    def test_what_asks_for_a_person_comes_before_evidence_before_the_rest(self, run: Run) -> None:
        def priority(**verdict: object) -> float:
            return self.refill(run, **({"needs_person": False, "probability": 0.9} | verdict)).priority

        asks = priority(role="discarded", needs_person=True)
        evidence, rest = priority(role="primary"), priority(role="discarded")
        doubtful = priority(role="discarded", probability=0.5)

        assert 1 >= asks > evidence > rest >= 0
        assert doubtful > rest

    def test_a_random_share_is_raised_and_says_so(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        plain = self.refill(run)
        monkeypatch.setattr(enqueue, "RANDOM_SHARE", 1.1)
        raised = self.refill(run)

        assert "random" in raised.why
        assert "random" not in plain.why
        assert raised.priority > plain.priority

    def test_filling_again_changes_nothing(self, run: Run) -> None:
        before = list(QueueItem.objects.order_by("pk").values())
        queue_fill(run=run, candidates=list(run.candidates.select_related("verdict", "run")))

        assert list(QueueItem.objects.order_by("pk").values()) == before

    @pytest.mark.parametrize(("share", "most"), [(0.0, 2), (0.1, 4)])
    def test_filling_takes_one_statement_and_a_look_at_the_policy(
        self, share: float, most: int, run: Run, django_assert_num_queries, settings
    ) -> None:
        """Where cards are drawn, also a look at earlier draws and at what serves."""
        settings.BLIND_SHARE = share
        candidates = list(run.candidates.select_related("verdict", "run"))
        with django_assert_num_queries(most):
            queue_fill(run=run, candidates=candidates)

    def test_every_detector_found_it_is_no_disagreement(self, run: Run) -> None:
        candidate = run.candidates.select_related("run").first()
        assert candidate is not None
        candidate.methods = list(candidate.run.methods_run)
        assert enqueue.disagreement(candidate) == 0
        candidate.run.methods_run = []
        assert enqueue.disagreement(candidate) == 0


@given(st.floats(0, 1))
def test_uncertainty_is_largest_in_the_middle(probability: float) -> None:
    assert 0 <= uncertainty(probability) <= uncertainty(0.5) == uncertainty(None) == 1


def test_every_candidate_of_a_run_has_one_item(cast: Cast, run: Run) -> None:
    assert set(QueueItem.objects.values_list("candidate", flat=True)) == set(
        Candidate.objects.filter(run=run).values_list("pk", flat=True)
    )
    assert set(RoleChoice.values) >= {v.role for v in Verdict.objects.all()}


def test_a_bulk_approval_ends_with_the_right_to_review(cast: Cast, run: Run, client_as: Any) -> None:
    """It was drawn by a reviewer: who is none any more neither reads its cards nor approves them."""
    keys = list(run.queue_items.filter(state="waiting").values_list("pk", flat=True))
    bulk = BulkApproval.objects.create(actor=cast.reviewer, reason="Alike.", items=keys, checks=keys[:1])
    client, path = client_as(cast.reviewer), reverse("review:bulk-checks", args=[bulk.pk])
    assert client.get(path).status_code == 200
    Membership.objects.filter(user=cast.reviewer).update(role=MemberRole.ANALYST)
    assert (client.get(path).status_code, client.post(path).status_code) == (404, 404)
    told = client.post("/api/v1/queue/bulk/", {"bulk": bulk.pk}, content_type="application/json")
    assert told.status_code == 404
    with pytest.raises(NotAllowed):
        bulk_finish(actor=cast.reviewer, bulk=bulk)
    bulk.refresh_from_db()
    assert bulk.state == BulkState.CHECKING
    Membership.objects.filter(user=cast.reviewer).update(role=MemberRole.REVIEWER)
    assert client.get(path).status_code == 200
