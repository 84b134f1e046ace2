"""Whether the nearest passages may answer: how near they come, the value asked for, and the words about it."""

from __future__ import annotations

import pytest

from arbitration.answerability import WEAK_BELOW, Answerability, Nearness, answerability, in_words, nearness
from arbitration.contracts import Role
from arbitration.detection import detect
from arbitration.pool import CandidatePool
from tests.arbitration.engine.makers import HashEmbedder, SectionText, make_document, make_store
from tests.arbitration.engine.test_interaction import ByMeaning
from tests.arbitration.engine.test_nearness import asked

STAFF = make_document(
    SectionText(
        "1 Equipment",
        ("Staff who have misplaced equipment must tell the desk.", "The desk writes a note about equipment."),
    ),
    SectionText("2 Travel", ("People who travel pay for meals up to 40 euros.",)),
)


def pool_of(question: str) -> CandidatePool:
    return detect(question=question, store=make_store(STAFF, embedder=ByMeaning()), embedder=ByMeaning())


def test_a_value_that_is_asked_for_must_stand_in_the_sentence_that_matches() -> None:
    told = nearness(pool_of("Whom do staff tell if they lose laptops?"))
    valued = nearness(pool_of("How much do staff pay if they lose laptops?"))

    assert told is not None
    assert valued is not None
    assert told.sentence > valued.sentence > 0.0
    assert not valued.lacks_value


def test_where_no_passage_holds_such_a_value_there_is_no_strong_match_and_the_answer_says_so() -> None:
    found = asked("How long may staff keep equipment?", STAFF)

    assert found.decision.no_strong_match
    assert not found.decision.not_found
    assert {v.role for v in found.decision.verdicts} <= {Role.TANGENTIAL, Role.DISCARDED}
    assert "none states a date or a period" in found.answer.statement
    assert "speak of “staff” and “equipment”" in found.answer.statement
    kept = [v for v in found.decision.verdicts if v.role is Role.TANGENTIAL]
    assert kept
    assert all(v.needs_person for v in kept)


def test_what_none_of_the_nearest_says_is_named() -> None:
    found = answerability(pool_of("Which comet destroyed the dinosaurs?"))

    assert found.is_weak
    assert found.speaks_of == ()
    assert in_words(found, "en") == "none says “comet”, “destroyed” or “dinosaurs”"
    assert in_words(found, "es") == "ninguno dice «comet», «destroyed» ni «dinosaurs»"


@pytest.mark.parametrize(
    ("nearer", "farther"),
    [(Nearness(0.5, 0.4), Nearness(0.4, 0.4)), (Nearness(0.4, 0.5), Nearness(0.4, 0.4))],
)
def test_whatever_is_nearer_is_likelier_to_answer(nearer: Nearness, farther: Nearness) -> None:
    assert 0.0 < farther.probability < nearer.probability < 1.0


def test_nothing_asked_for_is_near_at_all() -> None:
    assert Nearness(0.0, 0.6, lacks_value=True).probability < WEAK_BELOW


def test_without_vectors_of_tokens_only_words_that_are_nowhere_make_a_match_weak() -> None:
    def bare(question: str) -> Answerability:
        store = make_store(STAFF, embedder=HashEmbedder())
        return answerability(detect(question=question, store=store, embedder=HashEmbedder()))

    assert bare("dinosaurs and comets").is_weak
    assert not bare("equipment of staff").is_weak
    assert bare("equipment of staff").probability is None
