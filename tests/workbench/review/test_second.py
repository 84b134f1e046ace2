"""Blind decisions, taking back, second reviews by somebody else, and a third person between two."""

from __future__ import annotations

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.review.signed import signed
from tests.workbench.scene import make_document, make_run
from workbench.accounts.models import MemberRole, Membership, User
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.labeling.models import Label
from workbench.review import selectors
from workbench.review.candidates import candidates_of
from workbench.review.models import (
    Adjudication,
    ItemStage,
    ItemState,
    QueueItem,
    Review,
    ReviewAction,
    SecondReview,
)
from workbench.review.policy import policy_set
from workbench.review.queue import queue_claim, queue_claim_next
from workbench.review.results import candidate_role
from workbench.review.second import dispute_adjudicate, second_review_add
from workbench.review.selectors import current_review, standing_review
from workbench.review.services import (
    candidate_approve,
    candidate_choose,
    candidate_override,
    candidate_undo,
    candidate_unsure,
    not_found_confirm,
    not_found_undo,
)
from workbench.runs.models import Candidate, RoleChoice, Run

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def run(cast: Cast) -> Run:
    return make_run(asker=cast.analyst, document=make_document(collection=cast.alpha, owner=cast.analyst))


@pytest.fixture
def candidate(run: Run) -> Candidate:
    """One with a machine's role."""
    found = run.candidates.select_related("verdict", "run").filter(verdict__role__isnull=False).first()
    assert found is not None
    return found


@pytest.fixture
def third(cast: Cast) -> User:
    """A third reviewer."""
    user = User.objects.create_user("third@example.org", PASSWORD, name="Third Reviewer")
    Membership.objects.create(user=user, collection=cast.alpha, role=MemberRole.REVIEWER)
    return user


def item_of(candidate: Candidate, **changed: Any) -> QueueItem:
    """Its place in the queue, changed."""
    if changed:
        QueueItem.objects.filter(candidate=candidate).update(**changed)
    return QueueItem.objects.get(candidate=candidate)


def other_role(candidate: Candidate) -> str:
    return next(role for role in RoleChoice.values if role != candidate.verdict.role)


def effective(candidate: Candidate) -> str | None:
    (row,) = [row for row in candidates_of(candidate.run) if row.pk == candidate.pk]
    return candidate_role(row)


