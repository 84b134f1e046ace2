from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.grounding import check_quotes

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
