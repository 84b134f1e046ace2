"""A model's reading adds to the parser's; a person's edits replace its keywords."""

from __future__ import annotations

import pytest

from arbitration.absence import exhaustive_terms
from arbitration.questions.assisted import (
    QuestionEdits,
    QuestionReading,
    reading_request,
    with_edits,
    with_reading,
)
from arbitration.questions.parser import parse_question

QUESTION = parse_question("How can the cusotmer get out of the agreement?")


def reading(**values: object) -> QuestionReading:
    given = {
        "corrected_question": "How can the customer get out of the agreement?",
        "extracted_keywords": ["customer"],
        "rewritten_keywords": ["notice of termination", "right to terminate", "early termination"],
        "intent": "qa",
        "sub_questions": [],
        "hints": ["term and termination"],
        "clarification": None,
    }
    return QuestionReading.model_validate(given | values)


def test_rewordings_are_searched_with_lower_weight_and_never_prove_absence() -> None:
    read = with_reading(QUESTION, reading())
    added = {keyword.term: keyword for keyword in read.keywords if keyword.source == "rewrite"}
    assert set(added) == {"notice of termination", "right to terminate", "early termination"}
    assert {keyword.weight for keyword in added.values()} == {0.7}
    assert not set(added) & set(exhaustive_terms(read))


def test_a_corrected_word_is_a_keyword_of_the_question() -> None:
    read = with_reading(QUESTION, reading())
    assert read.corrected == "How can the customer get out of the agreement?"
    assert any(k.term == "customer" and k.group == "primary" for k in read.keywords)
    assert read.rewrites[0] == read.corrected


def test_keywords_the_question_does_not_hold_count_as_rewordings() -> None:
    read = with_reading(QUESTION, reading(extracted_keywords=["penalty", "agreement"]))
    assert next(k for k in read.keywords if k.term == "penalty").source == "rewrite"


def test_the_parsers_own_keywords_stay() -> None:
    read = with_reading(QUESTION, reading(extracted_keywords=[], rewritten_keywords=[]))
    assert set(QUESTION.terms()) <= set(read.terms())


def test_sub_questions_are_asked_with_vectors_of_their_own() -> None:
    parts = ["Can the customer terminate?", "What does it cost?"]
    assert set(parts) <= set(with_reading(QUESTION, reading(sub_questions=parts)).rewrites)


@pytest.mark.parametrize("noise", ["", "   ", "a keyword that is really a whole sentence of many words"])
def test_what_is_no_keyword_is_left_out(noise: str) -> None:
    read = with_reading(QUESTION, reading(rewritten_keywords=[noise]))
    assert [k for k in read.keywords if k.source == "rewrite"] == []


def test_a_persons_edits_replace_every_keyword() -> None:
    edits = QuestionEdits(primary=("termination",), secondary=("notice", "days"))
    edited = with_edits(with_reading(QUESTION, reading()), edits)
    assert [(k.term, k.group) for k in edited.keywords] == [
        ("termination", "primary"),
        ("notice", "secondary"),
        ("days", "secondary"),
    ]
    assert with_edits(QUESTION, QuestionEdits()) == QUESTION


def test_the_question_is_fenced_as_data() -> None:
    request = reading_request(QUESTION, documents=["agreement"], timeout_s=5)
    assert request.schema is QuestionReading
    assert "<<<DATA" in request.user
    assert QUESTION.text in request.user


def test_a_model_does_not_bring_back_what_the_question_rules_out() -> None:
    question = parse_question("What is the premium, not the deductible?")
    read = with_reading(
        question,
        reading(
            corrected_question="What's the premium, not the deductible?",
            extracted_keywords=["premium", "deductible"],
            rewritten_keywords=["price of cover", "deductible"],
            sub_questions=["What is the premium, not the deductible?"],
        ),
    )
    assert "deductible" not in read.terms()
    assert "price of cover" in read.terms()
    assert not any("deductible" in rewrite for rewrite in read.rewrites)
