"""Figures of answers: what the judge says, what needs no judge, and that a judge's failure is no verdict."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from arbitration.answers import Answer, AnswerSentence, Citation, write_answer
from arbitration.decision import Decision
from arbitration.errors import LLMFailure
from arbitration.evaluation.answers import AnswerFigures, AnswerJudge, answer_metrics, words_stand
from arbitration.evaluation.records import EvalQuestion
from arbitration.pipeline import arbitrate, detect
from arbitration.pool import CandidatePool
from arbitration.protocols import ChatRequest
from arbitration.strategies.groups import LADDER, expanded
from arbitration.strategies.registry import STRATEGIES, get_strategy
from tests.arbitration.engine.makers import RETENTION_POLICY, FakeChat, HashEmbedder, make_store

QUESTION = EvalQuestion("q1", "How long are audit records kept?", answerable=True, answer="Seven years.")


def made() -> tuple[CandidatePool, Decision, Answer]:
    embedder = HashEmbedder()
    pool = detect(
        question=QUESTION.text, store=make_store(RETENTION_POLICY, embedder=embedder), embedder=embedder
    )
    decision = arbitrate(pool=pool, strategy=get_strategy("offline"))
    return pool, decision, write_answer(pool=pool, decision=decision)


def judged(answers: dict[str, Any], question: EvalQuestion = QUESTION) -> dict[str, float]:
    pool, decision, answer = made()

    def says(request: ChatRequest) -> str:
        said = answers[request.prompt_name]
        if isinstance(said, Exception):
            raise said
        return json.dumps(said)

    return dict(
        AnswerJudge(FakeChat(says))
        .figures(
            question=question,
            pool=pool,
            answer=answer,
            evidence_ids=[v.candidate_id for v in decision.verdicts][:2],
            seconds=2.0,
        )
        .values
    )


def verdicts(*ids: tuple[str, bool]) -> dict[str, Any]:
    return {"verdicts": [{"id": identity, "yes": yes} for identity, yes in ids]}


def all_sentences(yes: bool = True) -> dict[str, Any]:
    return verdicts(*((f"s{i}", yes) for i in range(len(made()[2].sentences))))


def test_every_figure_of_a_judged_answer() -> None:
    values = judged(
        {
            "judge-similarity": {"reasoning": "The same period.", "score": 4},
            "judge-contexts": verdicts(("c0", True), ("c1", False), ("c9", True)),
            "judge-sentences": all_sentences(),
        }
    )
    assert values["answer_similarity"] == 4
    assert values["retrieval_precision"] == 0.5  # an id that was not asked about counts for nothing
    assert values["similarity_x_precision"] == 2
    assert values["faithfulness"] == 1
    assert values["answer_inclusion"] == 1
    assert values["quotes_stand"] == 1
    assert values["judge_failures"] == 0
    _pool, _, answer = made()
    said = " ".join(sentence.text for sentence in answer.sentences)
    assert values["characters_per_second"] == len(said) / 2


@pytest.mark.parametrize(
    "contexts", [LLMFailure("timeout", "too slow"), verdicts(("c0", True))], ids=["failure", "an id left out"]
)
def test_a_judge_that_fails_gives_no_verdict(contexts: object) -> None:
    values = judged(
        {
            "judge-similarity": {"reasoning": "", "score": 5},
            "judge-contexts": contexts,
            "judge-sentences": all_sentences(),
        }
    )
    assert math.isnan(values["retrieval_precision"])
    assert math.isnan(values["similarity_x_precision"])
    assert values["judge_failures"] == 1
    assert values["answer_similarity"] == 5


def test_without_a_judge_what_needs_none_remains() -> None:
    pool, _decision, answer = made()
    figures = AnswerJudge().figures(question=QUESTION, pool=pool, answer=answer, evidence_ids=[], seconds=1.0)
    assert math.isnan(figures.values["answer_similarity"])
    assert figures.values["answer_inclusion"] == 1
    metrics = answer_metrics([figures])
    assert metrics["answer_similarity"].n == 0
    assert metrics["answer_similarity"].value is None
    assert metrics["answer_inclusion"].value == 1


def test_words_that_stand_nowhere_do_not_stand() -> None:
    pool, _, answer = made()
    citation: Citation = answer.sentences[0].citations[0]
    assert words_stand(answer.sentences[0], pool)
    assert not words_stand(AnswerSentence(text="Records are eaten.", citations=(citation,)), pool)


def test_repeated_runs_of_a_question_count_as_one_question() -> None:
    one = dict.fromkeys(answer_metrics([]), 1.0)
    figures = [AnswerFigures("q1", one), AnswerFigures("q1", one), AnswerFigures("q2", one)]
    assert answer_metrics(figures)["answer_similarity"].n == 2


def test_the_ladder_stands_for_its_rungs() -> None:
    assert expanded(["ladder", "offline", "arbiter"]) == [*LADDER, "arbiter"]
    assert set(LADDER) <= set(STRATEGIES)
