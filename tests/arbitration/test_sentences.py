from __future__ import annotations

import pytest

from arbitration.sentences import (
    SentenceMap,
    is_heading,
    is_whole,
    joined_sentences,
    runs_on,
    sentences_of,
    without_heading,
    without_mark,
)

TEXT = "  First part\nends here. Second one (b) is\nlonger! A third"


def test_sentences_come_on_one_line_with_the_lines_they_stand_on() -> None:
    found = [(s.text, s.first, s.last) for s in sentences_of(TEXT)]

    assert found == [
        ("First part ends here.", 0, 1),
        ("Second one (b) is longer!", 1, 2),
        ("A third", 2, 2),
    ]
    assert sentences_of(" \n ") == []


def test_where_sentences_and_lines_begin() -> None:
    found = SentenceMap.of(TEXT)

    assert found.begins == (0, 22, 48)
    assert found.lines == (0, 11, 40)
    assert [found.flat[begin:].split()[0] for begin in found.begins] == ["First", "Second", "A"]


@pytest.mark.parametrize(
    ("sentence", "title", "left"),
    [
        ("2 Retention periods Records are kept.", "2 Retention periods", "Records are kept."),
        ("RETENTION – Records are kept.", "Retention", "Records are kept."),
        ("2 Retention periods", "2 Retention periods", "2 Retention periods"),
        ("AUDIT AND RECORDS 9.1 Right to audit.", "9. AUDIT AND RECORDS", "9.1 Right to audit."),
        ("Records are kept.", "2 Retention periods", "Records are kept."),
        ("Records are kept.", None, "Records are kept."),
    ],
)
def test_a_title_that_runs_on_into_its_text_is_no_part_of_the_sentence(
    sentence: str, title: str | None, left: str
) -> None:
    assert without_heading(sentence, title) == left


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("9.1 Right to audit.", True),
        ("Article 7 Notification of breaches", True),
        ("(b) Early payment.", True),
        ("5.1 Rent is EUR 500.", False),
        ("7 days after the notice the Supplier delivers the goods to the Client.", False),
        ("Right to audit.", False),
        ("", False),
    ],
)
def test_a_clause_without_a_verb_is_a_heading(sentence: str, expected: bool) -> None:
    assert is_heading(sentence) is expected


@pytest.mark.parametrize(
    ("sentence", "following", "runs"),
    [
        ("as such terms are defined under U.S.", "Privacy Laws", True),
        ("It keeps its records in the U.S.", "The firm may move them.", False),
    ],
)
def test_initials_end_a_sentence_before_a_word_that_begins_one(
    sentence: str, following: str, runs: bool
) -> None:
    assert runs_on(sentence, following) is runs


def test_a_heading_in_title_case_is_no_sentence() -> None:
    assert not is_whole("Copyright Owner Revises or Retracts the Notice.")
    assert is_whole("The Copyright Owner revises the Notice.")


def test_a_title_that_is_a_sentence_is_no_heading() -> None:
    meaning = "1.4 “Lamp” means any light that the keeper tends by night."
    assert without_heading(meaning, meaning) == meaning
    assert is_whole(meaning, title=meaning)
    listed = "The following duties of the keeper end with the lease: the watch and the log."
    assert without_heading(listed, "The following duties of the keeper end with the lease") == listed


@pytest.mark.parametrize(
    ("sentence", "left"),
    [
        ("10.FEE: The keeper pays ten euros.", "The keeper pays ten euros."),
        ("8. LIABILITY Either party pays.", "Either party pays."),
        ("8. NASA Glenn pays.", "8. NASA Glenn pays."),
    ],
)
def test_a_name_in_capitals_behind_its_number_is_no_part_of_the_sentence(sentence: str, left: str) -> None:
    assert without_heading(sentence, None) == left


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [("11.3Right to audit.", True), ("10.Right to audit.", True), ("1.5million lamps.", False)],
)
def test_a_number_may_stick_to_the_name_of_its_clause(sentence: str, expected: bool) -> None:
    assert is_heading(sentence) is expected


@pytest.mark.parametrize(
    ("sentence", "left"),
    [
        ("• The keeper tends the lamp.", "The keeper tends the lamp."),
        ("• lamps and oil", "• lamps and oil"),
        ("-4- and the keeper pays.", "and the keeper pays."),
        ("The keeper pays. -2-    3 8.", "The keeper pays."),
        ("-4 degrees is cold.", "-4 degrees is cold."),
    ],
)
def test_bullets_and_page_numbers_are_no_part_of_a_sentence(sentence: str, left: str) -> None:
    assert without_mark(sentence) == left


def test_sentences_that_a_short_form_parts_are_joined() -> None:
    found = sentences_of("Under the U.S. Harbour Act lamps burn. The keeper pays.")
    joined = joined_sentences(found, [0.2, 0.5, 0.1])
    assert [(sentence.text, weight) for sentence, weight in joined] == [
        ("Under the U.S. Harbour Act lamps burn.", 0.5),
        ("The keeper pays.", 0.1),
    ]
