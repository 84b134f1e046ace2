"""Running headers, footers and page numbers."""

from __future__ import annotations

from pathlib import Path

from arbitration.parsing.drafts import DraftLine, DraftPage
from arbitration.parsing.furniture import mark_furniture
from tests.arbitration.parsing.builders import Sheet, parsed, prose, texts


def _line(page: int, number: int, top: float, text: str) -> DraftLine:
    return DraftLine(page, text, number, 72, top, 300, top + 10, size=10)


def _marked(rows: dict[int, list[tuple[float, str]]]) -> list[str]:
    """Texts of the furniture among lines given by page as (top, text)."""
    pages = [DraftPage(number, 1, 612, 792) for number in rows]
    lines = [
        _line(page, number, top, text)
        for page, content in rows.items()
        for number, (top, text) in enumerate(content, start=1)
    ]
    mark_furniture(pages, lines)
    return [line.text for line in lines if line.is_furniture]


def test_headers_and_page_numbers_are_recognised_across_pages(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path / "book.pdf")
    for number in range(1, 6):
        sheet.text(72, 40, "Rules of the Registry")
        sheet.lines(72, 90, [f"Schedule {number}", *prose(30, words=4 + number)])
        sheet.text(300, 760, f"Page {number} of 5")
        sheet.next_page()
    draft = parsed(sheet.save())
    marked = [line.text for line in draft.lines if line.is_furniture]
    assert marked.count("Rules of the Registry") == 5
    assert [text for text in marked if text.startswith("Page")] == [f"Page {n} of 5" for n in range(1, 6)]
    assert texts(draft, page=3, body=True) == ["Schedule 3", *prose(30, words=7)]


def test_roman_and_arabic_page_numbers_count_as_one_pattern() -> None:
    rows = {
        page: [(100.0, f"text {'abcde'[page]}"), (760.0, label)]
        for page, label in enumerate(["i", "ii", "1", "2"], start=1)
    }
    assert _marked(rows) == ["i", "ii", "1", "2"]


def test_a_number_beside_a_running_title_counts_the_pages() -> None:
    rows = {page: [(400.0, f"text {page}"), (760.0, f"Report of 2023  {page + 12}")] for page in (1, 2, 3, 4)}
    assert _marked(rows) == [f"Report of 2023  {page + 12}" for page in (1, 2, 3, 4)]


def test_numbers_that_do_not_count_the_pages_are_no_page_numbers() -> None:
    rows = {
        page: [(50.0, f"Loans of {amount}"), (400.0, "text")] for page, amount in enumerate((7, 3, 90), 1)
    }
    assert _marked(rows) == []


def test_a_phrase_repeated_inside_the_text_is_left_alone() -> None:
    rows = {
        page: [
            (60.0, f"opening {'abcd'[page]} of it"),
            (80.0, "All rights reserved"),
            (400.0, f"text {page}"),
        ]
        for page in (1, 2, 3)
    }
    assert _marked(rows) == []


def test_a_note_set_tight_to_the_text_is_no_footer() -> None:
    rows = {
        page: [(680.0, f"clause {'abcd'[page]}"), (691.0, "[28/2016]"), (760.0, "Official edition")]
        for page in (1, 2, 3)
    }
    assert _marked(rows) == ["Official edition"] * 3


def test_a_single_page_has_no_furniture() -> None:
    assert _marked({1: [(40.0, "Rules of the Registry"), (400.0, "text"), (760.0, "1")]}) == []
