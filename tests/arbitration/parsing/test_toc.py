"""Entries of a table of contents tied to lines."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.parsing.drafts import DraftLine, TocEntry
from arbitration.parsing.toc import build_sections, without_number


def _page(page: int, rows: Sequence[str], *, top: float = 80.0) -> list[DraftLine]:
    return [
        DraftLine(page, text, number, 72, top + 14 * number, 400, top + 14 * number + 10, size=10)
        for number, text in enumerate(rows, start=1)
    ]


def _owners(lines: Sequence[DraftLine]) -> list[str | None]:
    return [line.section_id for line in lines]


def test_the_title_is_found_whatever_the_destination_says() -> None:
    lines = _page(1, ["Scope", "a", "Terms", "b", "Fees", "c"])
    entries = [
        TocEntry("Scope", 1, 1, y=0.0),
        TocEntry("Terms", 1, 1, y=0.0),
        TocEntry("Fees", 1, 1, y=700.0),
    ]
    sections = build_sections(entries, lines)
    assert [section.start_line for section in sections] == [1, 3, 5]
    assert _owners(lines) == ["s1", "s1", "s2", "s2", "s3", "s3"]


@pytest.mark.parametrize(
    ("title", "row"),
    [
        ("Positional  Encoding", "3.5 Positional Encoding"),
        ("1     purpose", "1 PURPOSE"),
        ("4.2 Notice", "4.2. Notice"),
        ("Scope", "S C O P E"),
        ("Confidential Treatment", "CONFIDENTIAL TREATMENT"),
        ("Definitions", "2.1 Definitions. In these rules a form is any paper that the office issues."),
        ("Artículo 7 Plazos", "Artículo 7. Plazos"),
        ("Improving cooperation with others", "Improving co-operation with others"),
    ],
)
def test_titles_match_lines_in_spite_of_numbers_case_and_spacing(title: str, row: str) -> None:
    lines = _page(1, ["before", row, "after"])
    (section,) = build_sections([TocEntry(title, 1, 1)], lines)
    assert section.start_line == 2
    assert _owners(lines) == [None, "s1", "s1"]


def test_a_wrapped_title_starts_on_its_first_line() -> None:
    lines = _page(1, ["before", "5.2 Integration with Other", "Programs of the Office", "after"])
    (section,) = build_sections([TocEntry("Integration with Other Programs of the Office", 1, 1)], lines)
    assert section.start_line == 2


def test_the_same_words_under_another_number_are_another_heading() -> None:
    lines = _page(1, ["Chapter 1 — The President", "The President", "17. There is a president"])
    entries = [TocEntry("Chapter 1 — The President", 1, 1), TocEntry("17. The President", 1, 1)]
    assert [section.start_line for section in build_sections(entries, lines)] == [1, 2]


def test_a_title_not_on_the_page_starts_at_its_destination() -> None:
    lines = _page(1, ["alpha", "beta", "gamma", "delta"])
    (section,) = build_sections([TocEntry("Quite another name", 1, 1, y=118.0)], lines)
    assert section.start_line == 3


def test_a_destination_at_the_foot_of_a_page_may_mean_the_next() -> None:
    lines = [*_page(1, ["alpha", "beta"]), *_page(2, ["Fees", "gamma"])]
    (section,) = build_sections([TocEntry("Fees", 1, 1, y=108.0)], lines)
    assert (section.start_page, section.start_line) == (2, 1)


def test_an_entry_without_page_takes_that_of_its_first_descendant() -> None:
    lines = _page(3, ["Fees", "a", "Late fees", "b"])
    entries = [TocEntry("Part of Money", 1, None), TocEntry("Fees", 2, 3), TocEntry("Late fees", 2, 3)]
    sections = build_sections(entries, lines)
    assert [section.title for section in sections] == ["Part of Money", "Fees", "Late fees"]
    assert _owners(lines) == ["s2", "s2", "s3", "s3"]


def test_an_entry_that_can_be_found_nowhere_is_dropped() -> None:
    lines = _page(1, ["Fees", "a"])
    sections = build_sections([TocEntry("Ghost", 1, None), TocEntry("Fees", 1, 1)], lines)
    assert [(section.section_id, section.title) for section in sections] == [("s1", "Fees")]


def test_a_section_ends_with_its_last_descendant() -> None:
    lines = [*_page(1, ["One", "a"]), *_page(2, ["Sub", "b"]), *_page(3, ["c"]), *_page(4, ["Two", "d"])]
    entries = [TocEntry("One", 1, 1), TocEntry("Sub", 2, 2), TocEntry("Two", 1, 4)]
    assert [section.end_page for section in build_sections(entries, lines)] == [3, 3, 4]


def test_furniture_and_hidden_lines_belong_to_no_section() -> None:
    lines = _page(1, ["Fees", "header", "a"])
    lines[1].is_furniture = True
    build_sections([TocEntry("Fees", 1, 1)], lines)
    assert _owners(lines) == ["s1", None, "s1"]


def test_levels_have_no_gaps() -> None:
    lines = _page(1, ["A", "B", "C"])
    sections = build_sections([TocEntry("A", 1, 1), TocEntry("B", 4, 1), TocEntry("C", 2, 1)], lines)
    assert [(section.level, section.parent_id) for section in sections] == [(1, None), (2, "s1"), (2, "s1")]


def test_a_number_alone_is_not_stripped_to_nothing() -> None:
    assert without_number("4.2") == "4.2"
    assert without_number("Article IV. Duties") == "Duties"
    assert without_number("iron bars") == "iron bars"


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4), st.floats(0, 800)), max_size=12),
    st.integers(0, 5),
)
def test_every_body_line_belongs_to_the_last_section_that_started(
    rows: list[tuple[int, int, float]], per_page: int
) -> None:
    lines = [
        line for page in range(1, 5) for line in _page(page, [f"row {page} {n}" for n in range(per_page)])
    ]
    entries = [TocEntry(f"title {place}", level, page, y) for place, (level, page, y) in enumerate(rows)]
    sections = build_sections(entries, lines)
    starts = [(section.start_page, section.start_line or 10_000, section.section_id) for section in sections]
    for line in lines:
        before = [start for start in starts if start[:2] <= (line.page_num, line.line_num)]
        assert (line.section_id is None) == (not before)
        if before:
            latest = max(start[:2] for start in before)
            owners = [section_id for *place, section_id in starts if tuple(place) == latest]
            assert line.section_id == owners[-1]
