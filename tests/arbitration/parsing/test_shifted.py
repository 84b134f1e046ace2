"""Text that holds the numbers of glyphs instead of characters."""

from __future__ import annotations

import pytest

from arbitration.parsing.shifted import is_shifted

PROSE = (
    "The keeper of the lighthouse shall fill the lamp with oil at the end of each day, and shall not leave it "
    "before it is lit. If the oil is not there, he tells the council of the harbour at once, and it will pay."
)


def shifted(text: str) -> str:
    return "".join(chr(ord(char) - 29) if char != "\n" else char for char in text)


@pytest.mark.parametrize("between", ["\x03", " "])
def test_prose_in_numbers_of_glyphs_is_told_from_prose(between: str) -> None:
    assert is_shifted(shifted(PROSE).replace("\x03", between))
    assert not is_shifted(PROSE)
    assert not is_shifted(PROSE.upper())


def test_neither_a_list_of_part_numbers_nor_a_few_words_are_judged() -> None:
    assert not is_shifted(" ".join(f"3URF{number} $&%{number}" for number in range(60)))
    assert not is_shifted(shifted("The keeper of the lamp."))
