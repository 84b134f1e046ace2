"""The stages of a run: each done once however often it is begun, and never after somebody stopped it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from arbitration.errors import ArbitrationError, LLMFailure
from tests.workbench.cast import Cast
from tests.workbench.scene import make_document, make_run
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document, DocumentStatus
from workbench.review.models import QueueItem
from workbench.runs import execution, tasks
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Answer, Candidate, Run, RunStatus, Verdict
from workbench.runs.services import question_ask, run_cancel
from workbench.runs.waiting import run_wait

pytestmark = pytest.mark.usefixtures("here")

STAGES = {"detect": run_detect, "arbitrate": run_arbitrate, "write_answer": run_answer}
BEFORE = {"detect": [], "arbitrate": [run_detect], "write_answer": [run_detect, run_arbitrate]}
GOING = {
    "detect": RunStatus.DETECTING,
    "arbitrate": RunStatus.ARBITRATING,
    "write_answer": RunStatus.ANSWERING,
}


@pytest.fixture
def document(cast: Cast) -> Document:
    return make_document(collection=cast.alpha, owner=cast.analyst)


@pytest.fixture
def run(cast: Cast, document: Document) -> Run:
    return asked(cast, document)


def asked(cast: Cast, document: Document) -> Run:
    return question_ask(
        actor=cast.analyst,
        collection=cast.alpha,
        document=document,
        text="How long are access records kept?",
        strategy="offline",
        use_cache=False,
    ).run


def up_to(run: Run, stage: str) -> None:
    for earlier in BEFORE[stage]:
        earlier(run_id=run.pk)


def finish(run: Run) -> Run:
    for stage in STAGES.values():
        stage(run_id=run.pk)
    run.refresh_from_db()
    return run


def test_each_stage_notes_what_it_took_and_when_it_ended(run: Run) -> None:
    stages = finish(run).stages
    ends = [datetime.fromisoformat(stage["ended_at"]) for stage in stages]
    assert {stage["stage"] for stage in stages} >= {"detect", "aggregate", "answer"}
    assert all(stage["ms"] >= 0 for stage in stages)
    assert ends == sorted(ends)
    assert run.created_at < ends[0]
    assert ends[-1] < timezone.now()


def record(run: Run) -> list[tuple[object, ...]]:
    verdicts = Verdict.objects.filter(candidate__run=run).order_by("order")
    return list(verdicts.values_list("candidate__candidate_id", "role", "reason", "probability", "order"))


def during(monkeypatch: pytest.MonkeyPatch, stage: str, happens: Callable[[], object]) -> None:
    """Something happens while the engine is at work."""
    work = getattr(execution, stage)

    def disturbed(*args: object, **kwargs: object) -> object:
        done = work(*args, **kwargs)
        happens()
        return done

    monkeypatch.setattr(execution, stage, disturbed)


def dies() -> None:
    raise SystemExit


def test_a_run_goes_to_its_end(run: Run) -> None:
    finish(run)

    assert run.status == RunStatus.DONE
    assert (run.lease_owner, run.lease_until, run.attempts) == ("", None, 0)
    assert run.candidates.count() == len(record(run)) > 0
    assert Answer.objects.filter(run=run).count() == 1
    assert QueueItem.objects.filter(run=run).count() >= run.candidates.count()
    assert AuditEvent.objects.filter(action="run.finished").count() == 1


def test_without_a_model_a_run_keeps_its_database_session(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[None] = []
    monkeypatch.setattr(execution, "give_connection_back", lambda: closed.append(None))

    finish(run)

    assert (run.status, closed) == (RunStatus.DONE, [])


@pytest.mark.parametrize("stage", STAGES)
class TestEachStage:
    def test_stopped_in_the_middle_it_stays_stopped(
        self, cast: Cast, run: Run, monkeypatch: pytest.MonkeyPatch, stage: str
    ) -> None:
        up_to(run, stage)
        during(monkeypatch, stage, lambda: run_cancel(actor=cast.analyst, run=run))

        STAGES[stage](run_id=run.pk)
        finish(run)

        assert run.status == RunStatus.CANCELLED
        assert not AuditEvent.objects.filter(action__in=["run.finished", "run.failed"]).exists()

    def test_stopped_just_after_it_was_taken_nothing_is_computed(
        self, cast: Cast, run: Run, monkeypatch: pytest.MonkeyPatch, stage: str
    ) -> None:
        up_to(run, stage)
        claim = execution.lease_claim

        def stopped(*args: object, **kwargs: object) -> bool:
            taken = claim(*args, **kwargs)  # type: ignore[arg-type]
            run_cancel(actor=cast.analyst, run=run)
            return taken

        monkeypatch.setattr(execution, "lease_claim", stopped)
        monkeypatch.setattr(execution, stage, lambda *_, **__: pytest.fail("it was computed"))
        STAGES[stage](run_id=run.pk)

        run.refresh_from_db()
        assert run.status == RunStatus.CANCELLED

    def test_after_a_crash_it_is_done_again_with_the_same_end(
        self, cast: Cast, document: Document, run: Run, monkeypatch: pytest.MonkeyPatch, stage: str
    ) -> None:
        undisturbed = finish(asked(cast, document))
        up_to(run, stage)
        with monkeypatch.context() as patch:
            during(patch, stage, dies)
            with pytest.raises(SystemExit):
                STAGES[stage](run_id=run.pk)
        Run.objects.filter(pk=run.pk).update(lease_owner="gone", lease_until=Now() - timedelta(seconds=1))
        woken: list[tuple[object, int]] = []
        monkeypatch.setattr(tasks, "dispatch", lambda task, run_id: woken.append((task, run_id)) or True)
        assert tasks.sweep() == 1
        assert woken == [(tasks.NEXT_TASK[GOING[stage]], run.pk)]

        finish(run)

        assert run.status == RunStatus.DONE
        assert record(run) == record(undisturbed)
        assert Answer.objects.filter(run=run).count() == 1
        assert Candidate.objects.filter(run=run).count() == Candidate.objects.filter(run=undisturbed).count()

    def test_a_message_that_comes_twice_changes_nothing(self, run: Run, stage: str) -> None:
        finish(run)
        before = record(run)

        STAGES[stage](run_id=run.pk)

        assert record(run) == before
        assert AuditEvent.objects.filter(action="run.finished").count() == 1

    def test_three_lost_workers_are_enough(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, stage: str
    ) -> None:
        up_to(run, stage)
        with monkeypatch.context() as patch:
            during(patch, stage, dies)
            for _ in range(3):
                with pytest.raises(SystemExit):
                    STAGES[stage](run_id=run.pk)
                Run.objects.filter(pk=run.pk).update(lease_until=Now() - timedelta(seconds=1))

        STAGES[stage](run_id=run.pk)

        run.refresh_from_db()
        assert run.status == RunStatus.FAILED
        assert "three times" in run.failure_reason

    @pytest.mark.parametrize(
        "failure",
        [ArbitrationError("It broke."), LLMFailure("budget", "Spent."), ArbitrationError("\x00 \ud800")],
    )
    def test_a_failure_has_a_reason(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, stage: str, failure: Exception
    ) -> None:
        up_to(run, stage)

        def fails(*_: object, **__: object) -> None:
            raise failure

        monkeypatch.setattr(execution, stage, fails)
        STAGES[stage](run_id=run.pk)

        run.refresh_from_db()
        assert run.status == RunStatus.FAILED
        assert run.failure_reason.strip()
        assert AuditEvent.objects.filter(action="run.failed").count() == 1

    def test_a_worker_that_lost_its_lease_fails_nobody_elses_work(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, stage: str
    ) -> None:
        up_to(run, stage)

        def overtaken(*_: object, **__: object) -> None:
            Run.objects.filter(pk=run.pk).update(lease_owner="the new one")
            raise ArbitrationError("Too late.")

        monkeypatch.setattr(execution, stage, overtaken)
        STAGES[stage](run_id=run.pk)

        run.refresh_from_db()
        assert (run.status, run.lease_owner) == (GOING[stage], "the new one")


def test_hostile_characters_in_a_verdict_stop_nobody(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    decide = execution.arbitrate

    def hostile(**kwargs: object) -> object:
        decision = decide(**kwargs)  # type: ignore[arg-type]
        verdicts = [v.model_copy(update={"reason": "NUL \x00 and \ud800"}) for v in decision.verdicts]
        return decision.model_copy(update={"verdicts": tuple(verdicts), "notes": ("\x00",)})

    monkeypatch.setattr(execution, "arbitrate", hostile)
    finish(run)

    assert run.status == RunStatus.DONE
    assert {verdict.reason for verdict in Verdict.objects.filter(candidate__run=run)} == {"NUL  and"}


def test_a_document_that_is_not_ready_any_more_fails_the_run_instead_of_proving_absence(
    run: Run, document: Document
) -> None:
    Document.objects.filter(pk=document.pk).update(status=DocumentStatus.CANCELLED)

    run_detect(run_id=run.pk)

    run.refresh_from_db()
    assert run.status == RunStatus.FAILED
    assert "not ready" in run.failure_reason


def test_what_is_nowhere_is_not_found_and_waits_for_a_person(cast: Cast, document: Document) -> None:
    run = make_run(asker=cast.analyst, document=document, text="Which unicorns pay stamp duty?")

    assert run.not_found
    assert run.not_found_reason.startswith("no_keyword_match: searched")
    assert "3 titles and 10 lines of 1 document" in run.not_found_reason
    (item,) = QueueItem.objects.filter(run=run, candidate__isnull=True)
    assert item.is_required
    assert item.why == ["not_found"]


class TestWaiting:
    def test_without_a_worker_the_waiting_process_does_it(self, run: Run) -> None:
        assert run_wait(run_id=run.pk, patience=0).status == RunStatus.DONE

    @pytest.mark.parametrize("stage", STAGES)
    def test_it_takes_over_from_a_worker_that_is_gone(self, run: Run, stage: str) -> None:
        """Whether the worker gave its lease back in dying, or the lease ran out."""
        up_to(run, stage)
        Run.objects.filter(pk=run.pk).update(
            status=GOING[stage], lease_owner="gone", lease_until=Now() - timedelta(seconds=1)
        )

        assert run_wait(run_id=run.pk, patience=0).status == RunStatus.DONE
