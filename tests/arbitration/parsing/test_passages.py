"""Passages cover the body once, in order, inside sections."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arbitration.parsing.drafts import DraftLine
from arbitration.parsing.passages import MAX_WORDS, TARGET_WORDS, build_passages

_lines = st.lists(
    st.builds(
        lambda page, words, section, furniture, hidden, block: DraftLine(
            page,
            " ".join(["word"] * words),
            section_id=section,
            is_furniture=furniture,
            is_hidden=hidden,
            starts_block=block,
        ),
        page=st.integers(1, 4),
        words=st.integers(0, 40),
        section=st.sampled_from([None, "s1", "s2"]),
        furniture=st.booleans(),
        hidden=st.booleans(),
        block=st.booleans(),
    ),
    max_size=60,
)


def _numbered(lines: list[DraftLine]) -> list[DraftLine]:
    lines.sort(key=lambda line: line.page_num)
    counts: dict[int, int] = {}
    for line in lines:
        counts[line.page_num] = counts.get(line.page_num, 0) + 1
        line.line_num = counts[line.page_num]
    return lines


def _body(lines: list[DraftLine]) -> list[DraftLine]:
    return [line for line in lines if line.is_body and line.text]


@given(_lines)
def test_every_body_line_is_in_exactly_one_passage_and_the_order_is_kept(lines: list[DraftLine]) -> None:
    lines = _numbered(lines)
    passages = build_passages(lines)
    covered: list[tuple[int, int]] = []
    for passage in passages:
        span = [
            (line.page_num, line.line_num)
            for line in _body(lines)
            if (passage.page_start, passage.line_start)
            <= (line.page_num, line.line_num)
            <= (passage.page_end, passage.line_end)
        ]
        covered.extend(span)
    assert covered == [(line.page_num, line.line_num) for line in _body(lines)]
    assert [passage.ordinal for passage in passages] == list(range(len(passages)))


@given(_lines)
def test_passages_keep_to_one_section_and_to_the_limit(lines: list[DraftLine]) -> None:
    lines = _numbered(lines)
    for passage in build_passages(lines):
        members = [
            line
            for line in _body(lines)
            if (passage.page_start, passage.line_start)
            <= (line.page_num, line.line_num)
            <= (passage.page_end, passage.line_end)
        ]
        assert {line.section_id for line in members} == {passage.section_id}
        words = sum(len(line.text.split()) for line in members)
        assert words <= MAX_WORDS or len(members) == 1
        assert passage.text.split() == " ".join(line.text for line in members).split()


def _row(number: int, text: str, *, page: int = 1, block: bool = False) -> DraftLine:
    return DraftLine(page, text, number, starts_block=block)


def test_nothing_gives_no_passages() -> None:
    assert build_passages([]) == []
    assert build_passages([DraftLine(1, "header", 1, is_furniture=True)]) == []


def test_passages_break_where_paragraphs_do() -> None:
    ten = "one two three four five six seven eight nine ten"
    rows = [_row(number, ten, block=number in (1, 8)) for number in range(1, 15)]
    assert [(p.line_start, p.line_end) for p in build_passages(rows)] == [(1, 7), (8, 14)]


def test_short_paragraphs_are_packed_to_the_target() -> None:
    rows = [_row(number, "one two three four five six", block=True) for number in range(1, 31)]
    sizes = [len(passage.text.split()) for passage in build_passages(rows)]
    assert sum(sizes) == 180
    assert all(TARGET_WORDS <= size <= MAX_WORDS for size in sizes)


def test_a_long_paragraph_is_cut_into_even_parts() -> None:
    rows = [_row(number, "one two three four five six seven eight nine ten") for number in range(1, 17)]
    sizes = [len(passage.text.split()) for passage in build_passages(rows)]
    assert sizes == [80, 80]


def test_a_passage_stays_on_its_page_unless_it_has_hardly_begun() -> None:
    rows = [
        _row(1, "A closing sentence of " + "many " * 30 + "words."),
        _row(1, "The next page. " * 10, page=2),
    ]
    assert [(p.page_start, p.page_end) for p in build_passages(rows)] == [(1, 1), (2, 2)]
    rows = [_row(1, "4.2 Notice"), _row(1, "is given in writing " * 10, page=2)]
    assert [(p.page_start, p.page_end) for p in build_passages(rows)] == [(1, 2)]


def test_words_broken_at_the_end_of_a_line_are_joined_when_the_document_knows_them() -> None:
    rows = [
        _row(1, "of confi-"),
        _row(2, "dential and self-"),
        _row(3, "made papers"),
        _row(4, "confidential"),
    ]
    (passage,) = build_passages(rows)
    assert passage.text == "of confidential and self-made papers confidential"
