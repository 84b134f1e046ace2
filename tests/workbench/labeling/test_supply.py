"""Pairs from runs and from what was discarded."""

from __future__ import annotations

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from arbitration.evaluation.question_groups import question_hash
from tests.workbench.cast import Cast
from tests.workbench.labeling.makers import annotators, make_pairs, make_project
from tests.workbench.scene import make_run
from training.snapshot import QuestionSides, Side
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document
from workbench.errors import NotAllowed, WorkbenchError
from workbench.labeling import supply, tasks
from workbench.labeling.elusion import elusion_rates
from workbench.labeling.models import Pair, PairOrigin, Project, Slot, SlotState
from workbench.labeling.projects import project_supply
from workbench.labeling.supply import (
    elusion_draw,
    is_double,
    pairs_add_from_runs,
    pairs_store,
    project_fill,
    projects_to_fill,
)
from workbench.labeling.work import slot_answer, slot_claim_next
from workbench.review.enqueue import disagreement, uncertainty
from workbench.review.models import QueueItem
from workbench.review.services import candidate_choose, candidate_override
from workbench.runs.models import Candidate, Run, Verdict

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def project(cast: Cast) -> Project:
    return make_project(cast)


@pytest.fixture
def run(cast: Cast, project: Project) -> Run:
    return make_run(asker=cast.analyst, document=Document.objects.get())


def all_on(side: Side):  # type: ignore[no-untyped-def]
    share = 1.0 if side is Side.HOLDOUT else 0.0
    return lambda **_: QuestionSides.of(
        Run.objects.values_list("question__text", flat=True), holdout_share=share
    )


