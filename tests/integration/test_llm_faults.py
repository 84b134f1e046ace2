"""Every strategy against a model that fails in every way: nothing lost, invented or doubled, and no failure is
taken for a verdict."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.llm_faults import ABOUT_IDS, BENT, MARGIN_MS, SPEAK_OF_IDS, UNANSWERED
from tests.integration.llm_scene import LLM_MARKS, LLM_STRATEGIES, TIMEOUT_S, Installation

pytest_plugins = ["tests.fake_llm.plugin", "tests.integration.llm_scene"]
pytestmark = LLM_MARKS


def outcomes(run: Any) -> dict[str, Any]:
    """Verdicts by candidate id, after checking that each candidate has exactly one, on record and in the queue."""
    from workbench.review.models import QueueItem
    from workbench.runs.models import Candidate, Verdict

    assert run.status == "done", (run.status, run.failure_reason)
    offered = {c["candidate_id"] for c in run.pool.body["candidates"]}
    candidates = Candidate.objects.filter(run=run)
    verdicts = {
        v.candidate.candidate_id: v
        for v in Verdict.objects.filter(candidate__run=run).select_related("candidate")
    }
    assert offered
    assert {c.candidate_id for c in candidates} == offered == set(verdicts)
    assert candidates.count() == len(offered)
    assert Verdict.objects.filter(candidate__run=run).count() == len(offered)
    items = QueueItem.objects.filter(run=run, candidate__isnull=False)
    assert sorted(items.values_list("candidate__candidate_id", flat=True)) == sorted(offered)
    for verdict in verdicts.values():
        if verdict.role is None:
            assert verdict.decided_by_kind == "undecided"
            assert verdict.needs_person
            assert verdict.reason.startswith("no verdict:")
    return verdicts


def calls_of(run: Any, *, stage: str = "") -> list[Any]:
    from workbench.runs.models import LLMCall

    calls = LLMCall.objects.filter(run=run)
    return list(calls.filter(stage=stage) if stage else calls)


def decided(verdicts: dict[str, Any]) -> dict[str, tuple[str | None, str]]:
    """Role and kind of decider by candidate id."""
    return {identity: (v.role, v.decided_by_kind) for identity, v in verdicts.items()}


_QUIET: dict[str, dict[str, tuple[str | None, str]]] = {}


def undisturbed(installation: Installation, strategy: str) -> dict[str, tuple[str | None, str]]:
    """What the strategy decides without any fault; found out once."""
    if strategy not in _QUIET:
        _QUIET[strategy] = decided(outcomes(installation.ask(strategy)))
        installation.fake.reset()
    return _QUIET[strategy]


def by_model(verdicts: dict[str, Any]) -> list[str]:
    return [identity for identity, verdict in verdicts.items() if verdict.decided_by_kind == "llm"]


@pytest.mark.parametrize("strategy", LLM_STRATEGIES)
def test_a_model_that_behaves_decides(installation: Installation, strategy: str) -> None:
    run = installation.ask(strategy)

    verdicts = outcomes(run)
    assert by_model(verdicts)
    assert not [v for v in verdicts.values() if v.role is None]
    assert not run.notes or "failed" not in " ".join(run.notes)
    assert {call.outcome for call in calls_of(run)} <= {"ok"}


@pytest.mark.parametrize("strategy", LLM_STRATEGIES)
@pytest.mark.parametrize("fault", UNANSWERED)
def test_without_an_answer_no_model_decides(installation: Installation, strategy: str, fault: str) -> None:
    installation.fake.fault(fault)
    run = installation.ask(strategy)

    verdicts = outcomes(run)
    assert by_model(verdicts) == []
    calls = calls_of(run)
    assert calls
    assert {call.outcome for call in calls} <= {UNANSWERED[fault], "circuit_open", "timeout"}
    assert not run.not_found, "a failure proves nothing"
    assert run.needs_person
    assert any("failed" in note or "lost" in note for note in run.notes), run.notes
    for call in calls:
        assert call.latency_ms < 1000 * TIMEOUT_S + MARGIN_MS
        # The time-out is all the time there is: no second attempt of the same length follows.
        assert fault != "hang" or call.attempt == 1


@pytest.mark.parametrize("strategy", LLM_STRATEGIES)
@pytest.mark.parametrize("fault", BENT)
def test_a_bent_answer_is_no_verdict(installation: Installation, strategy: str, fault: str) -> None:
    installation.fake.fault(fault)
    run = installation.ask(strategy)

    verdicts = outcomes(run)
    assert by_model(verdicts) == []
    assert not run.not_found
    assert run.needs_person


@pytest.mark.parametrize("strategy", LLM_STRATEGIES)
@pytest.mark.parametrize("fault", ABOUT_IDS)
def test_ids_that_were_never_offered_or_come_twice_change_no_candidate(
    installation: Installation, strategy: str, fault: str
) -> None:
    quiet = undisturbed(installation, strategy)
    installation.fake.fault(fault)
    run = installation.ask(strategy)

    seen = decided(outcomes(run))
    assert set(seen) == set(quiet)
    speaks_of_ids = strategy in SPEAK_OF_IDS
    if fault != "missing_ids" or not speaks_of_ids:
        assert seen == quiet
    if speaks_of_ids and fault == "invented_ids":
        assert run.unknown_ids
    if speaks_of_ids and fault == "repeated_ids":
        assert run.repeated_ids
    if strategy in ("arbiter", "multi-criteria", "multi-criteria-2") and fault == "missing_ids":
        changed = {identity for identity in seen if seen[identity] != quiet[identity]}
        assert len(changed) == 1, "left out of the first answer and of the repair"
        assert {seen[identity] for identity in changed} == {(None, "undecided")}


@pytest.mark.parametrize("strategy", ["consensus", "pointwise", "r-flow"])
@pytest.mark.parametrize("fault", ["hang", "half_body", "refusal"])
def test_one_lost_call_of_several_loses_only_its_own_candidates(
    installation: Installation, strategy: str, fault: str
) -> None:
    installation.fake.fault(fault, match="Audit records are kept for seven years.")
    run = installation.ask(strategy)

    verdicts = outcomes(run)
    struck = [v for v in verdicts.values() if "Audit records" in v.candidate.text.anchor]
    (target,) = [v for v in struck if "seven years" in v.candidate.text.anchor]
    assert target.decided_by_kind != "llm"
    if strategy != "r-flow":  # there the rules decide all others without a call
        assert by_model(verdicts), "the other calls stand"
    longest = max(call.latency_ms for call in calls_of(run))
    assert longest < 1000 * TIMEOUT_S + MARGIN_MS


@pytest.mark.parametrize("strategy", LLM_STRATEGIES)
def test_a_short_fault_is_retried_and_leaves_no_trace_in_the_verdicts(
    installation: Installation, strategy: str
) -> None:
    quiet = undisturbed(installation, strategy)
    installation.fake.fault("server_error", times=1)
    run = installation.ask(strategy)

    seen = outcomes(run)
    assert {call.outcome for call in calls_of(run)} == {"ok", "server_error"}
    if strategy != "pointwise":  # its calls are tight and never made twice
        assert decided(seen) == quiet


def test_what_two_turns_ranked_by_is_kept_and_a_persons_criteria_save_the_first_call(
    installation: Installation,
) -> None:
    from workbench.runs.rubrics import rubric_of

    run = installation.ask("multi-criteria-2")
    inferred = rubric_of(run)
    assert inferred is not None
    assert calls_of(run, stage="rubric")
    assert all(
        "total" in verdict.terms for verdict in outcomes(run).values() if verdict.raw_score is not None
    )

    edited = inferred.model_copy(deep=True)
    edited.criteria[0].weight = 0.25
    again = installation.ask("multi-criteria-2", rubric=edited)
    assert rubric_of(again) == edited
    assert not calls_of(again, stage="rubric")
