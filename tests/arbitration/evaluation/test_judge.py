from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arbitration.evaluation.judge import Judge
from arbitration.evaluation.linemap import LineMap, LinePosition
from arbitration.evaluation.records import (
    EvalQuestion,
    EvidenceUnit,
    PageEvidence,
    PassageEvidence,
    RankedAnchor,
    SpanEvidence,
    TextEvidence,
)


def question(*evidence: EvidenceUnit) -> EvalQuestion:
    return EvalQuestion(qid="q", text="Who pays?", answerable=True, evidence=evidence)


def lines(first: int, last: int | None = None, *, page: int = 1, document: str = "d") -> RankedAnchor:
    return RankedAnchor(document, page, first, page, last or first)


def sectioned() -> Judge:
    """Two lines of section a, two of section b, on one page."""
    positions = [LinePosition(1, n, "a" if n < 3 else "b", 0, 3) for n in range(1, 5)]
    return Judge({("main", "d"): LineMap(positions, {"a": "abc", "b": "abc"})})


def text_judge(words: int) -> Judge:
    """A text of one-letter words, one word a line: word n stands at characters 2n to 2n + 1."""
    positions = [LinePosition(1, n + 1, "", 2 * n, 2 * n + 1) for n in range(words)]
    return Judge({("main", "d"): LineMap(positions, {"": "w " * words})})


def test_an_anchor_hits_the_section_it_stands_in() -> None:
    judged = sectioned().judge(question(PassageEvidence("d", "b")), [lines(1), lines(3, 4)])

    assert judged.found == ((), (0,))
    assert judged.first_hit == 2


def test_an_anchor_over_two_sections_hits_neither() -> None:
    judge = sectioned()

    assert not judge.is_hit(question(PassageEvidence("d", "b")), lines(2, 3))


def test_the_same_section_of_another_document_is_no_hit() -> None:
    judge = sectioned()

    assert not judge.is_hit(question(PassageEvidence("d", "b")), lines(3, document="e"))


def test_each_unit_counts_once_and_a_repeat_keeps_its_rank() -> None:
    judged = sectioned().judge(
        question(PassageEvidence("d", "a"), PassageEvidence("d", "b")), [lines(1), lines(2), lines(3)]
    )

    assert judged.found == ((0,), (), (1,))


def test_page_evidence_wants_an_anchor_on_one_page() -> None:
    judge, asked = Judge({}), question(PageEvidence("d", 5, 6))

    assert judge.is_hit(asked, lines(1, 90, page=6))
    assert not judge.is_hit(asked, lines(1, page=7))
    assert not judge.is_hit(asked, RankedAnchor("d", 5, 40, 6, 2))


def test_a_short_anchor_may_cross_a_page() -> None:
    judge, asked = Judge({}), question(PageEvidence("d", 5, 5))

    assert judge.is_hit(asked, RankedAnchor("d", 5, 40, 6, 2, word_count=120))
    assert not judge.is_hit(asked, RankedAnchor("d", 5, 40, 6, 2, word_count=121))


def test_a_span_is_hit_by_an_overlapping_anchor_of_at_most_120_words() -> None:
    judge, asked = text_judge(200), question(SpanEvidence("d", 20, 25))

    assert judge.is_hit(asked, lines(11))
    assert judge.is_hit(asked, lines(1, 120))
    assert not judge.is_hit(asked, lines(1, 121))
    assert not judge.is_hit(asked, lines(1, 10))


def test_one_anchor_may_find_several_spans() -> None:
    judged = text_judge(50).judge(
        question(SpanEvidence("d", 0, 1), SpanEvidence("d", 60, 61), SpanEvidence("d", 4, 9)),
        [lines(1, 20), lines(25, 40)],
    )

    assert judged.found == ((0, 2), (1,))


def test_an_anchor_outside_the_known_lines_hits_nothing() -> None:
    assert not text_judge(10).is_hit(question(SpanEvidence("d", 0, 19)), lines(40, 45))


@given(st.lists(st.integers(1, 50), max_size=30), st.lists(st.integers(0, 49), max_size=6))
def test_no_unit_is_found_twice_and_none_is_lost(anchored: list[int], spans: list[int]) -> None:
    asked = question(*(SpanEvidence("d", 2 * word, 2 * word + 1) for word in dict.fromkeys(spans)))

    judged = text_judge(50).judge(asked, [lines(line) for line in anchored])

    found = [index for units in judged.found for index in units]
    assert len(found) == len(set(found))
    assert {spans_word for spans_word in dict.fromkeys(spans) if spans_word + 1 in anchored} == {
        list(dict.fromkeys(spans))[index] for index in found
    }


def said(text: str, words: int | None = None) -> RankedAnchor:
    return RankedAnchor("d", 1, 1, 1, 1, len(text.split()) if words is None else words, text)


def test_a_quote_is_found_by_the_anchor_whose_own_text_holds_its_beginning() -> None:
    quote = (
        "Staff may carry over five days of leave into the next year, and no more than that unless HR agrees."
    )
    judge, asked = Judge({}), question(TextEvidence("d", quote))

    assert judge.is_hit(asked, said("4.2 " + quote[:90].replace("into the ", "into the\n")))
    assert judge.is_hit(asked, said(quote.upper().replace(" ", "\u00a0")))
    assert not judge.is_hit(asked, said(quote[:79]))
    assert not judge.is_hit(asked, said(quote, words=121))
    assert not judge.is_hit(asked, RankedAnchor("d", 1, 1, 1, 1))


def test_ranks_that_hold_evidence_again_are_told_apart_from_those_that_find_it_first() -> None:
    judged = sectioned().judge(question(PassageEvidence("d", "b")), [lines(1), lines(3), lines(4)])

    assert judged.found == ((), (0,), ())
    assert judged.holders == (1, 2)
