from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.late_interaction import (
    HEADING,
    HEADING_SHARE,
    CandidateTokens,
    PassageTokens,
    cosines,
    encode,
    interact,
    line_starts,
    passage_tokens,
)
from arbitration.protocols import TokenVectors

#: Directions at right angles to each other, none along a dimension, as those of an encoder.
AXES = np.linalg.qr(np.random.default_rng(0).normal(size=(384, 384)))[0][:4].astype(np.float32)


def tokens(*words: tuple[int, np.ndarray], begins: tuple[int, ...] | None = None) -> TokenVectors:
    """Tokens of (vocabulary number, vector), one character apart unless told where each begins."""
    starts = begins or tuple(range(len(words)))
    return TokenVectors(
        ids=np.array([number for number, _ in words], dtype=np.int32),
        vectors=np.array([vector for _, vector in words], dtype=np.float32).reshape(-1, AXES.shape[1]),
        offsets=np.array([(start, start + 1) for start in starts], dtype=np.int32).reshape(-1, 2),
    )


def candidate(*words: tuple[int, np.ndarray]) -> CandidateTokens:
    passage = passage_tokens(tokens(*words), text="x" * len(words), lines=[((1, 1), "x" * len(words))])
    found = CandidateTokens.of([passage], {(1, 1)})
    assert found is not None
    return found


def between(first: np.ndarray, second: np.ndarray, cosine: float) -> np.ndarray:
    return cosine * first + math.sqrt(1 - cosine**2) * second


def test_each_token_of_the_question_counts_by_its_best_match_and_its_rarity() -> None:
    asked = tokens((1, AXES[0]), (2, AXES[1]))
    common_only = candidate((1, AXES[0]), (9, AXES[3]))
    near_rare = candidate((1, AXES[0]), (8, between(AXES[1], AXES[2], 0.8)))
    other = candidate((1, AXES[0]))

    found = interact(asked, [common_only, near_rare, other])

    # Token 1 stands in all three candidates, token 2 in none.
    common, rare = math.log1p(0.5 / 3.5), math.log1p(3.5 / 0.5)
    assert found.weights == pytest.approx([common / (common + rare), rare / (common + rare)])
    assert found.best[1] == pytest.approx([1.0, 0.8], abs=0.1)
    assert found.scores()[1] == pytest.approx((common + 0.8 * rare) / (common + rare), abs=0.1)
    assert found.held.tolist() == [[True, False]] * 3
    assert found.scores().argmax() == 1


def test_a_candidate_without_tokens_is_not_known_and_weighs_nothing() -> None:
    asked = tokens((1, AXES[0]))

    found = interact(asked, [None, candidate((1, AXES[0]))])

    assert found.known.tolist() == [False, True]
    assert found.scores().tolist() == pytest.approx([0.0, 1.0], abs=0.1)
    assert interact(asked, []).scores().tolist() == []
    assert interact(tokens(), [candidate((1, AXES[0]))]).plain().tolist() == [0.0]


def test_a_match_in_the_headings_counts_a_little_less_and_is_not_held() -> None:
    passage = passage_tokens(
        tokens((1, AXES[0])),
        text="x",
        lines=[((2, 7), "x")],
        heading=tokens((2, AXES[1])),
    )
    own = CandidateTokens.of([passage], {(2, 7)})
    assert own is not None

    found = interact(tokens((2, AXES[1])), [own])

    assert found.best[0, 0] == pytest.approx(HEADING_SHARE, abs=0.1)
    assert not found.held[0, 0]
    assert [own.place(token) for token in range(2)] == [(HEADING, 0), ((2, 7), 0)]


def test_only_the_tokens_of_a_candidate_s_own_lines_are_its_own() -> None:
    passage = passage_tokens(
        tokens((1, AXES[0]), (2, AXES[1]), (3, AXES[2]), begins=(0, 4, 8)),
        text="one two six",
        lines=[((1, 1), "one"), ((1, 2), "two six")],
    )

    second = CandidateTokens.of([passage], {(1, 2)})

    assert second is not None
    assert second.ids.tolist() == [2, 3]
    assert [second.place(token) for token in range(2)] == [((1, 2), 0), ((1, 2), 4)]
    assert CandidateTokens.of([passage], {(1, 3)}) is None
    assert CandidateTokens.of([], {(1, 1)}) is None


@pytest.mark.parametrize(
    ("text", "lines", "starts"),
    [
        ("a b c d", ["a b", "c d"], [0, 4]),
        ("the agreement ends", ["the agree-", "ment ends"], [0, 9]),
        ("one - two", ["  one -", "two"], [0, 6]),
        ("", [], []),
    ],
)
def test_lines_begin_where_their_letters_do(text: str, lines: list[str], starts: list[int]) -> None:
    assert line_starts(text, lines).tolist() == starts


@given(
    st.integers(min_value=0, max_value=9),
    st.integers(min_value=1, max_value=8),
    st.lists(st.tuples(st.integers(1, 2**31), st.integers(1, 2**31)), min_size=1, max_size=5),
)
def test_packed_tokens_come_back_as_they_were(count: int, width: int, lines: list[tuple[int, int]]) -> None:
    numbers = np.arange(count)
    packed = PassageTokens(
        ids=numbers.astype(np.uint16),
        codes=(numbers[:, None] * np.ones(width)).astype(np.uint8),
        at=(numbers % len(lines)).astype(np.uint8),
        offsets=(numbers * 3).astype(np.uint16),
        lines=tuple(lines),
    ).packed()

    back = PassageTokens.unpacked(packed)

    assert back.lines == tuple(lines)
    assert back.ids.tolist() == numbers.tolist()
    assert back.offsets.tolist() == (numbers * 3).tolist()
    assert back.codes.shape[0] == count
    for damaged in (packed[:-1], packed + b"\0", b"\x09" + packed[1:], b""):
        with pytest.raises(ValueError, match="tokens of a passage"):
            PassageTokens.unpacked(damaged)


def test_two_bits_a_dimension_keep_the_angle_to_a_whole_vector() -> None:
    whole = np.stack([AXES[0], between(AXES[0], AXES[1], 0.6), AXES[1]])

    kept = encode(whole)

    assert kept.shape == (3, 96)
    assert cosines(kept, AXES[:1])[:, 0] == pytest.approx([0.94, 0.56, 0.0], abs=0.05)


@given(st.integers(1, 9))
def test_a_width_that_fills_no_byte_is_kept_too(width: int) -> None:
    vectors = np.eye(width, dtype=np.float32)

    found = cosines(encode(vectors), vectors)

    assert found.shape == (width, width)
    assert (found.argmax(axis=1) == np.arange(width)).all()
    assert np.abs(found).max() <= 1.0 + 1e-6
