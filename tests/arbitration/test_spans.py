from __future__ import annotations

import pytest

from arbitration.spans import without_code_marks, without_spans


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a<!-- b -->c<!-- d -->e", "ace"),
        ("a<!-- b", "a<!-- b"),
        ("<!--><!-- a -->b", "b"),
        ("<!-- a -->b<!-- c", "b<!-- c"),
    ],
)
def test_what_stands_between_marks_is_left_out(text: str, left: str) -> None:
    assert without_spans(text, "<!--", "-->") == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("run `ls` now", "run ls now"),
        ("``a ` b``", "a ` b"),
        ("a ` b", "a ` b"),
        ("```a`` b`c`", "```a`` bc"),
        ("`a``b`", "a``b"),
    ],
)
def test_marks_of_code_are_left_out_in_pairs(text: str, left: str) -> None:
    assert without_code_marks(text) == left
