"""What is hidden from whom, and what follows from it. That no address tells it: ``authorisation/test_blindness.py``."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.urls import reverse

from arbitration.contracts import Role
from arbitration.settings import EngineSettings
from tests.workbench.authorisation.hidden import Given, World
from tests.workbench.cast import Cast
from tests.workbench.scene import make_document, make_run
from training.draw import blind_chance
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.documents.models import Document
from workbench.errors import Conflict
from workbench.labeling.models import Label
from workbench.labeling.selectors import labels_read
from workbench.operations.trust import conduct_of
from workbench.review.blindness import (
    DecideFirst,
    comments_shown,
    hidden_items,
    hides,
    is_withheld,
    of_hidden_card,
    of_withheld_run,
    require_sight,
    require_sight_of_collection,
    reviews_shown,
)
from workbench.review.enqueue import BLIND_PRIORITY, queue_fill
from workbench.review.evidence import evidence_add
from workbench.review.filters import QueueFilter, queue_filtered
from workbench.review.models import ItemStage, ItemState, QueueItem, Review, ReviewPolicy
from workbench.review.policy import policy_set
from workbench.review.second import second_review_add
from workbench.review.services import candidate_approve, candidate_choose, candidate_undo, candidate_unsure
from workbench.runs import execution
from workbench.runs.models import Run, RunStatus, Verdict

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("here")]

QUESTION = "How long are access records kept?"


@pytest.fixture
def document(cast: Cast) -> Document:
    return make_document(collection=cast.alpha, owner=cast.analyst)


def shares(cast: Cast, *, blind: float = 1, second: float = 0) -> None:
    policy_set(actor=cast.admin, collection=cast.alpha, blind_share=blind, second_share=second)


def test_a_reviewers_collections_are_read_once(cast: Cast, django_assert_num_queries: Any) -> None:
    for rule in (of_hidden_card, of_withheld_run, reviews_shown, comments_shown):
        with django_assert_num_queries(1):
            rule(user=cast.second_reviewer)


def asked(cast: Cast, document: Document, **options: Any) -> Run:
    return make_run(asker=cast.analyst, document=document, text=QUESTION, use_cache=False, **options)


def items(run: Run) -> list[QueueItem]:
    return list(QueueItem.objects.filter(run=run, candidate__isnull=False).order_by("pk"))


class TestDraw:
    def test_a_passage_falls_the_same_way_in_every_run_of_the_question(
        self, cast: Cast, document: Document
    ) -> None:
        for share in (0.2, 0.5, 0.8):
            shares(cast, blind=share, second=share)
            first, again = asked(cast, document), asked(cast, document)
            assert first.pk != again.pk
            drawn = [
                {item.candidate.candidate_id: (item.is_blind, item.needs_second) for item in items(run)}
                for run in (first, again)
            ]
            assert drawn[0] == drawn[1]

    def test_the_chance_is_on_record_and_stays_that_of_the_first_run(
        self, cast: Cast, document: Document
    ) -> None:
        """Another estimate of the same passage neither opens what is hidden nor hides what was open."""
        shares(cast, blind=0.3)
        ReviewPolicy.objects.update(changed_at=Now() - timedelta(hours=1))
        run = asked(cast, document)
        first = {item.candidate.candidate_id: item.blind_chance for item in items(run)}
        assert len(first) > 2
        for item in items(run):
            probability = item.candidate.verdict.probability
            assert first[item.candidate.candidate_id] == pytest.approx(
                blind_chance(0.3, probability, EngineSettings().rules_accept)
            )
        again = asked(cast, document)
        QueueItem.objects.filter(run=again).delete()
        Verdict.objects.filter(candidate__run=again).update(probability=EngineSettings().rules_accept)
        queue_fill(run=again, candidates=list(again.candidates.select_related("verdict", "run")))
        assert {item.candidate.candidate_id: item.blind_chance for item in items(again)} == first
        shares(cast, blind=0.5)  # from now on
        assert {item.blind_chance for item in items(asked(cast, document))}.isdisjoint(first.values())

    def test_blind_cards_are_alike(self, cast: Cast, document: Document, monkeypatch: Any) -> None:
        """Required, with one priority, their keys in the order of the document, whatever the machine said."""
        world = World("mixed", machine=(Role.DISCARDED, Role.PRIMARY, Role.TANGENTIAL), first=())
        monkeypatch.setattr(execution, "get_strategy", lambda name: Given(name, world))
        shares(cast)
        found = items(asked(cast, document))
        assert len(found) > 2
        assert {(item.is_required, item.priority, item.is_blind) for item in found} == {
            (True, BLIND_PRIORITY, True)
        }
        lines = [item.candidate.anchor_line_start for item in found]
        assert lines == sorted(lines)
        assert [item.candidate_id for item in found] == sorted(item.candidate_id for item in found)


class TestWhom:
    def test_reviewers_alone_and_whatever_their_token_covers(
        self, cast: Cast, document: Document, client: Any
    ) -> None:
        shares(cast)
        run = asked(cast, document)
        item = items(run)[0]
        assert hides(item=item, run=run, user=cast.reviewer)
        assert is_withheld(user=cast.reviewer, run=run)
        for person in (cast.analyst, cast.auditor, cast.admin, cast.outsider):
            assert not hides(item=item, run=run, user=person)
            assert not is_withheld(user=person, run=run)
        _row, key = token_create(actor=cast.reviewer, name="looks", scopes=[Permission.VIEW], days=1)
        address = f"/api/v1/candidates/{item.candidate_id}/"
        told = client.get(address, headers={"Authorization": f"Bearer {key}"}).json()
        assert (told["is_hidden"], told["verdict"], told["effective_role"]) == (True, None, None)
        record = client.get(f"/api/v1/runs/{run.pk}/record/", headers={"Authorization": f"Bearer {key}"})
        assert record.json()["code"] == "decide_first"

    def test_a_run_under_way_keeps_the_files_of_its_collection_until_it_ends(
        self, cast: Cast, document: Document
    ) -> None:
        run = asked(cast, document)
        shares(cast)
        Run.objects.filter(pk=run.pk).update(status=RunStatus.ANSWERING)
        require_sight_of_collection(user=cast.analyst, collection=cast.alpha)
        with pytest.raises(DecideFirst) as refused:
            require_sight_of_collection(user=cast.reviewer, collection=cast.alpha)
        assert refused.value.run == run.pk

    def test_a_run_that_did_not_finish_tells_reviewers_nothing(
        self, cast: Cast, document: Document, client_as: Any
    ) -> None:
        run = asked(cast, document)
        Run.objects.filter(pk=run.pk).update(status=RunStatus.FAILED, failure_reason="It broke.")
        run.refresh_from_db()
        assert not is_withheld(user=cast.reviewer, run=run)
        shares(cast)
        assert is_withheld(user=cast.reviewer, run=run)
        assert not is_withheld(user=cast.analyst, run=run)
        require_sight(user=cast.analyst, runs=[run])
        require_sight_of_collection(user=cast.analyst, collection=cast.alpha)
        for asked_of in ([run], Run.objects.filter(pk=run.pk)):
            with pytest.raises(DecideFirst) as refused:
                require_sight(user=cast.reviewer, runs=asked_of)
            assert refused.value.run == run.pk
        require_sight_of_collection(user=cast.reviewer, collection=cast.alpha)  # one failure closes no files
        candidate = run.candidates.first()
        for path in (f"runs/{run.pk}/record", f"runs/{run.pk}/answer", f"candidates/{candidate.pk}/receipt"):
            told = client_as(cast.reviewer).get(f"/api/v1/{path}/")
            assert (told.status_code, told.json()["code"]) == (409, "decide_first"), path
            assert client_as(cast.analyst).get(f"/api/v1/{path}/").status_code == 200, path
        listed = client_as(cast.reviewer).get("/api/v1/runs/").json()["results"]
        assert [(row["is_withheld"], row["not_found"]) for row in listed] == [(True, None)]

    def test_a_run_on_its_way_is_withheld_and_says_so(self, cast: Cast, document: Document) -> None:
        run = asked(cast, document)
        Run.objects.filter(pk=run.pk).update(status=RunStatus.ARBITRATED)
        run.refresh_from_db()
        shares(cast)
        with pytest.raises(DecideFirst, match="is not finished yet"):
            require_sight(user=cast.reviewer, runs=[run])

    def test_who_took_a_decision_back_has_seen_it(self, cast: Cast, document: Document) -> None:
        """A second blind decision would count as one without being one."""
        shares(cast)
        item = items(asked(cast, document))[0]
        candidate_choose(actor=cast.reviewer, candidate=item.candidate, role="tangential")
        candidate_undo(actor=cast.reviewer, candidate=item.candidate)
        item.refresh_from_db()
        assert item.state == ItemState.WAITING
        assert not hides(item=item, run=item.run, user=cast.reviewer)
        assert hides(item=item, run=item.run, user=cast.second_reviewer)
        assert not candidate_approve(actor=cast.reviewer, candidate=item.candidate).blind

    @pytest.mark.parametrize("leave", [candidate_undo, candidate_unsure])
    def test_what_each_of_them_saw_is_kept(self, cast: Cast, document: Document, leave: Any) -> None:
        """Also after "cannot tell", and for more than one person."""
        shares(cast)
        item = items(asked(cast, document))[0]
        for person in (cast.reviewer, cast.second_reviewer):
            assert hides(item=item, run=item.run, user=person)
            assert candidate_choose(actor=person, candidate=item.candidate, role="tangential").blind
            leave(actor=person, candidate=item.candidate)
            item.refresh_from_db()
            assert (item.state, item.stage) == (ItemState.WAITING, ItemStage.FIRST)
        for person in (cast.reviewer, cast.second_reviewer):
            assert not hides(item=item, run=item.run, user=person)
            assert not hidden_items(user=person).filter(pk=item.pk).exists()
            with pytest.raises(Conflict) as refused:
                candidate_choose(actor=person, candidate=item.candidate, role="primary")
            assert refused.value.code == "not_blind"
        decided = candidate_approve(actor=cast.reviewer, candidate=item.candidate)
        assert (decided.blind, Label.objects.get(review=decided).blind) == (False, False)

    def test_who_cannot_tell_at_first_has_seen_nothing(self, cast: Cast, document: Document) -> None:
        shares(cast)
        item = items(asked(cast, document))[0]
        candidate_unsure(actor=cast.reviewer, candidate=item.candidate)
        assert hides(item=item, run=item.run, user=cast.reviewer)
        assert candidate_choose(actor=cast.reviewer, candidate=item.candidate, role="primary").blind

    def test_a_second_review_by_who_decided_before_is_not_blind(self, cast: Cast, document: Document) -> None:
        shares(cast, second=1)
        item, other = items(asked(cast, document))[:2]
        candidate_choose(actor=cast.second_reviewer, candidate=item.candidate, role="primary")
        candidate_undo(actor=cast.second_reviewer, candidate=item.candidate)
        blind = {}
        for row in (item, other):
            candidate_choose(actor=cast.reviewer, candidate=row.candidate, role="primary")
            row.refresh_from_db()
            assert hides(item=row, run=row.run, user=cast.second_reviewer), "the first reviewer's role"
            second_review_add(actor=cast.second_reviewer, candidate=row.candidate, role="primary")
            labels = Label.objects.filter(candidate=row.candidate, person=cast.second_reviewer)
            blind[row.pk] = labels.latest("pk").blind
        assert blind == {item.pk: False, other.pk: True}


class TestQueue:
    def test_filters_that_know_the_machine_leave_hidden_cards_out(
        self, cast: Cast, document: Document
    ) -> None:
        shares(cast)
        run = asked(cast, document)
        for query in (
            *({"role": role} for role in Role),
            *({"why": why} for why in (*Role, "uncertain", "needs_person", "random", "disagreement")),
            {"decided_by": "rule"},
            {"detector": items(run)[0].candidate.methods[0]},
        ):
            filters = QueueFilter.of({"show": "all", **query})
            assert not queue_filtered(user=cast.reviewer, filters=filters).exists(), query
        assert queue_filtered(user=cast.reviewer, filters=QueueFilter.of({"why": "blind"})).count() == len(
            items(run)
        )

    def test_the_not_found_waits_for_the_cards(
        self, cast: Cast, document: Document, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nothing = World("nothing", machine=(Role.DISCARDED,), first=())
        monkeypatch.setattr(execution, "get_strategy", lambda name: Given(name, nothing))
        shares(cast, second=1)
        run = asked(cast, document)
        assert run.not_found
        *others, last = items(run)
        of_run = QueueItem.objects.filter(run=run, candidate__isnull=True)
        for item in (*others, last):
            assert not of_run.exists()
            candidate_choose(actor=cast.reviewer, candidate=item.candidate, role="discarded")
            assert not of_run.exists()
            second_review_add(actor=cast.second_reviewer, candidate=item.candidate, role="discarded")
        assert of_run.get().is_required

    def test_a_second_review_comes_in_no_order_of_roles(self, cast: Cast, document: Document) -> None:
        shares(cast, blind=0, second=1)
        for item in items(asked(cast, document)):
            if item.candidate.verdict.role:
                candidate_approve(actor=cast.reviewer, candidate=item.candidate)
        seconds = QueueItem.objects.filter(stage=ItemStage.SECOND)
        assert set(seconds.values_list("priority", "is_required")) == {(BLIND_PRIORITY, True)}


def test_figures_count_a_card_once_it_is_settled(cast: Cast, document: Document) -> None:
    shares(cast, second=1)
    candidate = items(asked(cast, document))[0].candidate
    candidate_choose(actor=cast.reviewer, candidate=candidate, role="primary")
    assert conduct_of(collection=cast.alpha).blind.figure.n == 0
    assert not labels_read()[0].winners
    second_review_add(actor=cast.second_reviewer, candidate=candidate, role="primary")
    assert conduct_of(collection=cast.alpha).blind.figure.n == 1
    assert labels_read()[0].winners


def test_what_is_withheld_comes_back(cast: Cast, document: Document, client_as: Any) -> None:
    shares(cast, second=1)
    run = asked(cast, document)
    for item in items(run):
        candidate_choose(actor=cast.reviewer, candidate=item.candidate, role="primary", comment="Mine.")
    second = client_as(cast.second_reviewer)
    assert second.get(f"/api/v1/reviews/?run={run.pk}").json()["results"] == []
    shown = second.get(f"/api/v1/runs/{run.pk}/").json()
    assert (shown["is_withheld"], shown["confidence"], shown["not_found"]) == (True, None, None)
    with pytest.raises(DecideFirst):
        require_sight(user=cast.second_reviewer, runs=[run])
    for item in items(run):
        second_review_add(actor=cast.second_reviewer, candidate=item.candidate, role="primary")
    shown = second.get(f"/api/v1/runs/{run.pk}/").json()
    assert (shown["is_withheld"], shown["not_found"]) == (False, run.not_found)
    told = second.get(f"/api/v1/reviews/?run={run.pk}").json()["results"]
    assert len(told) == Review.objects.filter(run=run).count() > 0
    assert {row["comment"] for row in told} == {"Mine."}


def test_evidence_is_added_once_nothing_is_hidden(
    cast: Cast, document: Document, client_as: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines added to a run that found nothing refute that it did, which tells every card's role."""
    nothing = World("nothing", machine=(Role.DISCARDED,), first=())
    monkeypatch.setattr(execution, "get_strategy", lambda name: Given(name, nothing))
    shares(cast)
    run = asked(cast, document)
    lines = {"document": document, "first": (1, 2), "last": (1, 2), "role": "primary", "reason": "Mine."}
    with pytest.raises(DecideFirst):
        evidence_add(actor=cast.reviewer, run=run, **lines)
    assert not Review.objects.exists()
    client = client_as(cast.reviewer)
    card = reverse("questions:evidence", args=[items(run)[0].candidate_id])
    pages = [reverse("review:documents", args=[run.pk]), reverse("review:lines", args=[run.pk, document.pk])]
    assert "data-add" not in client.get(card).text
    assert client.get(pages[1]).url == run.get_absolute_url()
    for item in items(run):
        candidate_choose(actor=cast.reviewer, candidate=item.candidate, role="discarded")
    assert "data-add" in client.get(card).text
    assert client.get(pages[0], follow=True).status_code == client.get(pages[1]).status_code == 200
    assert evidence_add(actor=cast.reviewer, run=run, **lines).added_by == cast.reviewer
