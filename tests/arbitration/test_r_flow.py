from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from arbitration.contracts import Role
from arbitration.decision import arbitrate
from arbitration.detection import detect
from arbitration.errors import LLMFailure
from arbitration.evaluation.outcomes import outcome_of
from arbitration.evidence import evidence_scores
from arbitration.features import FEATURE_NAMES, pool_features
from arbitration.pool import CandidatePool
from arbitration.protocols import ChatRequest
from arbitration.strategies.base import StrategyServices, Verdict
from arbitration.strategies.r_flow import R_FLOW, R_FLOW_MLP, SEMANTIC_GATES
from arbitration.strategies.registry import get_strategy
from arbitration.triage import GateProfile, gate_inputs
from tests.arbitration.engine.makers import RETENTION_POLICY, FakeChat, HashEmbedder, make_store

QUESTION = "How long are audit records kept?"


@dataclass
class FixedScorer:
    """A model that gives each candidate of the pool the probability it is told."""

    values: list[float]
    version: str = "7"
    feature_version: int = 2
    threshold: float = 0.5

    def probabilities(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.array(self.values[: len(features)])


@pytest.fixture
def pool() -> CandidatePool:
    embedder = HashEmbedder()
    return detect(question=QUESTION, store=make_store(RETENTION_POLICY, embedder=embedder), embedder=embedder)


def services(
    pool: CandidatePool, *values: float, chat: FakeChat | None = None, **options: object
) -> StrategyServices:
    padded = [*values, *([0.05] * (len(pool.candidates) - len(values)))]
    return StrategyServices(
        scorer=FixedScorer(padded), feature_rows=pool_features, chat=chat, options=options
    )


def verdict_of(verdicts: tuple[Verdict, ...], pool: CandidatePool, position: int) -> Verdict:
    wanted = pool.candidates[position].candidate_id
    return next(verdict for verdict in verdicts if verdict.candidate_id == wanted)


def judge(score: int) -> FakeChat:
    return FakeChat(
        lambda request: json.dumps({"reason": "It says so.", "score": score, "counter_argument": None})
    )


def test_a_pool_has_its_feature_rows(pool: CandidatePool) -> None:
    rows = pool_features(pool)

    assert rows.shape == (len(pool.candidates), len(FEATURE_NAMES))
    assert rows[:, FEATURE_NAMES.index("keyword_match")].any()
    estimates = evidence_scores(pool)
    assert rows[:, FEATURE_NAMES.index("estimate")].tolist() == [
        estimates[candidate.candidate_id] for candidate in pool.candidates
    ]


def test_the_reranker_decides_the_clear_and_people_the_rest_without_a_model(pool: CandidatePool) -> None:
    outcome = R_FLOW.decide(pool, services=services(pool, 0.95, 0.5))

    first, second, third = (verdict_of(outcome.verdicts, pool, n) for n in range(3))
    assert first.role in (Role.PRIMARY, Role.SUPPORTING)
    assert (first.decided_by.kind, first.decided_by.version) == ("mlp", "7")
    assert first.probability == 0.95
    assert "“Audit records are kept for seven years after the audit has closed”" in first.reason
    assert (second.role, second.needs_person) == (Role.TANGENTIAL, True)
    assert (third.role, third.needs_person) == (Role.DISCARDED, False)
    assert any("no language model" in note for note in outcome.notes)
    assert outcome.calls == ()


def test_only_the_uncertain_reach_the_judge(pool: CandidatePool) -> None:
    chat = judge(7)

    outcome = R_FLOW.decide(pool, services=services(pool, 0.95, 0.5, 0.45, chat=chat))

    assert len(chat.requests) == len(outcome.calls) == 2
    verdict = verdict_of(outcome.verdicts, pool, 1)
    assert verdict.role in (Role.PRIMARY, Role.SUPPORTING)
    assert verdict.decided_by.kind == "llm"
    assert verdict.raw_score == pytest.approx(0.5 * (0.5 + 7 / 9))
    assert verdict.terms == {"verifier": 7.0, "base": 0.5}


@pytest.mark.parametrize(("score", "accepted"), [(4, False), (5, True)])
def test_the_judges_bar(pool: CandidatePool, score: int, accepted: bool) -> None:
    outcome = R_FLOW.decide(pool, services=services(pool, 0.5, chat=judge(score)))

    assert (verdict_of(outcome.verdicts, pool, 0).role is not Role.DISCARDED) is accepted


@pytest.mark.parametrize(
    "answer",
    [LLMFailure("timeout", "no answer within 60 s"), '{"score": 12, "reason": "x"}', "seven, I think"],
)
def test_a_failed_call_is_no_verdict(pool: CandidatePool, answer: str | LLMFailure) -> None:
    outcome = R_FLOW.decide(pool, services=services(pool, 0.5, 0.9, chat=FakeChat(lambda request: answer)))

    failed = verdict_of(outcome.verdicts, pool, 0)
    assert (failed.role, failed.needs_person, failed.raw_score) == (None, True, 0.5)
    assert outcome.undecided_ids == (failed.candidate_id,)
    assert outcome.calls[0].outcome != "ok"
    assert verdict_of(outcome.verdicts, pool, 1).role is not None


def test_one_failure_costs_no_other_candidate_its_verdict(pool: CandidatePool) -> None:
    hurt = pool.candidates[0].anchor_text.splitlines()[0]

    def script(request: ChatRequest) -> str | LLMFailure:
        passage = request.user.partition("Surroundings:")[0]
        if hurt in passage:
            return LLMFailure("rate_limited", "too many requests")
        return json.dumps({"reason": "Yes.", "score": 9, "counter_argument": None})

    outcome = R_FLOW.decide(pool, services=services(pool, 0.5, 0.5, chat=FakeChat(script)))

    assert len(outcome.verdicts) == len(pool.candidates)
    assert outcome.undecided_ids == (pool.candidates[0].candidate_id,)
    assert verdict_of(outcome.verdicts, pool, 1).role in (Role.PRIMARY, Role.SUPPORTING)


def test_calibrated_gates_reject_before_the_judge_and_never_what_the_reranker_accepts(
    pool: CandidatePool,
) -> None:
    shut = GateProfile(name="tight", minimum=1.0, verify=1.0, accept=1.0, gap=0.0, evidence_lost=0.0)
    chat = judge(9)

    outcome = R_FLOW.decide(pool, services=services(pool, 0.95, 0.5, chat=chat, gates=shut))

    assert verdict_of(outcome.verdicts, pool, 0).role in (Role.PRIMARY, Role.SUPPORTING)
    rejected = verdict_of(outcome.verdicts, pool, 1)
    assert (rejected.role, rejected.decided_by.kind, rejected.decided_by.name) == (
        Role.DISCARDED,
        "gate",
        "tight",
    )
    assert chat.requests == []


def test_the_gates_take_an_unseen_passage_for_as_close_as_the_last_one_seen(pool: CandidatePool) -> None:
    cosines = [0.5, 0.3, *[None] * (len(pool.candidates) - 2)]
    seen = pool.model_copy(
        update={
            "candidates": tuple(
                c.model_copy(update={"signals": c.signals.model_copy(update={"semantic": cosine})})
                for c, cosine in zip(pool.candidates, cosines, strict=True)
            )
        }
    )

    inputs = gate_inputs(seen, GateProfile())

    assert [found.semantic for found in inputs[:3]] == [0.5, 0.3, 0.3]


def test_gates_may_come_as_plain_data(pool: CandidatePool) -> None:
    gates = GateProfile(minimum=0.0, verify=0.0, accept=0.0, gap=1.0).model_dump()

    outcome = R_FLOW.decide(pool, services=services(pool, 0.5, gates=gates))

    assert verdict_of(outcome.verdicts, pool, 0).decided_by.kind == "gate"


def test_a_section_that_the_question_names_needs_neither_model_nor_gate() -> None:
    embedder = HashEmbedder()
    store = make_store(RETENTION_POLICY, embedder=embedder)
    pool = detect(question="What does section 3 say about records?", store=store, embedder=embedder)

    outcome = R_FLOW.decide(pool, services=services(pool))

    named = [verdict for verdict in outcome.verdicts if verdict.decided_by.name == "pattern and alias match"]
    assert [verdict.role for verdict in named] == [Role.PRIMARY]
    assert "archivist" in next(
        c.anchor_text for c in pool.candidates if c.candidate_id == named[0].candidate_id
    )


def test_the_rung_without_a_judge_ranks_by_the_reranker_even_where_a_section_is_named() -> None:
    embedder = HashEmbedder()
    store = make_store(RETENTION_POLICY, embedder=embedder)
    pool = detect(question="What does section 3 say about records?", store=store, embedder=embedder)
    named = [c.signals.pattern > 0 for c in pool.candidates]
    assert any(named)
    values = [0.2 if is_named else 0.9 - 0.01 * row for row, is_named in enumerate(named)]

    verdicts = R_FLOW_MLP.decide(pool, services=services(pool, *values)).verdicts

    by_id = dict(zip([c.candidate_id for c in pool.candidates], values, strict=True))
    ranked = [by_id[verdict.candidate_id] for verdict in verdicts]
    assert ranked == sorted(ranked, reverse=True)


def test_without_a_deployed_model_the_rules_estimate(pool: CandidatePool) -> None:
    outcome = R_FLOW.decide(pool, services=StrategyServices())

    estimates = evidence_scores(pool)
    assert {verdict.candidate_id: verdict.probability for verdict in outcome.verdicts} == estimates
    assert any("no reranker is deployed" in note for note in outcome.notes)
    assert all(verdict.decided_by.kind != "mlp" for verdict in outcome.verdicts)


def test_the_mlp_baseline_ranks_by_probability_alone(pool: CandidatePool) -> None:
    values = [0.3, 0.9, 0.5, 0.61]

    decision = arbitrate(pool=pool, strategy=R_FLOW_MLP, services=services(pool, *values))

    ranked = [verdict.probability for verdict in decision.verdicts]
    assert ranked == sorted(ranked, reverse=True)
    assert [verdict.role for verdict in decision.verdicts[:3]] == [
        Role.PRIMARY,
        Role.PRIMARY,
        Role.TANGENTIAL,
    ]


def test_blending_changes_the_order(pool: CandidatePool) -> None:
    values = [0.50 + 0.01 * n for n in range(len(pool.candidates))]

    by_p = R_FLOW_MLP.decide(pool, services=services(pool, *values)).verdicts
    blended = R_FLOW_MLP.decide(pool, services=services(pool, *values, blend_weight=1.0)).verdicts

    semantic = pool_features(pool)[:, FEATURE_NAMES.index("semantic_score")]
    cosine = {c.candidate_id: score for c, score in zip(pool.candidates, semantic, strict=True)}
    assert [v.probability for v in by_p] == sorted((v.probability for v in by_p), reverse=True)  # type: ignore[type-var]
    assert [cosine[v.candidate_id] for v in blended] == sorted(cosine.values(), reverse=True)


def test_the_blend_is_served_on_the_feature_it_was_tuned_on(pool: CandidatePool) -> None:
    """Training chooses the weight by the feature's column, with what no detector measured filled in as there."""
    first = pool.candidates[0]
    unseen = first.model_copy(
        update={
            "signals": first.signals.model_copy(update={"semantic": None}),
            "scores": {name: score for name, score in first.scores.items() if name != "embedding"},
        }
    )
    pool = pool.model_copy(update={"candidates": (unseen, *pool.candidates[1:])})
    values = np.array([0.50 + 0.01 * n for n in range(len(pool.candidates))])

    verdicts = R_FLOW_MLP.decide(pool, services=services(pool, *values, blend_weight=0.4)).verdicts

    tuned = 0.4 * pool_features(pool)[:, 0] + 0.6 * values
    served = {verdict.candidate_id: verdict.raw_score for verdict in verdicts}
    assert [served[c.candidate_id] for c in pool.candidates] == pytest.approx(tuned)


def test_an_impossible_blend_weight_is_refused(pool: CandidatePool) -> None:
    with pytest.raises(ValueError, match="blend_weight"):
        R_FLOW.decide(pool, services=services(pool, blend_weight=2))


def test_gates_alone_as_a_baseline(pool: CandidatePool) -> None:
    gates = GateProfile(minimum=0.0, verify=0.3, accept=0.6, gap=1.0)

    outcome = SEMANTIC_GATES.decide(pool, services=StrategyServices(options={"gates": gates}))

    scores = [verdict.raw_score for verdict in outcome.verdicts]
    assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]
    for verdict in outcome.verdicts:
        assert verdict.raw_score is not None
        expected = Role.PRIMARY if verdict.raw_score >= 0.6 else Role.TANGENTIAL
        assert verdict.role is (expected if verdict.raw_score >= 0.3 else Role.DISCARDED)


