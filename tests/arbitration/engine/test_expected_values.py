"""Questions that ask for a value, and passages that hold one."""

from __future__ import annotations

import pytest

from arbitration.detection import detect
from arbitration.expected_values import expected_kinds, holds_value, match_with_value, values_in
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
        ("by 14 June 2024", [("date", "14 June"), ("number", "2024")]),
        ("once a year", [("duration", "once a year")]),
        ("nine directors", [("number", "nine")]),
        ("no figure at all", []),
    ],
)
def test_values_of_a_text(text: str, values: list[tuple[str, str]]) -> None:
    assert [(value.kind, value.text) for value in values_in(text)] == values


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("The board has 12 members.", True),
        ("In 2022 forty suppliers were audited.", True),
        ("three (3) persons sign", True),
        ("In 2020 a candidate gathered enough signatures.", False),
        ("Title 17 applies, and Section 4.2 of it, and No. 5.", False),
        ("13.Procedure for removal", False),
        ("2. Purpose", False),
        ("(3) the vendor", False),
        ("see § 4", False),
    ],
)
def test_a_year_and_the_number_of_a_place_are_no_count(text: str, holds: bool) -> None:
    assert holds_value(text, {"number"}) == holds


def test_of_the_sentences_with_such_a_value_the_best_match_counts() -> None:
    text = "Cards are free. A second card costs 5 euros. A third costs 9 euros."

    assert match_with_value(text, (0.9, 0.4, 0.6), {"money"}) == 0.6
    assert match_with_value(text, (0.9, 0.4, 0.6), {"percent"}) == 0.0
    assert match_with_value(text, (), {"money"}) == 0.0


def test_a_passage_that_holds_the_value_asked_for_is_told_from_one_that_does_not() -> None:
    def signals(question: str) -> dict[str, float | None]:
        store = make_store(RETENTION_POLICY, embedder=HashEmbedder())
        pool = detect(question=question, store=store, embedder=HashEmbedder())
        return {c.section_title or "": c.signals.expected_value for c in pool.candidates}

    asked = signals("How long are audit records kept?")
    assert (asked["2 Retention periods"] or 0.0) > 0.5
    assert asked["3 Destruction"] == 0.0
    assert set(signals("Who keeps the audit records?").values()) == {None}
