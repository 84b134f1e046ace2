"""What two sequences share: the same wherever it is found, and found in bounded time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration import alignment
from arbitration.alignment import changes, matching_blocks

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=30)


@pytest.mark.parametrize("pairs", [alignment.MOST_PAIRS, 5, 0])
def test_changes_rebuild_both_sides(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "MOST_PAIRS", pairs)

    @given(WORDS, WORDS)
    def rebuild(before: list[str], after: list[str]) -> None:
        ours: list[str] = []
        theirs: list[str] = []
        for kind, a, a_end, b, b_end in changes(before, after):
            assert (a, b) == (len(ours), len(theirs))
            assert kind == "replace" or before[a:a_end] == after[b:b_end]
            ours += before[a:a_end]
            theirs += after[b:b_end]
        assert (ours, theirs) == (before, after)

    rebuild()


def test_one_word_put_into_a_long_text_is_all_that_differs() -> None:
    before = [f"word{n % 2_500}" for n in range(10_000)]
    after = [*before[:6_000], "new", *before[6_000:]]

    assert [c for c in changes(before, after) if c.kind == "replace"] == [("replace", 6000, 6000, 6000, 6001)]


def test_a_text_of_one_word_repeated_is_compared_from_both_ends() -> None:
    before = ["a"] * 40_000

    blocks = matching_blocks(before, [*before[:30_000], "b", *before[:9_000]])

    assert sum(block.size for block in blocks) == 39_000


def test_texts_of_which_nothing_tells_where_they_meet_count_as_replaced() -> None:
    assert matching_blocks(["a", "b"] * 20_000, ["b", "a", "c"] * 15_000) == []
