"""Where evidence stands, in words, and its text with the keywords marked."""

from __future__ import annotations

import pytest
from django.urls import clear_script_prefix, reverse, set_script_prefix
from django.utils import translation

from arbitration.contracts import CandidateScope
from workbench.ops.addresses import keyed_address
from workbench.questions.templatetags.evidence import lines_range, lines_short, listed, marked


def scope(page: int, first: int, last_page: int, last: int) -> CandidateScope:
    return CandidateScope(page_start=page, line_start=first, page_end=last_page, line_end=last)


@pytest.mark.parametrize(
    ("place", "long", "short"),
    [
        (scope(6, 12, 6, 18), "page 6, lines 12–18", "p. 6, l. 12–18"),
        (scope(6, 12, 6, 12), "page 6, line 12", "p. 6, l. 12"),
        (scope(6, 12, 7, 2), "page 6, line 12 to page 7, line 2", "p. 6, l. 12 – p. 7, l. 2"),
    ],
)
def test_places_in_words(place: CandidateScope, long: str, short: str) -> None:
    assert (lines_range(place), lines_short(place)) == (long, short)
    assert lines_range(place.model_dump()) == long


def test_places_follow_the_language() -> None:
    with translation.override("es"):
        assert lines_range(scope(6, 12, 6, 18)) == "página 6, líneas 12–18"


def test_only_matches_are_marked_and_text_stays_text() -> None:
    parts = [{"text": "<b>Pay</b> ", "matched": False}, {"text": "30 & days", "matched": True}]

    assert marked(parts) == "&lt;b&gt;Pay&lt;/b&gt; <mark>30 &amp; days</mark>"


def test_titles_become_items_and_stay_text() -> None:
    assert listed(["4 Records", "<i>"]) == "<li>4 Records</li><li>&lt;i&gt;</li>"
    assert listed([]) == ""


def test_an_address_of_many_rows_is_what_reverse_says() -> None:
    assert keyed_address("review:approve", 42) == reverse("review:approve", args=[42])
    try:
        set_script_prefix("/below/")
        assert keyed_address("review:approve", 7) == reverse("review:approve", args=[7])
    finally:
        clear_script_prefix()
