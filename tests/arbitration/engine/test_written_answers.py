"""Answers by a model: nothing reaches a reader that does not stand in the evidence."""

from __future__ import annotations

import pytest

from arbitration.errors import LLMFailure
from arbitration.pipeline import arbitrate, detect
from arbitration.pool import CandidatePool
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import get_strategy
from arbitration.written_answers import AnswerDraft, answer_with_model
from tests.arbitration.engine.makers import RETENTION_POLICY, FakeChat, HashEmbedder, make_store

QUOTE = "Audit records are kept for seven years"


def made() -> tuple[CandidatePool, object]:
    embedder = HashEmbedder()
    pool = detect(
        question="How long are audit records kept?",
        store=make_store(RETENTION_POLICY, embedder=embedder),
        embedder=embedder,
    )
    return pool, arbitrate(pool=pool, strategy=get_strategy("offline"))


def evidence_id(pool: CandidatePool) -> str:
    return next(c.candidate_id for c in pool.candidates if QUOTE in c.anchor_text)


def draft(*sentences: tuple[str, list[str], str]) -> AnswerDraft:
    return AnswerDraft.model_validate(
        {"sentences": [{"text": t, "candidate_ids": ids, "quote": q} for t, ids, q in sentences]}
    )


def answered(*sentences: tuple[str, list[str], str]):  # type: ignore[no-untyped-def]
    pool, decision = made()
    chat = FakeChat(lambda request: draft(*sentences).model_dump_json())
    return pool, answer_with_model(pool=pool, decision=decision, services=StrategyServices(chat=chat))


def test_a_sentence_is_cited_to_the_lines_that_hold_its_quote() -> None:
    identity = evidence_id(made()[0])
    pool, answer = answered(("They are kept for seven years.", [identity], QUOTE))
    assert answer.kind == "generated"
    (sentence,) = answer.sentences
    (citation,) = sentence.citations
    candidate = pool.candidate(identity)
    assert candidate is not None
    line = candidate.anchor_text.split("\n")[candidate.anchor_lines.index(citation.line_start)]
    assert QUOTE in line
    assert sentence.quotes[0].status == "verified"


@pytest.mark.parametrize(
    ("ids", "quote", "why"),
    [
        (["p9_l1_l2"], QUOTE, "names no passage"),
        ([], QUOTE, "names no passage"),
        (None, "kept for ninety years without end", "not in the passage"),
        (None, "", "not in the passage"),
    ],
)
def test_what_does_not_stand_is_left_out_and_said_so(ids: list[str] | None, quote: str, why: str) -> None:
    identity = evidence_id(made()[0])
    good = ("They are kept for seven years.", [identity], QUOTE)
    _, answer = answered(good, ("Something else.", [identity] if ids is None else ids, quote))
    assert [sentence.text for sentence in answer.sentences] == [good[0]]
    assert any(why in note for note in answer.notes)


def test_a_quote_inside_the_sentence_must_stand_too() -> None:
    identity = evidence_id(made()[0])
    _, answer = answered(("It says “records are burned at once”.", [identity], QUOTE))
    assert answer.kind == "extractive"
    assert any("quotes words" in note for note in answer.notes)


def test_nothing_that_stands_leaves_the_extractive_answer() -> None:
    _, answer = answered()
    assert answer.kind == "extractive"
    assert answer.sentences


def test_a_failing_model_leaves_the_extractive_answer_and_a_note() -> None:
    pool, decision = made()
    chat = FakeChat(lambda request: LLMFailure("timeout", "too slow"))
    answer = answer_with_model(pool=pool, decision=decision, services=StrategyServices(chat=chat))
    assert answer.kind == "extractive"
    assert "no written answer: timeout" in answer.notes


def test_a_not_found_is_never_written_about() -> None:
    embedder = HashEmbedder()
    pool = detect(
        question="Who may photograph giraffes?",
        store=make_store(RETENTION_POLICY, embedder=embedder),
        embedder=embedder,
    )
    decision = arbitrate(pool=pool, strategy=get_strategy("offline"))
    chat = FakeChat(lambda request: "never asked")
    answer = answer_with_model(pool=pool, decision=decision, services=StrategyServices(chat=chat))
    assert answer.kind == "not_found"
    assert chat.requests == []
