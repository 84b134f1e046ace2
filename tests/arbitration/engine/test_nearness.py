"""What is decided where meanings are compared word by word: nearness, absence, the answer's first sentence."""

from __future__ import annotations

import pytest

from arbitration.absence import exhaustive_terms, prove_absence
from arbitration.answerability import answerability
from arbitration.contracts import Role
from arbitration.evidence import evidence_scores
from arbitration.pipeline import Asked, arbitrate, ask
from arbitration.questions.intents import document_fact_of
from arbitration.questions.parser import parse_question
from arbitration.settings import EngineSettings
from arbitration.strategies.registry import get_strategy
from tests.arbitration.engine.makers import (
    RETENTION_POLICY,
    HashEmbedder,
    SectionText,
    make_document,
    make_store,
)
from tests.arbitration.engine.test_interaction import DOCUMENT, ByMeaning


def asked(question: str, document: object = DOCUMENT, *, embedder: HashEmbedder | None = None) -> Asked:
    encoder = embedder or ByMeaning()
    return ask(question=question, store=make_store(document, embedder=encoder), embedder=encoder)  # type: ignore[arg-type]


def test_what_meets_by_meaning_comes_first_though_another_holds_the_words() -> None:
    found = asked("What if people lose laptops?")

    first = found.result.candidates[0]
    assert "misplaced" in first.text
    estimates = evidence_scores(found.pool)
    assert max(estimates, key=estimates.__getitem__) == first.candidate_id


def test_the_answer_begins_with_the_sentence_that_matches_best() -> None:
    document = make_document(
        SectionText(
            "1 Equipment",
            (
                "People are given equipment when they join the company.",
                "Staff who have misplaced equipment must tell the desk.",
                "What remains is returned in June.",
            ),
        ),
        SectionText("2 Travel", ("People who travel pay for their own meals.",)),
    )

    found = asked("Whom do staff tell if they lose laptops?", document)

    assert found.answer.sentences[0].text == "Staff who have misplaced equipment must tell the desk."


def test_no_bar_discards_the_nearest() -> None:
    lines = tuple(
        SectionText(f"{n} Rule", (f"Rule number {n} about the equipment of staff is read aloud.",))
        for n in range(1, 31)
    )
    found = asked("What do staff do about laptops?", make_document(*lines))

    kept = [v for v in found.decision.verdicts if v.role is not Role.DISCARDED]
    assert len(kept) >= EngineSettings().nearest_kept
    assert not found.decision.not_found
    assert all(v.needs_person for v in kept if v.role is Role.TANGENTIAL)
    settings = EngineSettings(
        nearest_kept=0, near_share=1.0, near_limit=0, rules_reject=0.99, rules_accept=1.0
    )
    bare = arbitrate(
        pool=found.pool.model_copy(update={"settings": settings}), strategy=get_strategy("offline")
    )
    assert bare.not_found


@pytest.mark.parametrize(("nearest", "proved"), [(None, True), (0.1, True), (0.5, False)])
def test_words_that_are_nowhere_prove_absence_only_where_meaning_fails_too(
    nearest: float | None, proved: bool
) -> None:
    store = make_store(RETENTION_POLICY)
    question = parse_question("GDPR fines")

    proof = prove_absence(
        question=question,
        profile=store.profile(),
        hits=store.count_hits(exhaustive_terms(question)),
        titles_hit=0,
        names_found_place=False,
        nearest=nearest,
    )

    assert proof.by_words
    assert proof.proved is proved
    assert bool(proof.statement) is proved


def test_a_weak_match_is_said_to_be_one_and_goes_to_a_person() -> None:
    found = asked("Which comet destroyed the dinosaurs?", RETENTION_POLICY)

    assert answerability(found.pool).is_weak
    assert found.decision.no_strong_match
    assert not found.decision.not_found
    assert found.result.no_strong_match
    assert found.decision.needs_person
    assert {v.role for v in found.decision.verdicts} <= {Role.TANGENTIAL, Role.DISCARDED}
    assert found.answer.statement.startswith("No strong match: ")
    assert "none says “comet” or “dinosaurs”" in found.answer.statement


def test_a_place_that_the_question_names_is_no_weak_match() -> None:
    found = asked("What does section 3 say about comets?", RETENTION_POLICY)

    assert not found.decision.no_strong_match
    assert found.result.candidates[0].role is Role.PRIMARY


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("What is the name of this agreement?", "name"),
        ("Who are the parties?", "parties"),
        ("When was the contract signed?", "date"),
        ("¿Cuál es la fecha del contrato?", "date"),
        ("Details: The name of the contract", None),
        ("The two or more parties who signed the contract", None),
        ("The date when the contract is effective", None),
    ],
)
def test_only_a_question_asks_for_a_fact_of_the_document(question: str, fact: str | None) -> None:
    assert document_fact_of(question) == fact
