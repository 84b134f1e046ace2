from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration import grounding
from arbitration.grounding import check_quote, check_quotes

SOURCE = "Audit records are kept\nfor seven years after the audit has closed."


@pytest.mark.parametrize(
    ("text", "status", "quote"),
    [
        ('It says "records are kept".', "verified", "records are kept"),
        ("It says “Records are Kept for seven”.", "repaired", "records are kept for seven"),
        ("It says 'kept for seven years'.", "repaired", "kept for seven years"),
        ('It says "kept for nine years".', "unverified", "kept for nine years"),
        ('It says "Audit records … seven years after".', "verified", "Audit records … seven years after"),
        ('It says "Audit records … nine years".', "unverified", "Audit records … nine years"),
        ("Dice «records are kept».", "verified", "records are kept"),
    ],
)
def test_quotes(text: str, status: str, quote: str) -> None:
    checked = check_quotes(text, (SOURCE,))
    assert [(q.status, q.quote) for q in checked.quotes] == [(status, quote)]
    assert checked.all_stand == (status != "unverified")


def test_a_repaired_quote_is_put_into_the_text() -> None:
    assert check_quotes('It says "RECORDS ARE KEPT".', (SOURCE,)).text == 'It says "records are kept".'


def test_short_quotations_and_apostrophes_are_left_alone() -> None:
    checked = check_quotes("The firm's 'audit' isn't the board's.", (SOURCE,))
    assert checked.quotes == ()


@given(st.text(max_size=120))
def test_any_reason_is_checked_without_losing_text_outside_quotes(text: str) -> None:
    checked = check_quotes(text, (SOURCE,))
    if all(quote.status != "repaired" for quote in checked.quotes):
        assert checked.text == text


@pytest.mark.parametrize(
    "text",
    [
        "\" 'a" + "'bbbbbbbb" * 12_000,
        " 'a" * 33_000,
        "“a b c " * 15_000,
        "'a b's c' " * 10_000,
    ],
    ids=["apostrophes without an end", "single quotes that only open", "curly ones that only open", "many"],
)
def test_a_reason_written_to_hang_its_reader_is_read_in_one_pass(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work is counted, not time: whoever looks for the next mark begins behind the last one found."""
    looked: list[int] = []

    class Counted:
        def __init__(self, pattern: re.Pattern[str]) -> None:
            self.pattern = pattern

        def search(self, text: str, start: int) -> re.Match[str] | None:
            found = self.pattern.search(text, start)
            looked.append((found.end() if found else len(text)) - start)
            return found

    for name in ("_OPENING", "_SINGLE_STOP"):
        monkeypatch.setattr(grounding, name, Counted(getattr(grounding, name)))
    pairs = {mark: (closing, Counted(stops)) for mark, (closing, stops) in grounding._PAIRS.items()}
    monkeypatch.setattr(grounding, "_PAIRS", pairs)

    list(grounding.quotations(text))

    assert sum(looked) < 6 * len(text)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("'a's b' c", ["a's b"]),
        ("x'a b'", []),
        ("'a 'b c' d", ["a 'b c"]),
        ("'a\nb' 'c d'", ["c d"]),
        ("‘a b’ and ‘c ‘d e’", ["a b", "d e"]),
        ('"" "a b"', [" "]),
        ("“a “b c” d”", ["b c"]),
        ("'' 'a b'", [" 'a b"]),
    ],
)
def test_where_quotations_begin_and_end(text: str, quoted: list[str]) -> None:
    assert [text[start:end] for start, end in grounding.quotations(text)] == quoted


@pytest.mark.parametrize(
    ("quote", "status"),
    [
        ("Audit records are kept", "verified"),
        ("“seven years after the audit has closed.”", "verified"),
        ("`kept for SEVEN years`", "repaired"),
        ("audit records … has closed", "repaired"),
        ("records are destroyed", "unverified"),
        ("years", None),
        ("“…”", None),
        ("", None),
        ("kept " * 500, "unverified"),
    ],
)
def test_a_quotation_given_by_itself_is_checked_without_its_marks(quote: str, status: str | None) -> None:
    check = check_quote(quote, (SOURCE,))
    assert (check.status if check else None) == status
    assert check is None or len(check.quote) <= 1_000


def test_of_a_passage_of_two_words_two_words_are_enough() -> None:
    check = check_quote("Not applicable", ("Not applicable", SOURCE))
    assert check is not None
    assert check.status == "verified"


@pytest.mark.parametrize("quote", ["the Supplier's obligations", "the Supplier's obli-\ngations"])
def test_a_word_that_a_line_breaks_may_be_quoted_whole(quote: str) -> None:
    check = check_quote(quote, ("It limits the Supplier's obli-\ngations under clause 4.",))
    assert check is not None
    assert check.status in ("verified", "repaired")
    assert check_quote("the Supplier's obligation", ("the Supplier's long-\nterm",)).status == "unverified"  # type: ignore[union-attr]
