"""Bookmarks that name no section."""

from __future__ import annotations

import pytest

from arbitration.parsing.drafts import DraftLine, TocEntry
from arbitration.parsing.labels import names_nothing
from arbitration.parsing.toc import build_sections


@pytest.mark.parametrize(
    "title",
    [
        *("", " ", "--", "Page 4", "page iv", "p. 12", "Page 3 of 9", "PÁGINA 7", "Slide 12", "Sheet1"),
        *("CREATI~2", "TEMPLA~3.DOC", "Untitled", "Bookmark 3", "_Toc48210", "_GoBack"),
        *("Agreement final v2.docx", "C:\\drafts\\msa.pdf", "scan0003.tif"),
    ],
)
def test_a_label_of_a_page_or_a_file_names_nothing(title: str) -> None:
    assert names_nothing(title, 4)


@pytest.mark.parametrize(
    "title",
    [
        *("Page limits", "Pages", "1 Scope", "Item 1A. Risk Factors", "2021", "IV", "Annex 3", "Sheet metal"),
        *(
            "Payment",
            "A",
            "§ 5",
            "Cover",
            "Untitled documents",
            "Use of .pdf files",
            "Image rights",
            "About ~2 days",
        ),
    ],
)
def test_a_name_is_kept(title: str) -> None:
    assert not names_nothing(title, 4)


def test_a_number_names_nothing_where_it_is_that_of_its_page() -> None:
    assert names_nothing("4", 4)
    assert not names_nothing("4", 5)


def _lines(pages: list[list[str]]) -> list[DraftLine]:
    """Pages of ten-point text; a row in capitals is a heading of fourteen points."""
    return [
        DraftLine(
            page,
            text,
            number,
            72,
            80 + 20 * number,
            400,
            92 + 20 * number,
            size=14 if text.isupper() else 10,
            bold=text.isupper(),
            starts_block=True,
        )
        for page, rows in enumerate(pages, start=1)
        for number, text in enumerate(rows, start=1)
    ]


BODY = ["the parties agree on what stands here and below", "and on what follows from it in every case"]


def test_the_heading_on_the_page_takes_the_place_of_a_label() -> None:
    lines = _lines(
        [["SUPPLY AGREEMENT", *BODY, *BODY], ["PAYMENT", *BODY, "INVOICES", *BODY], [*BODY, *BODY]]
    )
    entries = [
        TocEntry("SUPPLY~1", 1, 1),
        TocEntry("Page 2", 2, 2),
        TocEntry("Page 3", 2, 3),
    ]
    sections = build_sections(entries, lines)
    assert [s.title for s in sections] == ["SUPPLY AGREEMENT", "PAYMENT", "Page 3"]
    assert sections[1].breadcrumb == "SUPPLY AGREEMENT › PAYMENT"
    assert [s.start_line for s in sections] == [1, 1, 1]


def test_each_label_of_a_page_takes_the_heading_after_it_and_none_before() -> None:
    lines = _lines([["SCOPE", *BODY, "TERMS", *BODY], [*BODY, *BODY, "FEES", *BODY]])
    entries = [TocEntry("Page 1", 1, 1, y=0.0), TocEntry("", 1, 1, y=160.0), TocEntry("", 1, 2, y=0.0)]
    sections = build_sections(entries, lines)
    assert [(s.title, s.start_line) for s in sections] == [("SCOPE", 1), ("TERMS", 4), ("FEES", 1)]


def test_what_has_neither_title_nor_heading_is_left_out() -> None:
    lines = _lines([["SCOPE", *BODY, *BODY], [*BODY, *BODY]])
    sections = build_sections([TocEntry("Scope", 1, 1), TocEntry("", 1, 2)], lines)
    assert [s.title for s in sections] == ["Scope"]
    assert {line.section_id for line in lines} == {"s1"}


def test_a_label_on_the_page_is_no_heading_of_it() -> None:
    lines = _lines([["SCOPE", *BODY], ["TERMS", *BODY, *BODY, "Page 2"]])
    sections = build_sections([TocEntry("Scope", 1, 1), TocEntry("Page 2", 1, 2)], lines)
    assert [(s.title, s.start_line) for s in sections] == [("Scope", 1), ("TERMS", 1)]
