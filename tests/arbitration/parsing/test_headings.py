"""Headings of PDFs without an outline."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.parsing.clauses import find_clauses, follows
from arbitration.parsing.levels import Look, levels_of
from arbitration.parsing.numbering import heading_number, is_list_item, is_upper_case
from tests.arbitration.parsing.builders import Sheet, finished, prose


def _toc(path: Path) -> list[tuple[int, str]]:
    return [(section.level, section.title) for section in finished(path).sections]


def _section(
    sheet: Sheet, top: float, title: str, *, size: float = 10, bold: bool = True, rows: int = 6
) -> float:
    sheet.text(72, top, title, size=size, font="Helvetica-Bold" if bold else "Helvetica")
    return sheet.lines(72, top + 18, prose(rows)) + 14


def test_sizes_and_numbers_give_levels(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path / "numbered.pdf")
    sheet.text(72, 60, "Rules of the Registry", size=20)
    top = _section(sheet, 100, "1 Purpose", size=14)
    top = _section(sheet, top, "1.1 Forms")
    top = _section(sheet, top, "1.2 Keepers")
    top = _section(sheet, top, "2 Fees", size=14)
    result = finished(sheet.save())
    assert [(section.level, section.title) for section in result.sections] == [
        (1, "1 Purpose"),
        (2, "1.1 Forms"),
        (2, "1.2 Keepers"),
        (1, "2 Fees"),
    ]
    assert result.draft.toc_source == "headings"
    assert result.title == "Rules of the Registry"


def test_a_bold_paragraph_is_no_heading(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path / "bold.pdf")
    top = _section(sheet, 80, "First Heading")
    for row in prose(6):
        sheet.text(72, top, row, font="Helvetica-Bold")
        top += 12
    _section(sheet, top + 14, "Second Heading")
    assert _toc(sheet.save()) == [(1, "First Heading"), (1, "Second Heading")]


def test_a_wrapped_heading_is_one(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path / "wrapped.pdf")
    sheet.lines(72, 80, prose(8))
    sheet.text(72, 200, "Handling of Forms That Were", size=14)
    sheet.text(72, 216, "Damaged by Water", size=14)
    sheet.lines(72, 240, prose(8))
    _section(sheet, 360, "Fees", size=14, bold=False)
    assert _toc(sheet.save()) == [(1, "Handling of Forms That Were Damaged by Water"), (1, "Fees")]


def test_a_printed_table_of_contents_gives_no_headings(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path / "contents.pdf")
    for place in range(10):
        sheet.text(
            72,
            80 + 20 * place,
            f"{place + 1}. HEADING NUMBER {'ABCDEFGHIJ'[place]} " + "." * 60 + f" {place + 3}",
        )
    sheet.next_page()
    _section(sheet, 80, "1. PURPOSE")
    _section(sheet, 240, "2. FEES")
    assert _toc(sheet.save()) == [(1, "1. PURPOSE"), (1, "2. FEES")]


def test_clauses_that_run_into_the_text_are_sections(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path / "contract.pdf")
    top = 80.0
    for number, name in enumerate(
        ("Definitions", "Grant of Rights", "Term and Termination", "Notices"), start=1
    ):
        rows = prose(4)
        sheet.text(72, top, f"{number}. {name}. {rows[0]}")
        top = sheet.lines(72, top + 12, rows[1:]) + 12
    assert _toc(sheet.save()) == [
        (1, "1 Definitions"),
        (1, "2 Grant of Rights"),
        (1, "3 Term and Termination"),
        (1, "4 Notices"),
    ]


def test_plain_prose_has_no_headings(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path / "prose.pdf")
    sheet.lines(72, 80, prose(45))
    assert _toc(sheet.save()) == []


@pytest.mark.parametrize(
    ("text", "depth", "named"),
    [
        ("3.2.1 Scope", 3, False),
        ("2.0 Scope", 1, False),
        ("10.Records", 1, False),
        ("§ 4.2 Notice", 2, False),
        ("Article IV. Duties", 1, True),
        ("Section 7.3 Notice", 2, True),
        ("ANEXO B", 1, True),
        ("A. Records", 1, False),
    ],
)
def test_heading_numbers(text: str, depth: int, named: bool) -> None:
    number = heading_number(text)
    assert number is not None
    assert (number.depth, number.is_named) == (depth, named)


@pytest.mark.parametrize("text", ["Particular cases", "3M Company", "2018", "In 2018 the office", "A form"])
def test_words_that_are_no_numbers(text: str) -> None:
    assert heading_number(text) is None


def test_list_items_and_capitals() -> None:
    assert all(is_list_item(text) for text in ("• a", "(a) b", "1. c", "iv) d", "- e", "2.3 f"))
    assert not any(is_list_item(text) for text in ("a form", "1998 was", "(see below)", "-5 degrees"))
    assert is_upper_case("TERMS OF USE (2020)")
    assert not is_upper_case("Terms")
    assert not is_upper_case("A B C")


@pytest.mark.parametrize(
    ("number", "last", "expected"),
    [
        ((1,), (), True),
        ((1, 1), (), True),
        ((3,), (), False),
        ((2,), (1,), True),
        ((3,), (1,), True),
        ((5,), (1,), False),
        ((2, 1), (), True),
        ((1, 1), (1,), True),
        ((2, 1), (1,), True),
        ((1, 2), (1, 1), True),
        ((2,), (1, 4), True),
        ((1,), (2,), False),
        ((2,), (2,), False),
    ],
)
def test_clause_numbers_go_on(number: tuple[int, ...], last: tuple[int, ...], expected: bool) -> None:
    assert follows(number, last) is expected


def test_two_clauses_prove_nothing() -> None:
    assert find_clauses([(0, "1. Scope. It is."), (1, "2. Term. It is.")]) == []


_looks = st.builds(
    Look,
    st.sampled_from([10.0, 12.0, 14.0]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([("named", 3), ("named", 5), ("decimal", 1), ("decimal", 2), ("letter", 1), ("none", 0)]),
)


@given(st.lists(_looks, max_size=30))
def test_levels_begin_at_one_and_never_skip(looks: list[Look]) -> None:
    levels = levels_of(looks)
    assert len(levels) == len(looks)
    previous = 0
    for level in levels:
        assert 1 <= level <= previous + 1
        previous = level


@given(st.lists(_looks, min_size=2, max_size=12))
def test_a_look_that_comes_back_at_once_keeps_its_level(looks: list[Look]) -> None:
    doubled = [look for look in looks for _ in (0, 1)]
    levels = levels_of(doubled)
    assert levels[::2] == levels[1::2]