class TestRuns:
    def test_candidates_become_pairs_once(
        self, cast: Cast, project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(supply, "question_sides", all_on(Side.TRAINING))
        first = pairs_add_from_runs(actor=cast.admin, project=project, limit=500)
        make_run(asker=cast.analyst, document=Document.objects.get(), use_cache=False)
        again = pairs_add_from_runs(actor=cast.admin, project=project, limit=500)

        assert first.added == Pair.objects.count() > 2
        assert again.added == 0
        assert again.known == first.added
        assert Slot.objects.count() == first.added
        assert AuditEvent.objects.filter(action="labeling.pairs_added").count() == 2

    def test_the_limit_takes_the_most_uncertain(
        self, cast: Cast, project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(supply, "question_sides", all_on(Side.TRAINING))
        by_worth = sorted(
            run.candidates.select_related("verdict", "run"),
            key=lambda c: (-uncertainty(c.verdict.probability) - disagreement(c), c.pk),
        )

        pairs_add_from_runs(actor=cast.admin, project=project, limit=2)

        assert set(Pair.objects.values_list("candidate", flat=True)) == {c.pk for c in by_worth[:2]}

    def test_holdout_questions_go_to_two_people_whatever_the_role(
        self, cast: Cast, project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(supply, "question_sides", all_on(Side.HOLDOUT))
        monkeypatch.setattr(supply, "HOLDOUT_PER_QUESTION", 3)

        supplied = pairs_add_from_runs(actor=cast.admin, project=project, limit=0)

        assert (supplied.added, supplied.double) == (3, 3)
        assert Slot.objects.count() == 6
        # Another word of the machine changes nothing: the sample does not look at roles.
        chosen = set(Pair.objects.values_list("candidate", flat=True))
        Slot.objects.all().delete()
        Pair.objects.all().delete()
        Verdict.objects.update(role="discarded", probability=0.01)
        pairs_add_from_runs(actor=cast.admin, project=project, limit=0)
        assert set(Pair.objects.values_list("candidate", flat=True)) == chosen

    def test_only_admins(self, cast: Cast, project: Project, run: Run) -> None:
        for actor in (cast.annotator, cast.analyst, cast.reviewer, cast.outsider):
            with pytest.raises(NotAllowed):
                pairs_add_from_runs(actor=actor, project=project, limit=5)

    @given(st.floats(0, 1))
    def test_the_double_coded_share_is_kept(self, share: float) -> None:
        pairs = [
            Pair(
                collection_id=1,
                question_hash=question_hash(f"q{n}"),
                document_id=1,
                page_start=1,
                line_start=n,
                page_end=1,
                line_end=n,
            )
            for n in range(500)
        ]
        doubled = sum(is_double(pair, share=share) for pair in pairs) / 500

        assert abs(doubled - share) < 0.09

    def test_two_who_add_at_once_leave_one_of_each(self, cast: Cast, project: Project) -> None:
        (pair,) = make_pairs(project, 1)
        pair.pk = None

        assert pairs_store(project=project, pairs=[pair]).added == 0
        assert Slot.objects.count() == 1


class TestElusion:
    def discard_all(self, run: Run) -> int:
        Verdict.objects.filter(candidate__run=run).update(role="discarded", probability=0.02)
        return run.candidates.count()

    def test_a_sample_of_what_was_discarded_and_its_rate(
        self, cast: Cast, project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(supply, "question_sides", all_on(Side.TRAINING))
        population = self.discard_all(run)
        sample = elusion_draw(actor=cast.admin, project=project, size=3, seed=3)
        assert (sample.population, sample.pairs.count()) == (population, 3)
        assert set(sample.pairs.values_list("origin", flat=True)) == {PairOrigin.DISCARDED}

        for role in ("discarded", "primary"):
            slot = slot_claim_next(actor=cast.annotator, project=project)
            assert slot is not None
            slot_answer(actor=cast.annotator, slot=slot, role=role)

        (rate,) = elusion_rates(collection=cast.alpha)
        assert (rate.drawn, rate.population, rate.rate.n) == (3, population, 2)
        assert rate.rate.value == 0.5
        assert rate.rate.low is not None
        assert rate.rate.high is not None
        assert rate.rate.low < 0.5 < rate.rate.high

    def test_what_a_person_brought_back_is_not_discarded(
        self, cast: Cast, project: Project, run: Run
    ) -> None:
        population = self.discard_all(run)
        candidate = Candidate.objects.filter(run=run).first()
        assert candidate is not None
        candidate_override(
            actor=cast.reviewer, candidate=candidate, role="supporting", reason_code="missed_context"
        )

        sample = elusion_draw(actor=cast.admin, project=project, size=500, seed=1)

        assert sample.population == population - 1
        assert candidate.pk not in sample.pairs.values_list("candidate", flat=True)

    def test_a_card_that_waits_for_a_blind_decision_is_not_counted(
        self, cast: Cast, project: Project, run: Run
    ) -> None:
        """Else the size of the population would tell its role to who decides it."""
        population = self.discard_all(run)
        waiting = run.candidates.order_by("pk").first()
        assert waiting is not None
        QueueItem.objects.filter(candidate=waiting).update(is_blind=True)
        sample = elusion_draw(actor=cast.admin, project=project, size=500, seed=1)
        assert sample.population == population - 1
        assert waiting.pk not in sample.pairs.values_list("candidate", flat=True)
        candidate_choose(actor=cast.reviewer, candidate=waiting, role="discarded")
        assert elusion_draw(actor=cast.admin, project=project, size=500, seed=1).population == population

    def test_the_seed_decides_and_nothing_else(
        self, cast: Cast, project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(supply, "question_sides", all_on(Side.TRAINING))
        self.discard_all(run)
        one, same, other = (
            set(
                elusion_draw(actor=cast.admin, project=project, size=3, seed=seed).pairs.values_list(
                    "pk", flat=True
                )
            )
            for seed in (5, 5, 6)
        )

        assert one == same
        assert one != other or Candidate.objects.filter(run=run).count() <= 3

    def test_a_disputed_pair_counts_once_it_is_settled(
        self, cast: Cast, project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(supply, "question_sides", all_on(Side.HOLDOUT))
        self.discard_all(run)
        elusion_draw(actor=cast.admin, project=project, size=1, seed=1)
        for person, role in zip(
            [cast.annotator, *annotators(cast, 1)], ["primary", "discarded"], strict=True
        ):
            slot = slot_claim_next(actor=person, project=project)
            assert slot is not None
            slot_answer(actor=person, slot=slot, role=role)

        (rate,) = elusion_rates(collection=cast.alpha)
        assert rate.rate.n == 0
        assert not Slot.objects.exclude(state=SlotState.LABELLED).exists()

    def test_nothing_discarded(self, cast: Cast, project: Project) -> None:
        with pytest.raises(WorkbenchError, match="discarded anything"):
            elusion_draw(actor=cast.admin, project=project, size=4, seed=1)


class TestKeptWaiting:
    def test_beat_supplies_what_is_missing_and_no_more(
        self, cast: Cast, project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(supply, "question_sides", all_on(Side.TRAINING))
        assert projects_to_fill() == []
        project_supply(actor=cast.admin, project=project, keep_waiting=2)

        assert projects_to_fill() == [project.pk]
        supplied = project_fill(project_id=project.pk)

        assert supplied is not None
        assert supplied.added == Pair.objects.count() == 2
        assert projects_to_fill() == []
        assert project_fill(project_id=project.pk) is None
        assert AuditEvent.objects.get(action="labeling.pairs_added").actor.is_system
        assert AuditEvent.objects.filter(action="labeling.supply_changed").count() == 1

    def test_nothing_new_is_no_event(self, cast: Cast, project: Project) -> None:
        project_supply(actor=cast.admin, project=project, keep_waiting=5)

        assert project_fill(project_id=project.pk) is not None
        assert not AuditEvent.objects.filter(action="labeling.pairs_added").exists()

    def test_a_closed_project_is_left_alone(self, cast: Cast, project: Project, run: Run) -> None:
        project_supply(actor=cast.admin, project=project, keep_waiting=5)
        Project.objects.update(is_open=False)

        assert projects_to_fill() == []
        assert project_fill(project_id=project.pk) is None

    def test_the_task_wakes_a_worker_for_each_project_that_runs_out(
        self, cast: Cast, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent: list[int] = []
        monkeypatch.setattr(tasks, "dispatch", lambda task, *, project_id: sent.append(project_id) or True)
        project_supply(actor=cast.admin, project=project, keep_waiting=5)

        assert tasks.supply() == 1
        assert sent == [project.pk]
        assert "labeling.supply" in {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}

    def test_only_admins_set_it(self, cast: Cast, project: Project) -> None:
        for actor in (cast.annotator, cast.reviewer, cast.analyst, cast.outsider):
            with pytest.raises(NotAllowed):
                project_supply(actor=actor, project=project, keep_waiting=5)