class TestBlind:
    def test_the_choice_is_recorded_as_blind(self, cast: Cast, candidate: Candidate) -> None:
        item_of(candidate, is_blind=True, blind_chance=0.2)
        same = candidate_choose(actor=cast.reviewer, candidate=candidate, role=candidate.verdict.role)
        assert (same.action, same.blind) == (ReviewAction.APPROVE, True)
        label = Label.objects.get(review=same)
        assert (label.blind, label.blind_chance, same.blind_chance) == (True, 0.2, 0.2)

    def test_another_role_is_an_override_without_a_typed_reason(
        self, cast: Cast, candidate: Candidate
    ) -> None:
        item_of(candidate, is_blind=True)
        made = candidate_choose(actor=cast.reviewer, candidate=candidate, role=other_role(candidate))
        assert (made.action, made.reason_code, made.blind) == (ReviewAction.OVERRIDE, "", True)
        after = candidate_approve(actor=cast.reviewer, candidate=candidate)
        assert (after.blind, after.supersedes) == (False, made)

    def test_no_way_round_it(self, cast: Cast, candidate: Candidate) -> None:
        item_of(candidate, is_blind=True)
        with pytest.raises(Conflict, match="decided blind"):
            candidate_approve(actor=cast.reviewer, candidate=candidate)
        with pytest.raises(Conflict, match="decided blind"):
            candidate_override(
                actor=cast.reviewer,
                candidate=candidate,
                role=other_role(candidate),
                reason_code="wrong_role",
            )
        assert candidate_unsure(actor=cast.reviewer, candidate=candidate).pk
        item_of(candidate, is_blind=False)
        with pytest.raises(Conflict, match="not a blind one"):
            candidate_choose(actor=cast.reviewer, candidate=candidate, role="primary")

    def test_the_machines_word_is_on_no_page_of_a_reviewer_before(
        self, cast: Cast, client_as: Any, candidate: Candidate
    ) -> None:
        item = item_of(candidate, is_blind=True, is_required=True)
        reason = candidate.verdict.reason
        client = client_as(cast.reviewer)
        pages = [
            f"/queue/{item.pk}/",
            f"/candidates/{candidate.pk}/evidence/",
            "/queue/?show=all",
            f"/api/v1/candidates/{candidate.pk}/",
        ]
        for page in pages:
            assert reason not in unescape(client.get(page).content.decode()), page
        assert client.get(pages[-1]).json()["verdict"] is None
        assert client.get(f"/runs/{candidate.run_id}/").content.decode().count("To be decided") >= 1
        assert f"/candidates/{candidate.pk}/choose/" in client.get(pages[0]).content.decode()
        assert client_as(cast.auditor).get(pages[-1]).json()["verdict"]["reason"] == reason

        answer = client.post(f"/candidates/{candidate.pk}/choose/", {"role": other_role(candidate)})
        assert answer.status_code == 302
        assert reason in unescape(client.get(f"/queue/{item.pk}/").content.decode())

    def test_no_other_address_tells_it_before(self, cast: Cast, client_as: Any, candidate: Candidate) -> None:
        item_of(candidate, is_blind=True)
        reason, run, key = candidate.verdict.reason, candidate.run_id, candidate.pk
        told = [
            *(f"/runs/{run}/?tab={tab}" for tab in ("verdicts", "provenance", "calls", "history", "json")),
            *(f"/runs/{run}/{page}" for page in ("record.json", "as-of/", "against/", "sign/")),
            *(f"/candidates/{key}/{page}" for page in ("receipt/", "receipt.json")),
        ]
        told_by_api = [
            f"/api/v1/runs/{run}/record/",
            f"/api/v1/runs/{run}/signing/",
            f"/api/v1/runs/{run}/as_of/?at=2100-01-01T00:00:00Z",
            f"/api/v1/candidates/{key}/receipt/",
        ]
        reviewer, auditor = client_as(cast.reviewer), client_as(cast.auditor)
        for address in told:
            body = unescape(reviewer.get(address).content.decode())
            assert reason not in body, address
            assert auditor.get(address).status_code == 200, address
        for address in told_by_api:
            refused = reviewer.get(address)
            assert (refused.status_code, refused.json()["code"]) == (409, "decide_first"), address
            assert auditor.get(address).status_code == 200, address
        assert "waits for your blind decision" in reviewer.get(told[1]).content.decode()

        reviewer.post(f"/candidates/{key}/choose/", {"role": other_role(candidate)})
        for address in told + told_by_api:
            assert reviewer.get(address).status_code == 200, address

    def test_the_share_is_the_collections_and_fixed(self, cast: Cast, run: Run) -> None:
        assert not QueueItem.objects.filter(is_blind=True).exists()
        policy_set(actor=cast.admin, collection=cast.alpha, blind_share=1, second_share=1)
        document = run.question.document
        again = make_run(asker=cast.analyst, document=document, text="How long is a payment record kept?")
        items = QueueItem.objects.filter(run=again, candidate__verdict__role__isnull=False)
        assert items.exists()
        assert all(item.is_blind and item.needs_second for item in items)
        assert AuditEvent.objects.filter(action="review_policy.changed").count() == 1
        with pytest.raises(NotAllowed):
            policy_set(actor=cast.reviewer, collection=cast.alpha, blind_share=1, second_share=1)
        with pytest.raises(WorkbenchError, match="between 0 and 1"):
            policy_set(actor=cast.admin, collection=cast.alpha, blind_share=2, second_share=1)

    def test_the_page_of_shares(self, cast: Cast, client_as: Any, run: Run) -> None:
        address = "/collections/alpha/review/"
        client = client_as(cast.admin)
        assert client.post(address, {"blind_share": "0.2", "second_share": "3"}).status_code == 422
        assert client.post(address, {"blind_share": "0.2", "second_share": "0.1"}).status_code == 302
        assert "0.2" in client.get(address).content.decode()
        assert client_as(cast.reviewer).get(address).status_code == 404


