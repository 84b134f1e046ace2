from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration import vocabulary
from arbitration.text import fold, is_stop_word, stem, words
from arbitration.vocabulary import Vocabulary

ODD = (
    "records",
    "Recorded",
    "the",
    "supplier's",
    "'tis",
    "''",
    "rock''n",
    "€100",
    "100€50",
    "§",
    "naïve",
    "\x85",
)
WORDS = st.one_of(
    st.sampled_from(ODD),
    st.text(st.sampled_from("abgxyz'-_09éß中·"), max_size=30),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(["a" * 24, "b" * 24, "a" * 25, "b" * 25, "a" * 24 + "'s"]),
)
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=6)


def stems_of(text: str) -> list[str]:
    """The first word of whatever stands between ASCII separators, stemmed: what the numbers stand for."""
    plain = text if text.isascii() else fold(text)
    pieces = "".join(c if ord(c) >= 128 or c.isalnum() or c == "'" else " " for c in plain).split(" ")
    return [stem(found[0]) for piece in pieces if (found := words(_lower(piece)))]


def _lower(piece: str) -> str:
    """ASCII letters only, as in bytes."""
    return piece.encode().lower().decode()


def read_by(numbers: Vocabulary, texts: list[str]) -> list[list[int]]:
    read = numbers.read(texts)
    assert len(read.lengths) == len(texts)
    assert read.lengths.sum() == len(read.ids)
    return [part.tolist() for part in np.split(read.ids, np.cumsum(read.lengths)[:-1])] if texts else []


@given(st.lists(TEXTS, max_size=3))
def test_a_number_is_a_stem(rounds: list[list[str]]) -> None:
    """Whatever is read first, together, or again."""
    numbers = Vocabulary("en")
    named: dict[str, int] = {}
    for texts in rounds:
        for text, ids in zip(texts, read_by(numbers, texts), strict=True):
            stems = stems_of(text)
            assert len(ids) == len(stems)
            for word_stem, number in zip(stems, ids, strict=True):
                assert named.setdefault(word_stem, number) == number
    assert len(set(named.values())) == len(named)
    assert 0 not in named.values()


@pytest.mark.parametrize("texts", [[], [""], ["", "a word", ""], ["…", "two words"], ["the last"]])
def test_every_text_has_its_own_words(texts: list[str]) -> None:
    assert [len(ids) for ids in read_by(Vocabulary("en"), texts)] == [len(stems_of(text)) for text in texts]


def test_words_that_want_the_same_place_keep_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "_FACTORS", np.zeros(3, np.uint64))
    numbers = Vocabulary("en")
    text = "every word has one place, and every word wants it"

    assert read_by(numbers, [text]) == read_by(numbers, [text])
    assert len(set(numbers.read([text]).ids.tolist())) == len(set(stems_of(text)))


def test_long_words_differ_behind_their_twenty_fourth_letter() -> None:
    numbers = Vocabulary("en")

    for _again in range(2):
        first, second, third = numbers.read([f"{'x' * 24} {'x' * 25}q {'x' * 25}z"]).ids.tolist()
        assert len({first, second, third}) == 3


def test_function_words_are_known_as_such() -> None:
    numbers = Vocabulary("en")
    text = "the auditor must report whatever " + " ".join(f"word{number}" for number in range(3000))
    ids = numbers.read([text]).ids

    assert numbers.stop_table()[ids].tolist() == [is_stop_word(word) for word in text.split()]
    assert len(numbers.stop_table()) == len(numbers)
