"""The annotator's desk: what comes next, what a judgment leaves behind, and what can be taken back."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from arbitration.contracts import Role
from tests.workbench.cast import Cast
from tests.workbench.labeling.makers import annotators, make_pairs, make_project
from workbench.accounts.models import MemberRole, Membership, User
from workbench.audit.models import AuditEvent
from workbench.documents.erasure import document_delete
from workbench.documents.models import Document
from workbench.documents.restricting import restriction_set
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.labeling.adjudication import disputes, outcome, pair_adjudicate, pair_set_aside
from workbench.labeling.models import Label, Outcome, Pair, PairState, Pass, Project, Slot, SlotState
from workbench.labeling.progress import corrections, pair_counts, pairs_waiting
from workbench.labeling.reading import pair_reading
from workbench.labeling.selectors import labels_for_gold, labels_for_training
from workbench.labeling.supply import projects_to_fill
from workbench.labeling.work import (
    draw,
    slot_answer,
    slot_claim_next,
    slot_held,
    slot_pass,
    slot_release,
    undo_last,
)

ClientAs = Callable[[User | None], Client]

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def project(cast: Cast) -> Project:
    return make_project(cast)


def claim(actor: User, project: Project) -> Slot:
    slot = slot_claim_next(actor=actor, project=project)
    assert slot is not None
    return slot


class TestDesk:
    def test_a_reload_gives_the_same_pair(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 3)

        assert claim(cast.annotator, project).pk == claim(cast.annotator, project).pk
        assert Slot.objects.filter(state=SlotState.HELD).count() == 1

    def test_the_most_uncertain_first(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 5, priorities=[0.1, 0.9, 0.3, 0.8, 0.2])
        Project.objects.update(random_share=0, gold_share=0)
        project.refresh_from_db()

        seen = []
        for _ in range(5):
            slot = claim(cast.annotator, project)
            seen.append(slot.pair.priority)
            slot_answer(actor=cast.annotator, slot=slot, role="discarded")

        assert seen == sorted(seen, reverse=True)
        assert slot_claim_next(actor=cast.annotator, project=project) is None

    def test_all_at_random_follows_no_priority(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 6, priorities=[0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
        Project.objects.update(random_share=1, gold_share=0)
        project.refresh_from_db()
        by_shuffle = list(Pair.objects.order_by("shuffle").values_list("pk", flat=True))

        seen = []
        for _ in range(6):
            slot = claim(cast.annotator, project)
            seen.append(slot.pair_id)
            slot_answer(actor=cast.annotator, slot=slot, role="discarded")

        assert seen == by_shuffle

    def test_a_lapsed_pair_passes_on_and_the_late_answer_is_refused(
        self, cast: Cast, project: Project
    ) -> None:
        make_pairs(project, 1)
        other = annotators(cast, 1)[0]
        slot = claim(cast.annotator, project)
        assert slot_claim_next(actor=other, project=project) is None
        Slot.objects.update(held_until=Now() - timedelta(seconds=1))

        assert claim(other, project).pk == slot.pk
        with pytest.raises(Conflict):
            slot_answer(actor=cast.annotator, slot=slot, role="primary")

    def test_a_lapsed_pair_that_nobody_took_is_still_ones_own(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 1)
        slot = claim(cast.annotator, project)
        Slot.objects.update(held_until=Now() - timedelta(seconds=1))

        assert slot_answer(actor=cast.annotator, slot=slot, role="primary").role == "primary"

    def test_only_annotators_of_the_collection(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 1)
        for actor in (cast.analyst, cast.reviewer, cast.admin, cast.auditor, cast.outsider, cast.staff):
            with pytest.raises(NotAllowed):
                slot_claim_next(actor=actor, project=project)

    def test_nobody_labels_a_closed_project(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 1)
        Project.objects.update(is_open=False)
        project.refresh_from_db()

        with pytest.raises(Conflict):
            slot_claim_next(actor=cast.annotator, project=project)


class TestJudging:
    def test_a_judgment_is_a_blind_label_with_its_time_and_guidelines(
        self, cast: Cast, project: Project
    ) -> None:
        make_pairs(project, 1)
        slot = slot_answer(actor=cast.annotator, slot=claim(cast.annotator, project), role="supporting")

        label = Label.objects.get()
        assert slot.label == label
        assert (label.source, label.role, label.person, label.blind) == (
            "annotator",
            "supporting",
            cast.annotator,
            True,
        )
        assert label.seconds is not None
        assert label.guideline is not None
        assert Pair.objects.get().state == PairState.SETTLED
        assert AuditEvent.objects.filter(action="label.recorded").count() == 1
        assert len(labels_for_training()) == 1

    def test_a_repeated_request_counts_once_and_another_answer_is_refused(
        self, cast: Cast, project: Project
    ) -> None:
        make_pairs(project, 1)
        slot = claim(cast.annotator, project)
        slot_answer(actor=cast.annotator, slot=slot, role="primary")

        slot_answer(actor=cast.annotator, slot=slot, role="primary")
        with pytest.raises(Conflict):
            slot_answer(actor=cast.annotator, slot=slot, role="discarded")
        assert Label.objects.count() == 1

    def test_an_unknown_role_is_refused(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 1)
        with pytest.raises(WorkbenchError):
            slot_answer(actor=cast.annotator, slot=claim(cast.annotator, project), role="maybe")

    def test_cant_tell_never_comes_back_and_later_comes_last(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 3)
        other = annotators(cast, 1)[0]
        unsure = claim(cast.annotator, project)
        slot_pass(actor=cast.annotator, slot=unsure, kind="unsure")
        later = claim(cast.annotator, project)
        slot_pass(actor=cast.annotator, slot=later, kind="later")
        last = claim(cast.annotator, project)
        slot_answer(actor=cast.annotator, slot=last, role="primary")

        again = claim(cast.annotator, project)
        slot_answer(actor=cast.annotator, slot=again, role="primary")

        assert again.pair_id == later.pair_id
        assert slot_claim_next(actor=cast.annotator, project=project) is None
        assert claim(other, project).pair_id == unsure.pair_id
        assert Label.objects.count() == 2


class TestUndo:
    def test_a_label_is_taken_back_and_the_pair_lies_on_the_desk(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 2)
        first = claim(cast.annotator, project)
        slot_answer(actor=cast.annotator, slot=first, role="primary")
        second = claim(cast.annotator, project)

        assert undo_last(actor=cast.annotator, project=project).pk == first.pk
        assert claim(cast.annotator, project).pk == first.pk
        second.refresh_from_db()
        assert second.state == SlotState.WAITING
        assert labels_for_training() == ()

        slot_answer(actor=cast.annotator, slot=first, role="discarded")
        assert [row.role for row in labels_for_training()] == [Role.DISCARDED]
        assert Label.objects.count() == 2

    def test_step_by_step_to_the_beginning(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 3)
        slot_answer(actor=cast.annotator, slot=claim(cast.annotator, project), role="primary")
        slot_pass(actor=cast.annotator, slot=claim(cast.annotator, project), kind="unsure")
        slot_pass(actor=cast.annotator, slot=claim(cast.annotator, project), kind="later")

        for _ in range(3):
            undo_last(actor=cast.annotator, project=project)

        assert not Pass.objects.exists()
        assert labels_for_training() == ()
        assert Slot.objects.filter(state=SlotState.HELD).count() == 1
        with pytest.raises(Conflict, match="nothing to take back"):
            undo_last(actor=cast.annotator, project=project)

    def test_somebody_else_has_the_passed_pair(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 1)
        slot_pass(actor=cast.annotator, slot=claim(cast.annotator, project), kind="later")
        claim(annotators(cast, 1)[0], project)

        with pytest.raises(Conflict):
            undo_last(actor=cast.annotator, project=project)

    def test_not_after_the_adjudication(self, cast: Cast, project: Project) -> None:
        _dispute(cast, project)
        pair_adjudicate(actor=cast.reviewer, pair=Pair.objects.get(), role="primary")

        with pytest.raises(Conflict):
            undo_last(actor=cast.annotator, project=project)

    def test_giving_it_back_costs_nothing(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 1)
        slot = claim(cast.annotator, project)
        slot_release(actor=cast.annotator, slot=slot)

        assert claim(annotators(cast, 1)[0], project).pk == slot.pk


class TestChecks:
    def test_a_known_answer_is_compared_and_labels_nothing(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1, gold_role="primary")
        Slot.objects.all().delete()
        Project.objects.update(gold_share=1)
        project.refresh_from_db()
        both = [cast.annotator, *annotators(cast, 1)]

        for person in both:
            slot = claim(person, project)
            assert slot.pair_id == pair.pk
            slot_answer(actor=person, slot=slot, role="discarded")
            assert slot_claim_next(actor=person, project=project) is None

        assert Slot.objects.filter(is_check=True, role="discarded").count() == 2
        assert not Label.objects.exists()

    def test_a_passed_check_can_be_taken_back(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 1, gold_role="primary")
        Slot.objects.all().delete()
        Project.objects.update(gold_share=1)
        project.refresh_from_db()
        slot_pass(actor=cast.annotator, slot=claim(cast.annotator, project), kind="later")
        assert slot_claim_next(actor=cast.annotator, project=project) is None

        assert undo_last(actor=cast.annotator, project=project).is_check
        assert slot_claim_next(actor=cast.annotator, project=project) is not None

    @given(st.integers(1, 50), st.integers(1, 50))
    def test_the_draw_keeps_its_share(self, project_id: int, person_id: int) -> None:
        draws = [draw(project_id=project_id, person_id=person_id, number=n) for n in range(400)]

        assert all(0 <= value < 1 for value in draws)
        assert 0.1 < sum(value < 0.2 for value in draws) / 400 < 0.3


def _dispute(cast: Cast, project: Project, *, second: str = "discarded") -> list[User]:
    make_pairs(project, 1, places=2)
    people = [cast.annotator, *annotators(cast, 1)]
    for person, role in zip(people, ["primary", second], strict=True):
        slot_answer(actor=person, slot=claim(person, project), role=role)
    return people


class TestAdjudication:
    def test_two_who_agree_settle_the_pair_and_it_may_be_gold(self, cast: Cast, project: Project) -> None:
        _dispute(cast, project, second="primary")

        assert Pair.objects.get().state == PairState.SETTLED
        assert not disputes(user=cast.reviewer).exists()
        assert len(labels_for_gold()) == 1

    def test_a_third_person_decides(self, cast: Cast, project: Project) -> None:
        _dispute(cast, project)
        assert labels_for_training() == ()
        (pair,) = disputes(user=cast.reviewer)

        done = pair_adjudicate(actor=cast.reviewer, pair=pair, role="tangential", comment="Neither.")

        assert done.outcome == Outcome.BOTH_WRONG
        assert done.label.blind is True
        assert [row.role for row in labels_for_training()] == [Role.TANGENTIAL]
        pair.refresh_from_db()
        assert (pair.state, pair.gold_role) == (PairState.SETTLED, "tangential")
        with pytest.raises(Conflict):
            pair_adjudicate(actor=cast.second_reviewer, pair=pair, role="primary")

    def test_nobody_decides_their_own(self, cast: Cast, project: Project) -> None:
        from workbench.accounts.models import MemberRole, Membership

        people = _dispute(cast, project)
        for person in people:
            Membership.objects.create(user=person, collection=cast.alpha, role=MemberRole.REVIEWER)
            assert not disputes(user=person).exists()
            with pytest.raises(NotAllowed):
                pair_adjudicate(actor=person, pair=Pair.objects.get(), role="primary")

    def test_only_reviewers(self, cast: Cast, project: Project) -> None:
        _dispute(cast, project)
        for actor in (cast.analyst, cast.admin, cast.auditor, cast.outsider):
            assert not disputes(user=actor).exists()
            with pytest.raises(NotAllowed):
                pair_adjudicate(actor=actor, pair=Pair.objects.get(), role="primary")

    def test_outcomes(self) -> None:
        assert outcome(["primary", "discarded"], "primary") == Outcome.FIRST
        assert outcome(["primary", "discarded"], "discarded") == Outcome.SECOND
        assert outcome(["primary", "discarded"], "supporting") == Outcome.BOTH_WRONG


class TestTheDatabaseHoldsIt:
    def test_a_third_place_is_impossible(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1, places=2)

        for number in (1, 2, 3):
            with pytest.raises(IntegrityError), transaction.atomic():
                Slot.objects.create(pair=pair, number=number)

    def test_one_person_never_has_both_places(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1, places=2)

        with pytest.raises(IntegrityError), transaction.atomic():
            pair.slots.update(person=cast.annotator, state=SlotState.HELD, held_until=Now())

    def test_the_same_pair_is_not_made_twice(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1)
        pair.pk = None

        with pytest.raises(IntegrityError), transaction.atomic():
            pair.save(force_insert=True)


@pytest.mark.django_db(transaction=True)
def test_annotators_at_once_never_get_the_same_pair_unless_it_is_double_coded(cast: Cast) -> None:
    project = make_project(cast)
    make_pairs(project, 12)
    doubled = {pair.pk for pair in make_pairs(project, 4, places=2, start=100)}
    people = [cast.annotator, *annotators(cast, 3)]
    start = threading.Barrier(len(people), timeout=120)
    given: list[tuple[int, int]] = []
    problems: list[BaseException] = []

    def work(person: User) -> None:
        try:
            start.wait()
            while (slot := slot_claim_next(actor=person, project=project)) is not None:
                given.append((slot.pair_id, person.pk))
                slot_answer(actor=person, slot=slot, role="discarded")
        except BaseException as problem:
            problems.append(problem)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
    times = Counter(pair for pair, _ in given)
    assert {pair for pair, count in times.items() if count == 2} == doubled
    assert len(times) == 16
    assert max(times.values()) == 2
    assert len(set(given)) == len(given) == 20
    assert not Slot.objects.exclude(state=SlotState.LABELLED).exists()


@pytest.mark.django_db(transaction=True)
def test_two_windows_of_one_person_show_one_pair(cast: Cast) -> None:
    project = make_project(cast)
    make_pairs(project, 6)
    start = threading.Barrier(2, timeout=120)
    shown: list[int] = []

    def open_window() -> None:
        try:
            start.wait()
            slot = slot_claim_next(actor=cast.annotator, project=project)
            assert slot is not None
            shown.append(slot.pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=open_window) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(shown) == 2
    assert len(set(shown)) == 1


class TestNobodyCanTell:
    def test_the_only_annotator_cannot_tell(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1)
        slot_pass(actor=cast.annotator, slot=claim(cast.annotator, project), kind="unsure")

        pair.refresh_from_db()
        assert pair.state == PairState.UNCLEAR
        assert list(disputes(user=cast.reviewer)) == [pair]
        assert slot_claim_next(actor=cast.annotator, project=project) is None

    def test_it_waits_while_somebody_may_know_and_goes_on_after_two(
        self, cast: Cast, project: Project
    ) -> None:
        (pair,) = make_pairs(project, 1)
        second, third, late = annotators(cast, 3)
        slot_pass(actor=second, slot=claim(second, project), kind="unsure")
        pair.refresh_from_db()
        assert pair.state == PairState.OPEN

        slot_pass(actor=third, slot=claim(third, project), kind="unsure")
        pair.refresh_from_db()
        assert pair.state == PairState.UNCLEAR
        assert slot_claim_next(actor=late, project=project) is None

    def test_later_is_not_unsure(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1)
        slot_pass(actor=cast.annotator, slot=claim(cast.annotator, project), kind="later")

        pair.refresh_from_db()
        assert pair.state == PairState.OPEN

    def test_undo_brings_it_back_to_the_desk(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1)
        slot = claim(cast.annotator, project)
        slot_pass(actor=cast.annotator, slot=slot, kind="unsure")

        assert undo_last(actor=cast.annotator, project=project).pk == slot.pk
        slot_answer(actor=cast.annotator, slot=slot, role="primary")
        pair.refresh_from_db()
        assert pair.state == PairState.SETTLED
        assert not disputes(user=cast.reviewer).exists()

    def test_an_adjudicator_decides_alone(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1)
        slot_pass(actor=cast.annotator, slot=claim(cast.annotator, project), kind="unsure")

        decided = pair_adjudicate(actor=cast.reviewer, pair=pair, role="supporting")

        assert decided.outcome == Outcome.ALONE
        assert [row.role.value for row in labels_for_training()] == ["supporting"]
        with pytest.raises(Conflict, match="adjudicated"):
            undo_last(actor=cast.annotator, project=project)

    def test_one_judgment_and_a_second_place_that_nobody_can_fill(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1, places=2)
        second, third = annotators(cast, 2)
        slot_answer(actor=cast.annotator, slot=claim(cast.annotator, project), role="primary")
        for person in (second, third):
            slot_pass(actor=person, slot=claim(person, project), kind="unsure")

        assert pair_adjudicate(actor=cast.reviewer, pair=pair, role="discarded").outcome == Outcome.ALONE
        pair.refresh_from_db()
        assert pair.state == PairState.SETTLED

    def test_what_cannot_be_told_is_set_aside_with_a_reason_on_record(
        self, cast: Cast, project: Project
    ) -> None:
        (pair,) = make_pairs(project, 1)
        slot_pass(actor=cast.annotator, slot=claim(cast.annotator, project), kind="unsure")

        with pytest.raises(WorkbenchError, match="Say why"):
            pair_set_aside(actor=cast.reviewer, pair=pair, comment=" ")
        with pytest.raises(NotAllowed):
            pair_set_aside(actor=cast.annotator, pair=pair, comment="It is cut off.")
        pair_set_aside(actor=cast.reviewer, pair=pair, comment="The scan is cut off.")

        pair.refresh_from_db()
        assert pair.state == PairState.SET_ASIDE
        assert AuditEvent.objects.get(action="labeling.pair_set_aside").reason == "The scan is cut off."
        assert labels_for_training() == ()
        assert not disputes(user=cast.reviewer).exists()
        with pytest.raises(Conflict):
            pair_adjudicate(actor=cast.reviewer, pair=pair, role="primary")
        with pytest.raises(Conflict):
            undo_last(actor=cast.annotator, project=project)

    def test_a_known_answer_passed_over_stays_settled(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1, gold_role="primary")
        slot_answer(actor=cast.annotator, slot=claim(cast.annotator, project), role="primary")
        Project.objects.update(gold_share=1)
        project.refresh_from_db()
        (other,) = annotators(cast, 1)
        check = claim(other, project)
        assert check.is_check

        slot_pass(actor=other, slot=check, kind="unsure")

        pair.refresh_from_db()
        assert pair.state == PairState.SETTLED


class TestDeletedDocuments:
    """Nobody reads a deleted document at the desk, though its text waits for the erasure."""

    def delete(self, cast: Cast) -> None:
        document_delete(actor=cast.admin, document=Document.objects.get(), reason="The client asked for it.")

    def test_its_pairs_are_not_given_out_nor_kept_on_a_desk(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        make_pairs(project, 1)
        slot = claim(cast.annotator, project)
        self.delete(cast)

        assert slot_held(actor=cast.annotator, project=project) is None
        assert slot_claim_next(actor=cast.annotator, project=project) is None
        assert client_as(cast.annotator).get(f"/api/v1/labeling-desk/{slot.pk}/").status_code == 404
        with pytest.raises(Conflict, match="deleted"):
            slot_answer(actor=cast.annotator, slot=slot, role="primary")
        assert pair_reading(slot.pair).view.lines == []

    def test_no_known_answer_of_it_is_asked(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1, gold_role="primary")
        pair.slots.all().delete()
        Project.objects.update(gold_share=1)
        project.refresh_from_db()
        self.delete(cast)

        assert slot_claim_next(actor=cast.annotator, project=project) is None

    def test_undo_does_not_bring_it_back(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 2)
        slot_answer(actor=cast.annotator, slot=claim(cast.annotator, project), role="primary")
        slot_pass(actor=cast.annotator, slot=claim(cast.annotator, project), kind="later")
        self.delete(cast)

        with pytest.raises(Conflict, match="deleted"):
            undo_last(actor=cast.annotator, project=project)
        Pass.objects.all().delete()
        with pytest.raises(Conflict, match="deleted"):
            undo_last(actor=cast.annotator, project=project)
        assert Label.objects.standing().count() == 1

    def test_its_pairs_wait_for_nobody(self, cast: Cast, project: Project) -> None:
        Project.objects.update(keep_waiting=2)
        first, second = annotators(cast, 2)
        make_pairs(project, 1)
        make_pairs(project, 1, places=2, start=1)
        for person, role in ((first, "primary"), (second, "discarded")):
            Project.objects.update(random_share=0)
            (slot,) = Slot.objects.filter(pair__slots__number=2, state=SlotState.WAITING)[:1]
            Slot.objects.filter(pk=slot.pk).update(
                person=person, state=SlotState.HELD, held_until=Now() + timedelta(minutes=5)
            )
            slot_answer(actor=person, slot=slot, role=role)
        make_pairs(project, 1, start=2)
        assert projects_to_fill() == []
        assert pair_counts(project=project)["disputed"] == 1
        assert pairs_waiting(user=cast.annotator) == 2

        self.delete(cast)

        assert projects_to_fill() == [project.pk]
        counts = pair_counts(project=project)
        assert (counts["total"], counts["open"], counts["disputed"]) == (3, 0, 0)
        assert pairs_waiting(user=cast.annotator) == 0
        assert not disputes(user=cast.reviewer).exists()


class TestLostRights:
    """The right is asked at each act, and of the document too."""

    def lose(self, cast: Cast) -> None:
        Membership.objects.filter(user=cast.annotator).delete()

    def test_nothing_is_taken_back_or_answered(self, cast: Cast, project: Project) -> None:
        make_pairs(project, 3)
        slot_answer(actor=cast.annotator, slot=claim(cast.annotator, project), role="primary")
        slot = claim(cast.annotator, project)
        self.lose(cast)

        for act in (
            lambda: undo_last(actor=cast.annotator, project=project),
            lambda: slot_answer(actor=cast.annotator, slot=slot, role="primary"),
            lambda: slot_pass(actor=cast.annotator, slot=slot, kind="later"),
        ):
            with pytest.raises(NotAllowed):
                act()
        assert slot_held(actor=cast.annotator, project=project) is None

    def test_nothing_is_told_of_earlier_corrections(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        (pair,) = make_pairs(project, 1, gold_role="primary")
        Slot.objects.filter(pair=pair).update(
            number=None, is_check=True, person=cast.annotator, state=SlotState.LABELLED, role="discarded",
            decided_at=Now(),
        )  # fmt: skip
        client = client_as(cast.annotator)
        assert pair.question in client.get(reverse("labeling:corrected")).content.decode()

        Membership.objects.filter(user=cast.annotator).update(role=MemberRole.ANALYST)

        assert pair.question not in client.get(reverse("labeling:corrected")).content.decode()
        assert corrections(user=cast.annotator) == []

    def test_a_pair_of_a_document_that_was_restricted_is_not_taken_back(
        self, cast: Cast, project: Project
    ) -> None:
        (pair,) = make_pairs(project, 1)
        slot_answer(actor=cast.annotator, slot=claim(cast.annotator, project), role="primary")
        restriction_set(actor=cast.admin, document=pair.document, readers=[], reason="A case.")

        with pytest.raises(Conflict, match="not open to you"):
            undo_last(actor=cast.annotator, project=project)
        assert Label.objects.standing().count() == 1
