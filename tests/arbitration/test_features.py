from __future__ import annotations

from math import log, log1p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.features import (
    CORE_FEATURES,
    FEATURE_NAMES,
    LIST_FEATURES,
    FeatureInput,
    QuestionFacts,
    candidate_features,
)

QUESTION = QuestionFacts("When must the auditor report?")


def column(name: str, question: QuestionFacts = QUESTION, *candidates: FeatureInput) -> list[float]:
    rows = candidate_features(question, candidates)
    return [float(value) for value in rows[:, FEATURE_NAMES.index(name)]]


def texts(*bodies: str) -> tuple[FeatureInput, ...]:
    return tuple(FeatureInput(text=body) for body in bodies)


def test_the_fifteen_stand_first_in_the_published_order() -> None:
    assert FEATURE_NAMES[:15] == CORE_FEATURES
    assert CORE_FEATURES == (
        "semantic_score",
        "bm25_score",
        "alias_match",
        "keyword_match",
        "domain_type",
        "document_length",
        "query_length",
        "section_depth",
        "embedding_cosine_similarity",
        "match_type",
        "score_gap_from_top",
        "query_term_coverage",
        "title_similarity",
        "has_nested_content",
        "bias_adjustment",
    )
    assert len(set(FEATURE_NAMES)) == len(FEATURE_NAMES)


def test_no_candidates_no_rows() -> None:
    assert candidate_features(QUESTION, []).shape == (0, len(FEATURE_NAMES))


# --- the fifteen ------------------------------------------------------------------------------------


def test_semantic_score_is_the_detectors_score_and_the_cosine_stays_bare() -> None:
    pair = (
        FeatureInput(text="a", semantic=0.5, semantic_score=0.65),
        FeatureInput(text="b", semantic=0.6),
        FeatureInput(text="c"),
    )

    assert column("semantic_score", QUESTION, *pair) == [0.65, 0.6, 0.6]
    assert column("embedding_cosine_similarity", QUESTION, *pair) == [0.5, 0.6, 0.5]
    assert column("score_gap_from_top", QUESTION, *pair) == pytest.approx([0.0, 0.05, 0.05])


def test_bm25_score() -> None:
    """k1 1.5, b .75; 'when', 'must' and 'the' are function words; list of two texts, 4 and 2 words long."""
    values = column("bm25_score", QUESTION, *texts("Auditors audit; auditors report", "Reports burn"))

    idf_auditor, idf_report = (log(1 + (2 - n + 0.5) / (n + 0.5)) for n in (1, 2))
    long, short = (1.5 * (0.25 + 0.75 * words / 3) for words in (4, 2))
    assert values == pytest.approx(
        [idf_auditor * 2 * 2.5 / (2 + long) + idf_report * 2.5 / (1 + long), idf_report * 2.5 / (1 + short)]
    )


@pytest.mark.parametrize(
    ("feature", "given_as", "value", "expected"),
    [
        ("alias_match", "alias_match", True, 1.0),
        ("keyword_match", "keyword_match", True, 1.0),
        ("domain_type", "domain_type", 3, 3.0),
        ("section_depth", "section_depth", 4, 4.0),
        ("match_type", "match_type", 2, 2.0),
        ("title_similarity", "title_similarity", 0.25, 0.25),
        ("has_nested_content", "has_nested_content", True, 1.0),
        ("bias_adjustment", "bias", -0.05, -0.05),
    ],
)
def test_facts_pass_through(feature: str, given_as: str, value: object, expected: float) -> None:
    candidate = FeatureInput(text="a", **{given_as: value})  # type: ignore[arg-type]

    assert column(feature, QUESTION, candidate, FeatureInput(text="b")) == [expected, 0.0]


def test_lengths_are_in_characters() -> None:
    assert column("document_length", QUESTION, *texts("twelve chars", "")) == [log1p(12), 0.0]
    assert column("query_length", QUESTION, *texts("a")) == [29.0]


def test_query_term_coverage_counts_distinct_stems_of_the_whole_question() -> None:
    values = column("query_term_coverage", QUESTION, *texts("The auditors reported, reporting.", "WHEN?", ""))

    assert values == pytest.approx([3 / 5, 1 / 5, 0])


# --- those of version 2 -----------------------------------------------------------------------------


def test_idf_coverage_weighs_by_how_rare_a_word_is_in_the_scope() -> None:
    question = QuestionFacts("auditor report", term_hits={"auditor": 0, "report": 99}, lines_searched=99)

    values = column("idf_coverage", question, *texts("auditor", "report", "auditor report", "neither"))

    rare, common = log1p(99.5 / 0.5), log1p(0.5 / 99.5)
    total = rare + common
    assert values == pytest.approx([rare / total, common / total, 1, 0])


def test_list_idf_coverage_weighs_by_the_list_alone() -> None:
    question = QuestionFacts("auditor report", term_hits={"auditor": 99, "report": 0}, lines_searched=99)

    values = column("list_idf_coverage", question, *texts("auditor", "report", "report"))

    rare, common = log1p(2.5 / 1.5), log1p(1.5 / 2.5)
    assert values == pytest.approx(
        [rare / (rare + common), common / (rare + common), common / (rare + common)]
    )


