from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from arbitration.aggregation import split_lines
from arbitration.detection import detect
from arbitration.pool import CandidatePool
from arbitration.protocols import LineRow
from arbitration.settings import EngineSettings
from arbitration.text import word_count
from tests.arbitration.engine.makers import (
    RETENTION_POLICY,
    HashEmbedder,
    SectionText,
    make_document,
    make_store,
)


def line(number: int, text: str, *, page: int = 1, section: str = "s1") -> LineRow:
    return LineRow("d1", page, number, text, section)


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 40), st.sampled_from(["s1", "s2"])), max_size=40),
    st.integers(5, 60),
)
def test_pieces_keep_every_line_once_within_page_section_and_size(
    shape: list[tuple[int, int, str]], limit: int
) -> None:
    lines = [
        line(number, "word " * count, page=page, section=section)
        for number, (page, count, section) in enumerate(sorted(shape, key=lambda s: s[0]), start=1)
    ]
    pieces = split_lines(lines, limit)
    assert [row for piece in pieces for row in piece] == lines
    for piece in pieces:
        assert len({(row.page_num, row.section_id) for row in piece}) == 1
        assert len(piece) == 1 or sum(word_count(row.text) for row in piece) <= limit


def test_a_paragraph_end_closes_a_piece() -> None:
    wide = "word " * 20
    lines = [line(1, wide), line(2, wide), line(3, "the " * 12 + "end."), line(4, wide)]
    assert [len(piece) for piece in split_lines(lines, 120)] == [3, 1]


def pool_of(question: str, *documents: object, **settings: object) -> CandidatePool:
    embedder = HashEmbedder()
    store = make_store(*(documents or (RETENTION_POLICY,)), embedder=embedder)  # type: ignore[arg-type]
    return detect(
        question=question, store=store, embedder=embedder, settings=EngineSettings.model_validate(settings)
    )


def test_anchors_of_several_detectors_on_the_same_lines_are_one_candidate() -> None:
    pool = pool_of("What are the retention periods of audit records?")
    found = [c for c in pool.candidates if c.section_title == "2 Retention periods"]
    assert len(found) == 1
    assert {"toc", "bm25", "embedding"} <= set(found[0].methods)


def test_every_context_contains_its_anchor_and_every_anchor_is_small() -> None:
    pool = pool_of("records kept destroyed audit")
    for candidate in pool.candidates:
        anchor, context = candidate.anchor, candidate.context
        assert (context.page_start, context.line_start) <= (anchor.page_start, anchor.line_start)
        assert (anchor.page_end, anchor.line_end) <= (context.page_end, context.line_end)
        assert anchor.page_start == anchor.page_end
        assert word_count(candidate.anchor_text) <= 120
        assert candidate.anchor_text in candidate.context_text
        assert 1 <= len(candidate.brief.snippet.split("\n")) <= 5


def test_a_section_found_by_its_title_is_cut_into_pieces_that_share_it() -> None:
    paragraph = tuple(
        f"line {number} of a long rule about many things that matter to all of us" for number in range(30)
    )
    document = make_document(
        SectionText("1 Retention periods", paragraph), SectionText("2 Other", ("Nothing.",))
    )
    pool = pool_of("What are the retention periods?", document)
    pieces = [c for c in pool.candidates if c.section_title == "1 Retention periods"]
    assert len(pieces) > 1
    assert all("toc" in c.methods and c.signals.title_match == "exact" for c in pieces)
    spans = sorted((c.anchor.line_start, c.anchor.line_end) for c in pieces)
    assert all(left[1] < right[0] for left, right in pairwise(spans))


def test_in_a_collection_ids_carry_the_document() -> None:
    pool = pool_of("audit records", RETENTION_POLICY, RETENTION_POLICY)
    assert pool.is_collection
    assert {c.candidate_id.split(":")[0] for c in pool.candidates} == {"d1", "d2"}
    assert len({c.candidate_id for c in pool.candidates}) == len(pool.candidates)


def test_a_pool_survives_json() -> None:
    pool = pool_of("What are the retention periods of audit records?")
    assert CandidatePool.model_validate_json(pool.model_dump_json()) == pool


def test_a_pool_that_was_cut_says_so() -> None:
    pool = pool_of("records kept destroyed audit visitors", pool_size=2)
    assert len(pool.candidates) == 2
    assert "the best 2 by RRF are kept" in pool.notes[0]


def test_the_brief_says_when_two_distinct_terms_stood_in_for_a_group() -> None:
    pool = pool_of("audit records")
    brief = next(c.brief for c in pool.candidates if "cooccurrence" in c.methods)
    assert any("two distinct terms" in method for method in brief.methods)


def test_rrf_is_logged_with_a_rank_per_method() -> None:
    pool = pool_of("What are the retention periods of audit records?")
    ranks = [candidate.rrf_rank for candidate in pool.candidates]
    assert ranks == list(range(1, len(ranks) + 1))
    best = pool.candidates[0]
    assert best.rrf_score == sum(1 / (60 + rank) for rank in best.ranks.values())


def test_the_order_of_threads_does_not_change_the_pool() -> None:
    one = pool_of("What are the retention periods of audit records?", concurrent=False)
    other = pool_of("What are the retention periods of audit records?", concurrent=True)
    assert one.candidates == other.candidates


def test_a_long_document_does_not_crowd_out_a_short_one() -> None:
    long = make_document(
        *(
            SectionText(f"{n} Audit records", (f"Audit records of kind {n} are kept for {n} years.",))
            for n in range(1, 13)
        )
    )
    short = make_document(SectionText("1 Storage", ("An audit is held each spring.",)))
    everything = pool_of("How long are audit records kept?", long, short)
    best_of_short = next(c.candidate_id for c in everything.candidates if c.document_id == "d2")
    assert [c.document_id for c in everything.candidates[:3]] == ["d1"] * 3

    kept = pool_of("How long are audit records kept?", long, short, pool_size=3).candidates
    assert [c.document_id for c in kept] == ["d1", "d1", "d2"]
    assert kept[2].candidate_id == best_of_short
    assert [c.rrf_rank for c in kept] == sorted(c.rrf_rank for c in kept)


def test_many_short_documents_do_not_crowd_out_the_one_that_answers() -> None:
    answering = make_document(
        *(
            SectionText(f"{n} Audit records", (f"Audit records of kind {n} are kept for {n} years.",))
            for n in range(1, 13)
        )
    )
    others = [make_document(SectionText("1 Storage", (f"An audit is held in month {n}.",))) for n in range(8)]
    everything = pool_of("How long are audit records kept?", answering, *others)
    pool = pool_of("How long are audit records kept?", answering, *others, pool_size=10)

    kept = [c.candidate_id for c in pool.candidates]
    assert kept[:9] == [c.candidate_id for c in everything.candidates[:9]]
    assert len(kept) == 10
    assert pool.candidates[9].document_id != "d1"
    assert "1 of them for documents without a better one" in pool.notes[0]
