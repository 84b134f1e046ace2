"""Labels: where they come from, which one speaks, and that none is ever changed."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from arbitration.contracts import Role
from tests.workbench.cast import Cast
from tests.workbench.scene import make_document, make_run
from training.labels import LabelSource
from training.snapshot import Side
from workbench.audit.models import AuditEvent
from workbench.errors import WorkbenchError
from workbench.labeling.models import Label, LabelRetraction, QuestionPlace, SourceChoice
from workbench.labeling.selectors import (
    labels_for_gold,
    labels_for_training,
    labels_read,
    labels_resolved,
    question_sides,
)
from workbench.labeling.services import label_of_candidate, label_retract, labels_from_verdicts
from workbench.review.services import candidate_approve, candidate_override, candidate_unsure
from workbench.runs.models import Candidate, Run, Verdict

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def run(cast: Cast) -> Run:
    return make_run(asker=cast.analyst, document=make_document(collection=cast.alpha, owner=cast.analyst))


@pytest.fixture
def candidate(run: Run) -> Candidate:
    found = run.candidates.filter(verdict__role__isnull=False).first()
    assert found is not None
    return found


def other_role(candidate: Candidate) -> str:
    return next(role for role in Role if role != candidate.verdict.role)


class TestReviews:
    def test_an_approval_is_a_label(self, cast: Cast, run: Run, candidate: Candidate) -> None:
        review = candidate_approve(actor=cast.reviewer, candidate=candidate)

        label = Label.objects.get()
        assert (label.source, label.role, label.person) == ("approve", candidate.verdict.role, cast.reviewer)
        assert (label.review, label.candidate, label.document_id) == (
            review,
            candidate,
            candidate.document_id,
        )
        assert label.text_hash == candidate.text_hash
        assert label.weight == LabelSource.APPROVE.weight
        assert label.binary_label == Role(label.role).binary_label
        assert label.question == run.question.text
        assert label.blind is False

    def test_an_override_outranks_nothing_before_it_but_all_below(
        self, cast: Cast, candidate: Candidate
    ) -> None:
        candidate_approve(actor=cast.reviewer, candidate=candidate)
        role = other_role(candidate)
        candidate_override(actor=cast.reviewer, candidate=candidate, role=role, reason_code="wrong_role")

        first, second = Label.objects.order_by("id")
        resolution = labels_resolved()
        assert [row.label_id for row in resolution.winners] == [str(second.pk)]
        assert resolution.winners[0].role == role
        assert (
            resolution.overruled == {str(first.pk): str(second.pk)} or first.created_at == second.created_at
        )

    def test_a_refused_decision_leaves_no_label(self, cast: Cast, candidate: Candidate) -> None:
        with pytest.raises(WorkbenchError):
            candidate_override(
                actor=cast.reviewer,
                candidate=candidate,
                role=candidate.verdict.role,
                reason_code="wrong_role",
            )

        assert not Label.objects.exists()

    def test_a_withdrawn_decision_trains_nothing(self, cast: Cast, candidate: Candidate) -> None:
        candidate_approve(actor=cast.reviewer, candidate=candidate)
        candidate_unsure(actor=cast.reviewer, candidate=candidate)

        assert Label.objects.count() == 1
        assert labels_for_training() == ()
        assert AuditEvent.objects.filter(action="label.retracted").count() == 1

    def test_who_cannot_tell_does_not_take_back_what_another_said(
        self, cast: Cast, candidate: Candidate
    ) -> None:
        review = candidate_approve(actor=cast.reviewer, candidate=candidate)
        candidate_override(
            actor=cast.second_reviewer,
            candidate=candidate,
            role=other_role(candidate),
            reason_code="wrong_role",
            seen_review_id=review.pk,
        )
        candidate_unsure(actor=cast.second_reviewer, candidate=candidate)

        assert [row.judge for row in labels_for_training()] == [f"person:{cast.reviewer.pk}"]

    def test_it_stands_in_the_reviews_transaction(
        self, cast: Cast, candidate: Candidate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(**_: object) -> None:
            raise RuntimeError

        monkeypatch.setattr("workbench.review.services.alias_learn", refuse)
        with pytest.raises(RuntimeError):
            candidate_approve(actor=cast.reviewer, candidate=candidate)

        assert not Label.objects.exists()


class TestModels:
    @pytest.mark.parametrize("kind", ["gate", "mlp", "rule", "fallback", "baseline", "undecided", "person"])
    def test_the_machines_other_deciders_label_nothing(self, run: Run, kind: str) -> None:
        Verdict.objects.filter(candidate__run=run).update(decided_by_kind=kind)

        assert labels_from_verdicts(run=run, verdicts=_verdicts(run)) == 0
        assert not Label.objects.exists()

    def test_a_models_own_verdicts_are_labels_of_low_weight(self, run: Run) -> None:
        Verdict.objects.filter(candidate__run=run, role__isnull=False).update(
            decided_by_kind="llm", decided_by_name="small-model", decided_by_version="arbiter 3"
        )
        decided = run.candidates.filter(verdict__role__isnull=False).count()

        assert labels_from_verdicts(run=run, verdicts=_verdicts(run)) == decided > 0
        label = Label.objects.first()
        assert label is not None
        assert (label.source, label.person, label.judge) == ("llm", None, "llm:small-model · arbiter 3")
        assert label.weight < LabelSource.ANNOTATOR.weight
        assert label.blind is False

    def test_a_suspected_injection_labels_nothing(self, run: Run) -> None:
        Verdict.objects.filter(candidate__run=run).update(decided_by_kind="llm", injection_suspected=True)

        assert labels_from_verdicts(run=run, verdicts=_verdicts(run)) == 0

    def test_people_outrank_models_whichever_came_first(
        self, cast: Cast, run: Run, candidate: Candidate
    ) -> None:
        candidate_override(
            actor=cast.reviewer, candidate=candidate, role=other_role(candidate), reason_code="wrong_role"
        )
        Verdict.objects.filter(candidate=candidate).update(decided_by_kind="llm")
        labels_from_verdicts(run=run, verdicts=_verdicts(run))

        winner = next(row for row in labels_for_training() if row.source is not LabelSource.LLM)
        assert winner.role == other_role(candidate)
        assert len(labels_resolved().overruled) == 1


def _verdicts(run: Run) -> list[Verdict]:
    return list(Verdict.objects.filter(candidate__run=run).select_related("candidate__run__question"))


class TestNeverOverwritten:
    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE labeling_label SET role = 'discarded', binary_label = 0 WHERE false",
            "DELETE FROM labeling_label WHERE false",
            "TRUNCATE labeling_label CASCADE",
            "UPDATE labeling_questionplace SET text = ''",
            "DELETE FROM labeling_labelretraction",
            "UPDATE labeling_guidelineversion SET body = 'x'",
        ],
    )
    def test_the_database_refuses(self, db: None, statement: str) -> None:
        with (
            pytest.raises(DatabaseError, match=r"append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"binary_label": 1},
            {"weight": 0.0},
            {"weight": 1.5},
            {"judge_name": "somebody else"},
            {"source": "guess"},
            {"source": "llm"},
            {"source": "approve"},
            {"line_end": 0},
            {"seconds": -1.0},
        ],
    )
    def test_the_database_takes_no_nonsense(
        self, cast: Cast, candidate: Candidate, wrong: dict[str, object]
    ) -> None:
        label = label_of_candidate(candidate=candidate, role=Role.DISCARDED, source=SourceChoice.ANNOTATOR)
        label.person = cast.annotator
        for name, value in wrong.items():
            setattr(label, name, value)

        with pytest.raises(IntegrityError), transaction.atomic():
            label.save()

    def test_a_label_is_taken_back_once(self, cast: Cast, candidate: Candidate) -> None:
        candidate_approve(actor=cast.reviewer, candidate=candidate)
        label = Label.objects.get()

        label_retract(label=label, by=cast.reviewer, reason="undo")
        label_retract(label=label, by=cast.reviewer, reason="undo")

        assert LabelRetraction.objects.count() == 1
        assert labels_for_training() == ()


class TestGold:
    def test_an_approval_is_never_gold(self, cast: Cast, candidate: Candidate) -> None:
        candidate_approve(actor=cast.reviewer, candidate=candidate)

        assert labels_for_gold() == ()

    def test_two_blind_annotators_make_gold_and_one_does_not(self, cast: Cast, candidate: Candidate) -> None:
        _annotate(cast.annotator, candidate, Role.PRIMARY)
        assert labels_for_gold() == ()

        _annotate(cast.second_reviewer, candidate, Role.SUPPORTING)
        assert len(labels_for_gold()) == 1

    def test_people_who_disagree_make_none_until_adjudicated(self, cast: Cast, candidate: Candidate) -> None:
        _annotate(cast.annotator, candidate, Role.PRIMARY)
        _annotate(cast.second_reviewer, candidate, Role.DISCARDED)
        assert labels_for_gold() == ()

        _annotate(cast.reviewer, candidate, Role.TANGENTIAL, source=SourceChoice.ADJUDICATED)
        assert [row.role for row in labels_for_gold()] == [Role.TANGENTIAL]

    def test_one_reading_finds_what_both_do(self, cast: Cast, candidate: Candidate) -> None:
        candidate_approve(actor=cast.reviewer, candidate=candidate)
        _annotate(cast.annotator, candidate, Role.PRIMARY)
        _annotate(cast.second_reviewer, candidate, Role.SUPPORTING)

        resolution, gold, _kept = labels_read()

        assert (resolution, gold) == (labels_resolved(), labels_for_gold())
        assert gold


def _annotate(
    person: object, candidate: Candidate, role: Role, *, source: str = SourceChoice.ANNOTATOR
) -> None:
    label = label_of_candidate(candidate=candidate, role=role, source=source)
    label.person, label.blind = person, True  # type: ignore[assignment]
    label.save()


class TestSides:
    def test_the_order_of_questions_never_changes(self, cast: Cast, run: Run) -> None:
        question_sides()
        first = list(QuestionPlace.objects.values_list("question_hash", flat=True))
        make_run(asker=cast.analyst, document=run.question.document, text="Who lifts a legal hold?")
        sides = question_sides()

        assert list(QuestionPlace.objects.values_list("question_hash", flat=True))[: len(first)] == first
        assert QuestionPlace.objects.count() == len(first) + 1
        assert sides.side("Who lifts a legal hold?") in Side