def test_content_coverage_leaves_function_words_out() -> None:
    assert column("content_coverage", QUESTION, *texts("when must the", "the auditor")) == [0, 0.5]


def test_bigrams_skip_function_words_on_both_sides() -> None:
    question = QuestionFacts("liability of the insurer for fire damage")
    bodies = texts("The insurer's liability", "liability of an insurer", "fire and damage", "damage by fire")

    values = column("bigram_overlap", question, *bodies)

    assert values[0] == values[3] == 0
    assert values[1] > 0
    assert values[2] > 0
    assert column("bigram_overlap", question, *texts("liability insurer fire damage")) == pytest.approx([1])


def test_no_bigram_crosses_from_one_candidate_to_the_next() -> None:
    assert column("bigram_overlap", QuestionFacts("fire damage"), *texts("fire", "damage")) == [0, 0]


def test_longest_run_follows_the_questions_order() -> None:
    values = column(
        "longest_run", QUESTION, *texts("the auditor report", "report the auditor", "the auditor", "x")
    )

    assert values == pytest.approx([3 / 5, 2 / 5, 2 / 5, 0])


def test_density_is_the_share_of_the_text() -> None:
    assert column("term_density", QUESTION, *texts("auditor x y z", "", "the")) == [0.25, 0, 0]


def test_scores_are_related_to_the_list() -> None:
    three = tuple(FeatureInput(text="a", lexical=x, semantic=s) for x, s in ((8, 0.2), (4, 0.6), (0, 0.4)))

    assert column("lexical_score", QUESTION, *three) == [8, 4, 0]
    assert column("lexical_in_list", QUESTION, *three) == [1, 0.5, 0]
    assert column("lexical_z", QUESTION, *three) == pytest.approx([4 / 3.26599, 0, -4 / 3.26599], rel=1e-4)
    assert column("semantic_in_list", QUESTION, *three) == pytest.approx([0, 1, 0.5])
    assert column("semantic_z", QUESTION, *three) == pytest.approx([-1.224745, 1.224745, 0], abs=1e-5)


def test_ranks_count_reciprocally_per_method() -> None:
    one = FeatureInput(text="a", ranks={"bm25": 2, "embedding": 4, "toc": 8, "cooccurrence": 5}, rrf=0.02)
    two = FeatureInput(text="b", ranks={"bm25": 1}, rrf=0.01)

    assert column("reciprocal_rank_lexical", QUESTION, one, two) == [0.5, 1]
    assert column("reciprocal_rank_semantic", QUESTION, one, two) == [0.25, 0]
    assert column("reciprocal_rank_structure", QUESTION, one, two) == [0.2, 0]
    assert column("rrf_in_list", QUESTION, one, two) == [1, 0.5]


def test_headings_count_apart_and_together_with_the_text() -> None:
    pair = (
        FeatureInput(text="He must report.", breadcrumb="Audit › The auditor"),
        FeatureInput(text="He must report.", breadcrumb="Fees"),
    )

    headings = column("heading_coverage", QUESTION, *pair)
    together = column("text_or_heading_coverage", QUESTION, *pair)

    assert headings[0] > headings[1] == 0
    assert together[0] == pytest.approx(1)
    assert together[0] > together[1] > 0


def test_company_in_the_same_document_and_section_counts_without_oneself() -> None:
    four = (
        FeatureInput(text="a", document_id="d", breadcrumb="A › one", rrf=0.3),
        FeatureInput(text="b", document_id="d", breadcrumb="A › two", rrf=0.2),
        FeatureInput(text="c", document_id="d", breadcrumb="B › three", rrf=0.1),
        FeatureInput(text="d", document_id="e", breadcrumb="A › one", rrf=0.3),
    )

    assert column("document_share", QUESTION, *four) == pytest.approx([0.3 / 0.6, 0.4 / 0.6, 0.5 / 0.6, 0])
    assert column("section_share", QUESTION, *four) == pytest.approx([0.2 / 0.5, 0.3 / 0.5, 0, 0])


def test_neighbours_stand_next_to_a_candidate_in_its_document() -> None:
    three = (
        FeatureInput(text="a", document_id="d", position=(1, 9), lexical=4, semantic=0.1),
        FeatureInput(text="b", document_id="d", position=(2, 1), lexical=8, semantic=0.5),
        FeatureInput(text="c", document_id="d", position=(7, 1), lexical=6, semantic=0.9),
    )

    assert column("neighbour_lexical", QUESTION, *three) == [1, 0.5, 0]
    assert column("neighbour_semantic", QUESTION, *three) == pytest.approx([0.5, 0, 0])


# --- version 3: beside the other candidates ---------------------------------------------------------