class TestUndo:
    def test_a_row_takes_it_back_and_the_card_waits_again(self, cast: Cast, candidate: Candidate) -> None:
        made = candidate_override(
            actor=cast.reviewer, candidate=candidate, role=other_role(candidate), reason_code="wrong_role"
        )
        undone = candidate_undo(actor=cast.reviewer, candidate=candidate)

        assert (undone.action, undone.role, undone.supersedes) == (ReviewAction.UNDO, None, made)
        assert Review.objects.get(pk=made.pk).role == made.role
        assert effective(candidate) == candidate.verdict.role
        assert standing_review(candidate.reviews.all()) is None
        assert item_of(candidate).state == ItemState.WAITING
        assert not Label.objects.standing().filter(review=made).exists()
        assert AuditEvent.objects.filter(action="verdict.undone").count() == 1
        assert candidate_approve(actor=cast.second_reviewer, candidate=candidate).supersedes == undone

    def test_what_counted_before_counts_again(self, cast: Cast, candidate: Candidate) -> None:
        first = candidate_override(
            actor=cast.reviewer, candidate=candidate, role=other_role(candidate), reason_code="wrong_role"
        )
        candidate_approve(actor=cast.second_reviewer, candidate=candidate, seen_review_id=first.pk)
        candidate_undo(actor=cast.second_reviewer, candidate=candidate)

        assert effective(candidate) == first.role
        assert standing_review(candidate.reviews.all()) == first
        assert item_of(candidate).state == ItemState.DECIDED

    def test_not_anothers_not_twice_not_late(
        self, cast: Cast, candidate: Candidate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        candidate_approve(actor=cast.reviewer, candidate=candidate)
        with pytest.raises(Conflict, match="not yours"):
            candidate_undo(actor=cast.second_reviewer, candidate=candidate)
        monkeypatch.setattr("workbench.review.services.UNDO_WINDOW", timedelta(0))
        with pytest.raises(Conflict, match="Ten minutes"):
            candidate_undo(actor=cast.reviewer, candidate=candidate)
        monkeypatch.undo()
        assert timedelta(minutes=10) == selectors.UNDO_WINDOW

    def test_never_on_a_signed_run(self, cast: Cast, candidate: Candidate) -> None:
        candidate_approve(actor=cast.reviewer, candidate=candidate)
        signed(candidate.run, cast.reviewer)
        with pytest.raises(Conflict, match="signed"):
            candidate_undo(actor=cast.reviewer, candidate=candidate)

    def test_a_not_found_too(self, cast: Cast, run: Run) -> None:
        lost = make_run(
            asker=cast.analyst, document=run.question.document, text="Which unicorns pay stamp duty?"
        )
        not_found_confirm(actor=cast.reviewer, run=lost)
        not_found_undo(actor=cast.reviewer, run=lost)
        item = QueueItem.objects.get(run=lost, candidate__isnull=True)
        assert item.state == ItemState.WAITING
        assert standing_review(lost.reviews.all()) is None
        assert not_found_confirm(actor=cast.second_reviewer, run=lost).supersedes.action == ReviewAction.UNDO

    def test_from_the_pages(self, cast: Cast, client_as: Any, candidate: Candidate) -> None:
        client = client_as(cast.reviewer)
        client.post(f"/candidates/{candidate.pk}/approve/")
        undo = f"/candidates/{candidate.pk}/undo/"
        assert undo in client.get(f"/runs/{candidate.run_id}/").content.decode()
        item = QueueItem.objects.filter(state=ItemState.WAITING).first()
        assert item is not None
        assert undo in client.get(f"/queue/{item.pk}/").content.decode()
        client.post(undo)
        assert current_review(Candidate.objects.get(pk=candidate.pk)).action == ReviewAction.UNDO
        assert undo not in client.get(f"/runs/{candidate.run_id}/").content.decode()
        assert client.post(undo).status_code == 409


class TestSecondReview:
    @pytest.fixture
    def decided(self, cast: Cast, candidate: Candidate) -> Candidate:
        """A card of two people, decided by the first."""
        item_of(candidate, needs_second=True)
        candidate_approve(actor=cast.reviewer, candidate=candidate)
        return candidate

    def test_it_waits_for_somebody_else(self, cast: Cast, decided: Candidate) -> None:
        item = item_of(decided)
        assert (item.state, item.stage, item.first_reviewer, item.is_required) == (
            ItemState.WAITING,
            ItemStage.SECOND,
            cast.reviewer,
            True,
        )
        QueueItem.objects.exclude(pk=item.pk).update(state=ItemState.DECIDED)
        assert queue_claim_next(actor=cast.reviewer) is None
        with pytest.raises(Conflict, match="your own decision"):
            queue_claim(actor=cast.reviewer, item=item)
        claimed = queue_claim_next(actor=cast.second_reviewer)
        assert claimed is not None
        assert claimed.pk == item.pk

    def test_the_same_role_settles_it(self, cast: Cast, decided: Candidate) -> None:
        second = second_review_add(
            actor=cast.second_reviewer, candidate=decided, role=decided.verdict.role, comment="Yes."
        )
        assert second.agrees
        assert item_of(decided).state == ItemState.DECIDED
        assert Label.objects.get(candidate=decided, person=cast.second_reviewer).blind
        (event,) = AuditEvent.objects.filter(action="verdict.second_reviewed")
        assert event.after["agrees"] is True

    def test_never_the_same_person_by_any_way(self, cast: Cast, decided: Candidate) -> None:
        role = decided.verdict.role
        with pytest.raises(Conflict, match="your own decision"):
            second_review_add(actor=cast.reviewer, candidate=decided, role=role)
        first = current_review(decided)
        assert first is not None
        with pytest.raises(Conflict, match="second review"):
            candidate_approve(actor=cast.second_reviewer, candidate=decided, seen_review_id=first.pk)
        common = {"run": decided.run, "candidate": decided, "review": first, "role": role, "agrees": True}
        with pytest.raises(IntegrityError, match="second_review_by_another_person"), transaction.atomic():
            SecondReview.objects.create(**common, first_reviewer=cast.reviewer, reviewer=cast.reviewer)
        with pytest.raises(IntegrityError, match="names another reviewer"), transaction.atomic():
            SecondReview.objects.create(**common, first_reviewer=cast.admin, reviewer=cast.reviewer)

    def test_the_first_may_change_their_mind_before_it(self, cast: Cast, decided: Candidate) -> None:
        changed = candidate_override(
            actor=cast.reviewer, candidate=decided, role=other_role(decided), reason_code="wrong_role"
        )
        assert item_of(decided).stage == ItemStage.SECOND
        second = second_review_add(actor=cast.second_reviewer, candidate=decided, role=changed.role)
        assert (second.review, second.agrees) == (changed, True)
        with pytest.raises(Conflict, match="reviewed this decision"):
            candidate_undo(actor=cast.reviewer, candidate=decided)

    def test_by_the_page_without_sight_of_the_first(
        self, cast: Cast, client_as: Any, decided: Candidate
    ) -> None:
        client, item = client_as(cast.second_reviewer), item_of(decided)
        page = client.get(f"/queue/{item.pk}/").content.decode()
        assert "Reviewer decided" not in page
        assert "Approved by" not in page
        assert decided.verdict.reason not in unescape(page)
        run_page = client.get(f"/runs/{decided.run_id}/").content.decode()
        assert "To be decided" in run_page
        client.post(f"/candidates/{decided.pk}/choose/", {"role": other_role(decided)})
        assert item_of(decided).stage == ItemStage.ADJUDICATION
        own = client_as(cast.reviewer).get(f"/runs/{decided.run_id}/").content.decode()
        assert "Approved by Reviewer" in own


class TestDispute:
    @pytest.fixture
    def disputed(self, cast: Cast, candidate: Candidate) -> Candidate:
        """Two people who do not agree."""
        item_of(candidate, needs_second=True)
        candidate_approve(actor=cast.reviewer, candidate=candidate)
        second_review_add(
            actor=cast.second_reviewer, candidate=candidate, role=other_role(candidate), comment="No."
        )
        return candidate

    def test_a_third_person_decides(self, cast: Cast, third: User, disputed: Candidate) -> None:
        item = item_of(disputed)
        assert (item.stage, item.priority, "disputed" in item.why) == (ItemStage.ADJUDICATION, 1.0, True)
        role = other_role(disputed)
        made = dispute_adjudicate(actor=third, candidate=disputed, role=role, reason="Line 5 says so.")
        assert effective(disputed) == role
        assert made.review.supersedes.reviewer == cast.reviewer
        assert item_of(disputed).state == ItemState.DECIDED
        assert Label.objects.get(candidate=disputed, source="adjudicated").person == third
        told = set(
            third.__class__.objects.filter(notifications__kind="adjudicated").values_list("pk", flat=True)
        )
        assert told == {cast.reviewer.pk, cast.second_reviewer.pk}
        with pytest.raises(Conflict, match="reviewed this decision"):
            candidate_undo(actor=third, candidate=disputed)

    def test_not_one_of_the_two(self, cast: Cast, third: User, disputed: Candidate) -> None:
        for actor in (cast.reviewer, cast.second_reviewer):
            with pytest.raises(Conflict, match="third person"):
                dispute_adjudicate(actor=actor, candidate=disputed, role="primary", reason="why")
        with pytest.raises(WorkbenchError, match="why"):
            dispute_adjudicate(actor=third, candidate=disputed, role="primary", reason=" ")
        second = SecondReview.objects.get()
        with pytest.raises(IntegrityError, match="not adjudicated by one"), transaction.atomic():
            Adjudication.objects.create(
                run=disputed.run,
                second_review=second,
                review=second.review,
                adjudicator=cast.reviewer,
                reason="x",
            )

    def test_one_of_the_two_may_give_way(self, cast: Cast, disputed: Candidate) -> None:
        candidate_override(
            actor=cast.reviewer,
            candidate=disputed,
            role=other_role(disputed),
            reason_code="wrong_role",
        )
        assert item_of(disputed).state == ItemState.DECIDED

    def test_by_the_page(self, cast: Cast, client_as: Any, third: User, disputed: Candidate) -> None:
        address = f"/queue/{item_of(disputed).pk}/"
        page = client_as(third).get(address).content.decode()
        assert "Two reviewers do not agree" in page
        assert "Decide between them" in page
        assert "Decide between them" not in client_as(cast.reviewer).get(address).content.decode()
        decide = f"/candidates/{disputed.pk}/adjudicate/"
        client_as(third).post(decide, {"role": "primary", "comment": "It is the rule itself."})
        assert Adjudication.objects.get().adjudicator == third

    def test_by_the_api(self, cast: Cast, client_as: Any, third: User, disputed: Candidate) -> None:
        path = f"/api/v1/candidates/{disputed.pk}"
        body = {"role": "primary", "comment": "The rule itself."}
        own = client_as(cast.reviewer).post(f"{path}/adjudicate/", body, content_type="application/json")
        assert own.json()["code"] == "own_decision"
        made = client_as(third).post(f"{path}/adjudicate/", body, content_type="application/json")
        assert made.status_code == 201, made.json()
        assert client_as(third).post(f"{path}/undo/").status_code == 409
