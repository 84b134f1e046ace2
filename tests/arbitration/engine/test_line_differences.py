"""Words of two texts that differ, by line."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from arbitration.line_differences import differing_words


def _marked(one: Sequence[str], other: Sequence[str]) -> tuple[list[list[str]], list[list[str]]]:
    found = differing_words(one, other)
    return tuple(  # type: ignore[return-value]
        [[line[start:end] for start, end in spans] for line, spans in zip(lines, marks, strict=True)]
        for lines, marks in zip((one, other), found, strict=True)
    )


def test_the_words_that_differ_are_marked_in_their_lines() -> None:
    old = ["The Client pays within thirty (30)", "days of receipt."]
    new = ["The Client pays within forty-five (45) days", "of receipt of the invoice."]
    assert _marked(old, new) == (
        [["thirty (30)"], ["receipt."]],
        [["forty-five (45)"], ["receipt of the invoice."]],
    )


def test_line_breaks_and_hyphens_at_their_ends_do_not_count() -> None:
    assert _marked(["the infor-", "mation held"], ["the information", "held"]) == ([[], []], [[], []])


def test_a_broken_word_that_differs_is_marked_in_both_lines() -> None:
    assert _marked(["all infor-", "mation"], ["all data"]) == ([["infor-"], ["mation"]], [["data"]])


@given(st.lists(st.text(max_size=20), max_size=6), st.lists(st.text(max_size=20), max_size=6))
def test_marks_lie_in_their_lines_and_the_same_text_has_none(one: list[str], other: list[str]) -> None:
    for lines, marks in zip((one, other), differing_words(one, other), strict=True):
        for line, spans in zip(lines, marks, strict=True):
            assert all(0 <= start < end <= len(line) for start, end in spans)
            assert list(spans) == sorted(spans)
    assert not any(any(marks) for marks in differing_words(one, one))
