from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.fusion import ranks_of, rrf_score


def test_reciprocal_rank_fusion_by_hand() -> None:
    assert rrf_score([1, 3]) == pytest.approx(1 / 61 + 1 / 63)
    assert rrf_score([1], k=10) == pytest.approx(1 / 11)
    assert rrf_score([]) == 0.0


def test_ranks_start_at_one_and_ties_keep_their_order() -> None:
    assert ranks_of({"a": 2.0, "b": 5.0, "c": 2.0}) == {"b": 1, "a": 2, "c": 3}


@given(st.lists(st.integers(1, 500), min_size=1, max_size=6), st.integers(1, 500))
def test_being_found_once_more_never_hurts(ranks: list[int], more: int) -> None:
    assert rrf_score([*ranks, more]) > rrf_score(ranks)
