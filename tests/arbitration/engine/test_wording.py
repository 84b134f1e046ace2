from __future__ import annotations

import pytest

from arbitration.wording import Wording, wordings


def read(question: str, *passages: str, language: str = "en") -> list[Wording]:
    return wordings(question, language=language, passages=[(text, language) for text in passages])


def test_a_rare_word_of_the_question_weighs_more_than_one_that_stands_everywhere() -> None:
    rare, common = read(
        "retention of invoices", "Retention is short.", "Invoices are blue.", "Invoices.", "Invoices."
    )[:2]
    assert rare.coverage > common.coverage > 0


def test_a_relative_of_a_word_counts_by_half_and_an_unrelated_one_not_at_all() -> None:
    same, relative, unrelated = read(
        "presidential", "A presidential oath.", "The President swears.", "The prefect swears."
    )
    assert same.coverage > relative.coverage > unrelated.coverage == 0


def test_short_words_have_no_relatives() -> None:
    assert [found.coverage for found in read("paying", "The pail is full.")] == [0.0]


def test_neighbours_of_a_short_question_are_looked_for_as_neighbours() -> None:
    together, apart = read(
        "executive power of Congress", "The executive Power ends.", "Power of executive bodies."
    )
    assert together.phrase == pytest.approx(0.5)
    assert apart.phrase == 0


def test_the_words_between_two_content_words_belong_to_the_phrase() -> None:
    spoken, other = read("freedom of speech", "The freedom of speech is kept.", "Speech and freedom.")
    assert (spoken.phrase, other.phrase) == (1.0, 0.0)


def test_a_sentence_is_no_phrase() -> None:
    question = "Which executive power may the assembly delegate?"
    assert [found.phrase for found in read(question, "The executive power may be delegated.")] == [0.0]


def test_a_question_of_function_words_and_an_empty_pool_are_no_errors() -> None:
    assert read("of the", "The text.") == [Wording(coverage=0.0, phrase=0.0)]
    assert read("retention") == []


def test_a_passage_is_read_in_its_own_language() -> None:
    found = wordings("plazos", language="es", passages=[("El plazo vence.", "es")])
    assert found[0].coverage == pytest.approx(1.0)
