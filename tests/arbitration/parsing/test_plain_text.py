"""Plain text: encodings, lines, virtual pages, headings, and the way back to the characters."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.errors import ParseFailure
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.offsets import MAX_LINE, PAGE_LINES, line_spans
from arbitration.parsing.plain_text import decode, draft_of_text, read_text
from arbitration.parsing.toc import build_sections

_text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=600) | st.lists(
    st.sampled_from(["word", "a clause.", "\n", "\r\n", "\n\n", " ", "1.", "x" * 90, "\f", "\t", "Ñandú;"]),
    max_size=120,
).map("".join)


@given(_text)
def test_no_character_that_shows_is_lost(text: str) -> None:
    shown = "".join(text[start:end] for _, _, start, end in line_spans(text))
    kept = "".join(shown.split())
    # A byte order mark or a zero-width space at the edge of a row shows nothing.
    assert kept.replace("\ufeff", "").replace("\u200b", "") == "".join(text.split()).replace(
        "\ufeff", ""
    ).replace("\u200b", "")


@given(_text)
def test_lines_are_in_order_numbered_and_without_white_space_around(text: str) -> None:
    previous_end, place = 0, (1, 0)
    for page, number, start, end in line_spans(text):
        assert previous_end <= start < end
        assert text[start:end] == text[start:end].strip()
        assert (page, number) in ((place[0], place[1] + 1), (place[0] + 1, 1))
        assert number <= PAGE_LINES
        previous_end, place = end, (page, number)


@given(_text)
def test_the_parser_and_the_offsets_agree(text: str) -> None:
    spans = line_spans(text)
    lines = draft_of_text(text).lines
    assert [(line.page_num, line.line_num) for line in lines] == [span[:2] for span in spans]
    for line, (_, _, start, end) in zip(lines, spans, strict=True):
        assert len(line.text) == end - start


@given(_text)
def test_lines_stay_short_where_there_is_space_to_break(text: str) -> None:
    for _, _, start, end in line_spans(text):
        assert end - start <= MAX_LINE or not any(c.isspace() for c in text[start : start + MAX_LINE])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Señor año".encode(), "Señor año"),
        (codecs.BOM_UTF8 + "Señor".encode(), "\ufeffSeñor"),
        ("Señor año".encode("utf-16"), "Señor año"),
        ("Señor año".encode("utf-32"), "Señor año"),
        (codecs.BOM_UTF16_BE + "Señor".encode("utf-16-be"), "Señor"),
        ("Señor – “año”".encode("cp1252"), "Señor – “año”"),
    ],
)
def test_encodings(data: bytes, text: str) -> None:
    assert decode(data) == text


def test_binary_data_is_refused() -> None:
    with pytest.raises(ParseFailure) as failure:
        decode(bytes(range(32)) * 40)
    assert failure.value.code == "type_mismatch"


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "marked.txt"
    path.write_bytes(codecs.BOM_UTF8 + b"Scope\nof it")
    draft = draft_of_text(read_text(path.read_bytes(), limits=ParseLimits()))
    assert [line.text for line in draft.lines] == ["Scope", "of it"]
    assert line_spans(path.read_text("utf-8"))[0] == (1, 1, 1, 6)


def test_a_form_feed_begins_a_page() -> None:
    assert [(page, number) for page, number, _, _ in line_spans("a\nb\fc\n\fd")] == [
        (1, 1),
        (1, 2),
        (2, 1),
        (3, 1),
    ]


def test_long_rows_are_broken_after_sentences() -> None:
    sentence = "The keeper of records stores each signed form in a locked room of the old house. "
    lines = [sentence.strip()] * 4
    spans = line_spans(sentence * 4)
    assert [(sentence * 4)[start:end] for _, _, start, end in spans] == lines


def test_paragraphs_whose_breaks_were_lost_are_cut_again() -> None:
    first = '"Form" means a paper that the office issues to a person who has asked for it and paid.'
    second = "Section 3.2 Keeping. Every form is kept in a locked room of the old house."
    third = "1.    Definitions apply to all of this."
    text = f"{first}     {second}     {third}"
    assert [text[start:end] for _, _, start, end in line_spans(text)] == [first, second, third]


def test_page_numbers_and_the_words_beside_them_are_furniture() -> None:
    parts = []
    for page in range(1, 5):
        parts += [f"Rule {'abcde'[page]} is told here at length.", str(page), "Source: the registry, 2011"]
    draft = draft_of_text("\n\n".join(parts))
    marked = [line.text for line in draft.lines if line.is_furniture]
    assert marked == [text for page in range(1, 5) for text in (str(page), "Source: the registry, 2011")]


def test_numbers_that_do_not_count_up_are_text() -> None:
    draft = draft_of_text("\n\n".join(["Fees", "7", "12", "7", "Fees", "90", "Fees"]))
    assert not any(line.is_furniture for line in draft.lines)


def _toc(text: str) -> list[tuple[int, str]]:
    draft = draft_of_text(text)
    return [(section.level, section.title) for section in build_sections(draft.toc, draft.lines)]


def test_headings_by_capitals_numbers_and_named_divisions() -> None:
    text = "\n".join(
        [
            "ARTICLE I",
            "",
            "DUTIES",
            "",
            "The keeper shall keep the forms in good order and hand them out on request.",
            "",
            "1.1 Opening hours",
            "",
            "The office is open from nine to five on every working day of the year.",
            "",
            "ARTICLE II",
            "",
            "The fee is paid in advance, by card or in cash, at the desk of the office.",
        ]
        + ["", "More rules follow in plain sentences that nobody would take for a heading."] * 12
    )
    assert _toc(text) == [(1, "ARTICLE I"), (2, "DUTIES"), (3, "1.1 Opening hours"), (1, "ARTICLE II")]


def test_numbered_clauses_that_run_into_the_text() -> None:
    body = "The parties carry this out in good faith and report to each other once a month."
    names = ("1. Definitions", "2. Grant of Rights", "2.1 Scope", "2.2 Limits", "3. Term")
    text = "\n\n".join(f"{name}. {body}" for name in names)
    assert _toc(text) == [
        (1, "1 Definitions"),
        (1, "2 Grant of Rights"),
        (2, "2.1 Scope"),
        (2, "2.2 Limits"),
        (1, "3 Term"),
    ]


def test_numbered_sentences_are_clauses_named_by_their_first_words() -> None:
    text = "\n\n".join(
        f"{n}. The parties agree that the form is kept for all of {n} years." for n in range(1, 5)
    )
    first_words = "The parties agree that the form is kept for …"
    assert _toc(text) == [(1, f"{n} {first_words}") for n in range(1, 5)]


def test_clauses_are_found_where_line_breaks_were_lost() -> None:
    body = (
        "The parties carry this out in good faith and report to each other once a month, as Section 9 says."
    )
    numbers = ("1.1", "1.2", "2.1", "2.2", "3.1")
    titles = [title for _, title in _toc("Agreement. " + " ".join(f"{number} {body}" for number in numbers))]
    assert titles[-4:] == [
        f"{number} The parties carry this out in good faith and …" for number in numbers[1:]
    ]


def test_a_short_list_of_sentences_has_no_headings() -> None:
    text = "\n\n".join(f"{n}. The parties agree that the form is kept for {n} years." for n in range(1, 4))
    assert _toc(text) == []
    assert _toc("Of 12 forms 3 were lost. 4. And 2 found. 9. None.") == []
    assert _toc("just a line\nand another one") == []
