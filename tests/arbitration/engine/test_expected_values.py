"""Questions that ask for a value, and passages that hold one."""

from __future__ import annotations

import pytest

from arbitration.detection import detect
from arbitration.expected_values import counted, counts, expected_kinds, values_in
from tests.arbitration.engine.makers import RETENTION_POLICY, HashEmbedder, make_store


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("How long are records kept?", {"duration", "date"}),
        ("By when must a tender be submitted?", {"duration", "date"}),
        ("For how many working days may it wait?", {"duration", "date"}),
        ("What is the notice period?", {"duration", "date"}),
        ("How much does the card cost?", {"money", "percent"}),
        ("What is the yearly rent for the warehouse?", {"money", "percent"}),
        ("What percentage is withheld?", {"percent"}),
        ("How many directors are there?", {"number"}),
        ("How far in advance is the route announced?", {"duration", "date"}),
        ("¿Con cuánta antelación se avisa?", {"duration", "date"}),
        ("How tall may the mast be?", {"number"}),
        ("How much warning must either side give?", {"duration", "date"}),
        ("What is the yearly ceiling on gifts?", {"money", "percent"}),
        ("Which price list applies to the new parts?", set()),
        ("Which cost concept marks the limit?", set()),
        ("¿En qué plazo se pagan las facturas?", {"duration", "date"}),
        ("¿Cuánto cuesta la tarjeta?", {"money", "percent"}),
        ("¿Cuántos consejeros hay?", {"number"}),
        ("Who signs the contract?", set()),
        ("What does the policy say about gifts?", set()),
    ],
)
def test_the_kinds_of_value_that_a_question_asks_for(question: str, kinds: set[str]) -> None:
    assert expected_kinds(question) == kinds


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("within thirty (30) days", [("duration", "thirty (30) days")]),
        ("a rent of £54,000 per annum", [("money", "£54,000")]),
        ("multa de 1.500 euros", [("money", "1.500 euros")]),
        ("two per cent above the base rate", [("percent", "two per cent")]),
        ("by 14 June 2024", [("date", "14 June 2024")]),
        ("once a year", [("duration", "once a year")]),
        ("nine directors", [("number", "nine")]),
        ("no figure at all", []),
    ],
)
def test_values_of_a_text(text: str, values: list[tuple[str, str]]) -> None:
    assert [(value.kind, value.text) for value in values_in(text)] == values


def test_a_passage_that_holds_the_value_asked_for_is_told_from_one_that_does_not() -> None:
    def signals(question: str) -> dict[str, float | None]:
        store = make_store(RETENTION_POLICY, embedder=HashEmbedder())
        pool = detect(question=question, store=store, embedder=HashEmbedder())
        return {c.section_title or "": c.signals.expected_value for c in pool.candidates}

    asked = signals("How long are audit records kept?")
    assert (asked["2 Retention periods"] or 0.0) > 0.5
    assert asked["3 Destruction"] == 0.0
    assert set(signals("Who keeps the audit records?").values()) == {None}


@pytest.mark.parametrize(
    ("question", "noun"),
    [
        ("How many lamps does it have?", "lamps"),
        ("¿Cuántos faros hay?", "faros"),
        ("How long is it?", ""),
        ("Within how many hours?", ""),
    ],
)
def test_what_a_question_wants_counted(question: str, noun: str) -> None:
    assert counted(question) == noun


def test_a_text_counts_what_stands_behind_its_number() -> None:
    assert counts("The keeper has five (5) oil lamps.", "lamp", "en")
    assert not counts("Lamps of pier 20 burn for nine nights.", "lamps", "en")