def test_bm25_counts_length_by_its_parameters() -> None:
    short, long = "The auditor reports.", "The auditor reports. " + "Nothing else is said here. " * 8
    flat = column("bm25_flat", QUESTION, *texts(short, long))
    steep = column("bm25_steep", QUESTION, *texts(short, long))
    assert flat[0] > flat[1] > 0
    assert steep[1] / steep[0] < flat[1] / flat[0]


def test_a_compared_measure_stands_as_share_of_the_best_and_as_reciprocal_rank() -> None:
    bodies = texts("auditor report", "auditor x y z", "nothing at all", "auditor x y z")
    density = column("term_density", QUESTION, *bodies)
    assert column("term_density_in_list", QUESTION, *bodies) == pytest.approx(
        [d / density[0] for d in density]
    )
    ranks = column("term_density_reciprocal_rank", QUESTION, *bodies)
    assert ranks == [1.0, 0.5, 0.0, 0.5]


def test_what_no_candidate_has_is_compared_with_nothing() -> None:
    rows = candidate_features(QUESTION, texts("one", "two"))
    compared = rows[:, [FEATURE_NAMES.index(name) for name in LIST_FEATURES if "length" not in name]]
    assert not compared.any()


# --- version 4: late interaction and the estimate ---------------------------------------------------


def test_late_interaction_stands_as_it_is_and_beside_the_list() -> None:
    scores = ((0.9, 0.5), (0.3, 0.4), (None, None), (0.9, 0.2))
    four = tuple(FeatureInput(text="a", late=late, late_plain=plain) for late, plain in scores)

    assert column("late", QUESTION, *four) == [0.9, 0.3, 0.3, 0.9]
    assert column("late_in_list", QUESTION, *four) == pytest.approx([1, 0, 0, 1])
    assert column("late_z", QUESTION, *four) == pytest.approx([1, -1, -1, 1])
    assert column("late_plain", QUESTION, *four) == [0.5, 0.4, 0.2, 0.2]
    assert column("late_plain_in_list", QUESTION, *four) == pytest.approx([1, 2 / 3, 0, 0])
    assert column("reciprocal_rank_late", QUESTION, *four) == pytest.approx([1, 1 / 3, 0, 1])


def test_an_encoder_without_vectors_of_tokens_leaves_late_interaction_out() -> None:
    rows = candidate_features(QUESTION, texts("one", "two"))

    assert not rows[:, [i for i, name in enumerate(FEATURE_NAMES) if "late" in name.split("_")]].any()


def test_the_estimate_of_the_rules_is_a_feature() -> None:
    three = tuple(FeatureInput(text="a", estimate=value) for value in (0.2, 0.8, 0.0))

    assert column("estimate", QUESTION, *three) == [0.2, 0.8, 0.0]
    assert column("estimate_in_list", QUESTION, *three) == pytest.approx([0.25, 1, 0])
    assert column("estimate_reciprocal_rank", QUESTION, *three) == pytest.approx([0.5, 1, 0])


# --- properties -------------------------------------------------------------------------------------

candidates = st.lists(
    st.builds(
        FeatureInput,
        text=st.text("auditor report the fee €\n", max_size=60),
        breadcrumb=st.sampled_from(["", "Audit", "Audit › Report"]),
        document_id=st.sampled_from("de"),
        semantic=st.none() | st.floats(-1, 1),
        lexical=st.none() | st.floats(0, 60),
        late=st.none() | st.floats(-1, 1),
        late_plain=st.none() | st.floats(-1, 1),
        estimate=st.floats(0, 1),
        rrf=st.floats(0, 0.05),
        cooccurrence=st.floats(0, 9),
        ranks=st.dictionaries(st.sampled_from(["bm25", "embedding", "toc"]), st.integers(1, 50)),
    ),
    min_size=1,
    max_size=8,
)
questions = st.builds(QuestionFacts, st.text("auditor report the ¿?", max_size=40))


@given(questions, candidates)
def test_rows_are_finite_whatever_comes(
    question: QuestionFacts, given_candidates: list[FeatureInput]
) -> None:
    rows = candidate_features(question, given_candidates)

    assert rows.shape == (len(given_candidates), len(FEATURE_NAMES))
    assert np.isfinite(rows).all()
    shares = [
        i for i, name in enumerate(FEATURE_NAMES) if name.endswith(("coverage", "overlap", "run", "density"))
    ]
    assert ((rows[:, shares] >= 0) & (rows[:, shares] <= 1 + 1e-9)).all()


@given(questions, candidates, st.randoms())
def test_the_order_of_the_list_changes_no_row(
    question: QuestionFacts, given_candidates: list[FeatureInput], random: object
) -> None:
    placed = [
        FeatureInput(**{f: getattr(c, f) for f in FeatureInput.__slots__} | {"position": (n * 5, 1)})  # type: ignore[arg-type]
        for n, c in enumerate(given_candidates)
    ]
    order = list(range(len(placed)))
    random.shuffle(order)  # type: ignore[attr-defined]

    rows = candidate_features(question, placed)
    shuffled = candidate_features(question, [placed[i] for i in order])

    np.testing.assert_allclose(shuffled, rows[order], atol=1e-9)
