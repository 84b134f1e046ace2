from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.evaluation.question_groups import (
    NearDuplicateIndex,
    cross_fit_folds,
    question_groups,
    question_hash,
    shared_questions,
)

WORDS = st.lists(
    st.sampled_from(["fee", "term", "law", "notice", "audit", "data", "court", "bank", "risk", "duty"]),
    min_size=1,
    max_size=9,
)


def test_case_accents_and_punctuation_do_not_make_another_question() -> None:
    assert question_hash("Who pays the  FEE?") == question_hash("who pays the fee")
    assert question_hash("¿Quién pagó?") == question_hash("quien pago")
    assert question_hash("Who pays the fee?") != question_hash("Who pays the fees?")


def test_near_duplicates_join_one_group() -> None:
    groups = question_groups(
        [
            "Within how many days must the firm pay its annual fee?",
            "Who appoints the auditor of the fund?",
            "Within how many days must a firm pay its annual fees?",
        ]
    )

    assert groups == [0, 1, 0]


def test_a_bridging_question_joins_two_groups() -> None:
    groups = question_groups(
        ["a1 a2 a3 a4 a5 a6 a7 a8 b1 b2", "a1 a2 a3 a4 a5 a6 a7 a8 c1 c2", "a1 a2 a3 a4 a5 a6 a7 a8 b1 c1"]
    )

    assert groups == [0, 0, 0]


@given(st.lists(WORDS.map(" ".join), max_size=12))
def test_the_index_finds_exactly_what_comparing_all_pairs_finds(texts: list[str]) -> None:
    index = NearDuplicateIndex()
    for position, text in enumerate(texts):
        own = set(text.split())
        expected = [
            earlier
            for earlier, other in enumerate(texts[:position])
            if 5 * len(own & set(other.split())) >= 4 * len(own | set(other.split()))
        ]
        assert index.add(text) == expected


def test_folds_keep_groups_whole_and_are_even() -> None:
    texts = [f"question about topic number {n} of chapter {n * 7}" for n in range(40)] * 3

    folds = cross_fit_folds(texts, folds=4, seed=0)

    assert [folds.count(fold) for fold in range(4)] == [30, 30, 30, 30]
    assert folds[:40] == folds[40:80] == folds[80:]


def test_the_seed_changes_the_folds_and_nothing_else_does() -> None:
    texts = [f"what does rule {n} say about item {n * 13}" for n in range(60)]

    assert cross_fit_folds(texts, folds=2, seed=0) == cross_fit_folds(texts, folds=2, seed=0)
    assert cross_fit_folds(texts, folds=2, seed=0) != cross_fit_folds(texts, folds=2, seed=1)


def test_more_folds_than_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot make 3 parts of 2"):
        cross_fit_folds(["one thing", "another matter", "one thing!"], folds=3, seed=0)


def test_shared_questions_are_named_once() -> None:
    assert shared_questions(["Who pays?", "who  pays", "Why?"], ["WHO PAYS"]) == ["Who pays?", "who  pays"]
