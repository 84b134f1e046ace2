"""Decisions: their rules, who got there first, and the trail each one leaves. The machine's word is never touched."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction

from tests.workbench.cast import Cast
from tests.workbench.review.signed import signed
from tests.workbench.scene import make_document, make_run
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.review.models import ItemState, QueueItem, ReasonCode, Review, ReviewAction
from workbench.review.queue import queue_claim
from workbench.review.selectors import current_review
from workbench.review.services import (
    candidate_approve,
    candidate_override,
    candidate_unsure,
    not_found_confirm,
    not_found_refute,
)
from workbench.runs.models import Candidate, ReviewState, RoleChoice, Run, RunStatus, Verdict

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def run(cast: Cast) -> Run:
    return make_run(asker=cast.analyst, document=make_document(collection=cast.alpha, owner=cast.analyst))


@pytest.fixture
def candidate(run: Run) -> Candidate:
    found = run.candidates.select_related("verdict").filter(verdict__role__isnull=False).first()
    assert found is not None
    return found


@pytest.fixture
def lost(cast: Cast, run: Run) -> Run:
    """A run that found nothing."""
    return make_run(asker=cast.analyst, document=run.question.document, text="Which unicorns pay stamp duty?")


def other_role(candidate: Candidate) -> str:
    return next(role for role in RoleChoice.values if role != candidate.verdict.role)


def override(cast: Cast, candidate: Candidate, **changed: object) -> Review:
    given = {
        "actor": cast.reviewer,
        "candidate": candidate,
        "role": other_role(candidate),
        "reason_code": ReasonCode.WRONG_ROLE,
    }
    return candidate_override(**(given | changed))  # type: ignore[arg-type]


ACTS: dict[str, Callable[[Cast, Candidate], Review]] = {
    "approve": lambda cast, candidate: candidate_approve(actor=cast.reviewer, candidate=candidate),
    "override": override,
    "unsure": lambda cast, candidate: candidate_unsure(actor=cast.reviewer, candidate=candidate),
}


@pytest.mark.parametrize("act", ACTS)
class TestEveryWay:
    def test_the_machines_word_stays(self, cast: Cast, candidate: Candidate, act: str) -> None:
        before = Verdict.objects.filter(candidate=candidate).values().get()

        review = ACTS[act](cast, candidate)

        assert Verdict.objects.filter(candidate=candidate).values().get() == before
        assert review.machine_role == before["role"]

    def test_one_event_says_what_changed(self, cast: Cast, candidate: Candidate, act: str) -> None:
        last = AuditEvent.objects.order_by("id").values_list("pk", flat=True).last() or 0
        review = ACTS[act](cast, candidate)

        (event,) = AuditEvent.objects.filter(pk__gt=last, action__startswith="verdict.")
        machine = candidate.verdict.role
        assert event.before == {"role": machine, "machine_role": machine}
        assert event.after["role"] == (review.role or machine)
        assert event.after["review"] == review.pk
        assert event.actor_id == cast.reviewer.pk

    def test_a_signed_run_refuses(self, cast: Cast, candidate: Candidate, act: str) -> None:
        signed(candidate.run)

        with pytest.raises(Conflict, match="signed"):
            ACTS[act](cast, candidate)
        assert not Review.objects.exists()

    @pytest.mark.parametrize("status", [RunStatus.ANSWERING, RunStatus.FAILED, RunStatus.CANCELLED])
    def test_an_unfinished_run_refuses(self, cast: Cast, candidate: Candidate, act: str, status: str) -> None:
        Run.objects.update(status=status, failure_reason="why")

        with pytest.raises(Conflict, match="not finished"):
            ACTS[act](cast, candidate)

    def test_a_run_with_a_decision_is_in_review(self, cast: Cast, candidate: Candidate, act: str) -> None:
        ACTS[act](cast, candidate)

        assert Run.objects.get(pk=candidate.run_id).review_state == ReviewState.IN_REVIEW

    @pytest.mark.parametrize("who", ["analyst", "annotator", "auditor"])
    def test_only_reviewers(self, cast: Cast, candidate: Candidate, act: str, who: str) -> None:
        def attempt(actor: User) -> Review:
            if act == "override":
                return override(cast, candidate, actor=actor)
            simple = candidate_approve if act == "approve" else candidate_unsure
            return simple(actor=actor, candidate=candidate)

        for actor in (cast.members[who], cast.outsider, cast.staff):
            with pytest.raises(NotAllowed):
                attempt(actor)


class TestRules:
    def test_an_undecided_verdict_cannot_be_approved(self, cast: Cast, candidate: Candidate) -> None:
        Verdict.objects.filter(candidate=candidate).update(role=None, needs_person=True)

        with pytest.raises(WorkbenchError, match="nothing to approve"):
            candidate_approve(actor=cast.reviewer, candidate=candidate)
        assert override(cast, candidate, role=RoleChoice.PRIMARY).role == RoleChoice.PRIMARY

    @pytest.mark.parametrize(
        ("changed", "says"),
        [
            ({"role": "king"}, "four roles"),
            ({"reason_code": "because"}, "reason"),
            ({"reason_code": ""}, "reason"),
            ({"reason_code": ReasonCode.OTHER, "comment": "  "}, "comment"),
        ],
    )
    def test_what_an_override_needs(
        self, cast: Cast, candidate: Candidate, changed: dict[str, str], says: str
    ) -> None:
        with pytest.raises(WorkbenchError, match=says):
            override(cast, candidate, **changed)
        assert not Review.objects.exists()

    def test_the_machines_own_role_is_no_override(self, cast: Cast, candidate: Candidate) -> None:
        with pytest.raises(WorkbenchError, match="machine's role already"):
            override(cast, candidate, role=candidate.verdict.role)

    def test_the_database_holds_the_rules_too(self, cast: Cast, run: Run, candidate: Candidate) -> None:
        broken = [
            {"action": ReviewAction.OVERRIDE, "role": "primary", "reason_code": ""},
            {"action": ReviewAction.OVERRIDE, "role": None, "reason_code": "other"},
            {"action": ReviewAction.APPROVE, "role": None},
            {"action": "shrug", "role": "primary"},
        ]
        for values in broken:
            with pytest.raises(IntegrityError), transaction.atomic():
                Review.objects.create(run=run, candidate=candidate, reviewer=cast.reviewer, **values)

    def test_two_first_words_on_one_candidate_are_impossible(
        self, cast: Cast, run: Run, candidate: Candidate
    ) -> None:
        candidate_approve(actor=cast.reviewer, candidate=candidate)

        with pytest.raises(IntegrityError), transaction.atomic():
            Review.objects.create(
                run=run,
                candidate=candidate,
                reviewer=cast.reviewer,
                action=ReviewAction.APPROVE,
                role="primary",
            )


class TestOvertaken:
    def test_a_decision_on_an_outdated_card_is_refused_by_name(
        self, cast: Cast, candidate: Candidate
    ) -> None:
        first = override(cast, candidate)

        with pytest.raises(Conflict, match="Reviewer decided this card") as refused:
            candidate_approve(actor=cast.second_reviewer, candidate=candidate)
        assert refused.value.code == "overtaken"
        assert current_review(candidate) == first

    def test_who_saw_the_decision_may_decide_again(self, cast: Cast, candidate: Candidate) -> None:
        first = override(cast, candidate)

        second = candidate_approve(actor=cast.second_reviewer, candidate=candidate, seen_review_id=first.pk)

        assert second.supersedes == first
        assert current_review(candidate) == second

    def test_ones_own_decision_may_be_changed(self, cast: Cast, candidate: Candidate) -> None:
        first = override(cast, candidate)

        assert candidate_approve(actor=cast.reviewer, candidate=candidate).supersedes == first

    def test_cant_tell_leaves_the_decision_to_others(self, cast: Cast, candidate: Candidate) -> None:
        doubt = candidate_unsure(actor=cast.reviewer, candidate=candidate)

        second = candidate_approve(actor=cast.second_reviewer, candidate=candidate)

        assert second.supersedes == doubt


class TestItems:
    def test_a_decision_settles_the_item_and_cant_tell_gives_it_back(
        self, cast: Cast, candidate: Candidate
    ) -> None:
        item = QueueItem.objects.get(candidate=candidate)
        queue_claim(actor=cast.reviewer, item=item)

        candidate_unsure(actor=cast.reviewer, candidate=candidate)
        item.refresh_from_db()
        assert (item.state, item.claimed_by, item.decided_at) == (ItemState.WAITING, None, None)

        candidate_approve(actor=cast.second_reviewer, candidate=candidate)
        item.refresh_from_db()
        assert (item.state, item.claimed_by) == (ItemState.DECIDED, None)
        assert item.decided_at is not None

    def test_a_card_that_somebody_works_on_is_theirs(self, cast: Cast, candidate: Candidate) -> None:
        queue_claim(actor=cast.reviewer, item=QueueItem.objects.get(candidate=candidate))

        with pytest.raises(Conflict, match="Reviewer is working on this card"):
            candidate_approve(actor=cast.second_reviewer, candidate=candidate)
        assert not Review.objects.exists()


class TestNotFound:
    @pytest.mark.parametrize("act", ["confirm", "refute"])
    def test_it_is_decided_like_a_card(self, cast: Cast, lost: Run, act: str) -> None:
        if act == "confirm":
            review = not_found_confirm(actor=cast.reviewer, run=lost)
        else:
            review = not_found_refute(actor=cast.reviewer, run=lost, comment="Page 3, lines 4 to 6.")

        item = QueueItem.objects.get(run=lost, candidate__isnull=True)
        assert item.state == ItemState.DECIDED
        (event,) = AuditEvent.objects.filter(action__startswith="not_found.")
        assert event.after["review"] == review.pk
        assert event.before is None or event.before == {}

    def test_refuting_says_where(self, cast: Cast, lost: Run) -> None:
        with pytest.raises(WorkbenchError, match="where"):
            not_found_refute(actor=cast.reviewer, run=lost, comment=" ")

    def test_another_mind_supersedes(self, cast: Cast, lost: Run) -> None:
        first = not_found_confirm(actor=cast.reviewer, run=lost)
        second = not_found_refute(actor=cast.reviewer, run=lost, comment="Page 3.")

        assert second.supersedes == first

    def test_refusals(self, cast: Cast, run: Run, lost: Run) -> None:
        with pytest.raises(WorkbenchError, match="found evidence"):
            not_found_confirm(actor=cast.reviewer, run=run)
        with pytest.raises(NotAllowed):
            not_found_confirm(actor=cast.analyst, run=lost)
        signed(lost)
        with pytest.raises(Conflict):
            not_found_confirm(actor=cast.reviewer, run=lost)