def test_an_outcome_says_who_decided_what(pool: CandidatePool) -> None:
    decision = arbitrate(pool=pool, strategy=R_FLOW, services=services(pool, 0.95, 0.5, chat=judge(8)))

    outcome = outcome_of(pool, decision, dataset_ids={"d1": "policy"}, latency_ms=12.0)

    assert len(outcome.ranking) == outcome.candidates == len(pool.candidates)
    assert {anchor.document_id for anchor in outcome.ranking} == {"policy"}
    assert (outcome.llm_calls, outcome.llm_candidates, outcome.decided["llm"]) == (1, 1, 1)
    assert sum(outcome.decided.values()) == outcome.candidates
    assert outcome.tokens > 0
    assert outcome.cost == pytest.approx(0.001)


def test_the_reranker_does_not_see_what_the_question_rules_out() -> None:
    embedder = HashEmbedder()
    store = make_store(RETENTION_POLICY, embedder=embedder)
    pool = detect(
        question="How long are audit records kept, not the backups?", store=store, embedder=embedder
    )
    asked = pool.question.model_copy(update={"text": pool.question.retrieval_text, "negative_cues": ()})

    assert pool.question.negative_cues == ("the backups",)
    np.testing.assert_array_equal(
        pool_features(pool), pool_features(pool.model_copy(update={"question": asked}))
    )


@dataclass
class LogisticScorer(FixedScorer):
    """A model that says what it is."""

    architecture: str = "logistic"


@pytest.mark.parametrize("name", ["r-flow", "offline"])
def test_a_logistic_regression_is_not_called_a_network(name: str, pool: CandidatePool) -> None:
    made = StrategyServices(scorer=LogisticScorer([0.05] * len(pool.candidates)), feature_rows=pool_features)
    kinds = {v.decided_by.kind for v in get_strategy(name).decide(pool, services=made).verdicts}
    assert "logistic" in kinds
    assert "mlp" not in kinds
