"""Where evidence stands, in words, and its text with the keywords marked."""

from __future__ import annotations

from typing import Any

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from arbitration.contracts import CandidateScope
from workbench.runs.templatetags import evidence
from workbench.runs.templatetags.evidence import lines_range, lines_short, marked


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


HOSTILE = '<script>alert("x")</script>'


def _line(number: int, **more: Any) -> dict[str, Any]:
    place = {"x0": 1.5, "y0": 2.0, "width": 30.25, "height": 8.0}
    plain = {"dom_id": f"p1-l{number}", "number": number, "text": "words", "mark": "", "flag": ""}
    return plain | place | {"confidence": None} | more


def test_lines_stay_text_and_say_what_is_known_of_them() -> None:
    lines = [
        _line(1, text=HOSTILE, mark="anchor"),
        _line(2, flag="hidden", confidence=71, x0=None),
    ]
    shown = evidence.line_items(lines)
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert 'class="lines__item lines__item--anchor" id="p1-l1"' in shown
    assert "(evidence)" in shown
    assert "hidden text" in shown
    assert "recognised, 71 % sure" in shown
    assert "checkbox" not in shown
    struck = evidence.line_items([_line(3, text="thirty", flag="hidden", change="deletion", author="Ana")])
    assert "<s>thirty</s>" in struck
    assert "deleted by Ana" in struck
    assert "lines__item--hidden" not in struck, "a tracked deletion is not hidden text"
    chosen = evidence.line_items(lines, page=7)
    assert 'value="7:2" aria-label="Select line 2"' in chosen

    boxes = evidence.line_boxes(lines)
    assert boxes.count("<rect") == 1, "no box rather than a wrong one"
    assert 'class="box box--anchor" data-line="p1-l1" x="1.5" y="2.0" width="30.25" height="8.0"' in boxes


def _gauge(probability: float | None, **more: Any) -> str:
    return render_to_string("partials/_gauge.html", {"probability": probability, **more}).strip()


def test_numbers_of_a_drawing_are_not_localised() -> None:
    with translation.override("es"):
        assert 'width="2.5"' in _gauge(2.5)
        assert 'x="0.5"' in _gauge(2.5, role="primary", cut=0.5)
        assert 'x="1.5"' in evidence.line_boxes([_line(1)])
    assert _gauge(None) == ""


def test_who_found_it_stays_text() -> None:
    found = [
        {"label": HOSTILE, "rank": 3, "score": 0.126, "why": HOSTILE},
        {"label": "BM25", "rank": None, "score": None, "why": ""},
    ]
    shown = render_to_string("partials/_found_by.html", {"detectors": found, "rrf_rank": 4})
    assert "<script" not in shown
    assert "rank 3, score 0.13<br>" in shown
    assert shown.count("<dt>") == 3
    assert "<dd>rank 4</dd>" in shown
    summary, _, below = shown.partition("</summary>")
    assert "rank" not in summary
    assert "score" in below


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (0.0, "0 %, low"),
        (0.17, "17 %, low"),
        (0.3, "30 %, medium"),
        (0.6, "60 %, high"),
        (1.0, "100 %, high"),
    ],
)
def test_a_probability_is_a_percentage_with_a_word(probability: float, said: str) -> None:
    assert evidence.likelihood(probability) == said
    assert said in _gauge(probability)


def test_a_probability_against_the_role_makes_the_verdict_uncertain() -> None:
    assert (
        evidence.likelihood(0.17, "primary") == evidence.likelihood(0.17, "supporting") == "17 %, uncertain"
    )
    assert evidence.likelihood(0.17, "discarded") == "17 %, low"
    assert evidence.likelihood(0.7, "discarded") == "70 %, uncertain"
    assert evidence.likelihood(0.7, "primary") == "70 %, high"
    assert "17 %, uncertain" in _gauge(0.17, role="primary")


def test_rules_have_names_for_people_and_models_keep_their_own() -> None:
    assert evidence.decider_name("rules of detection") == "Detection rules"
    assert evidence.decider_name("gpt-5-mini") == "gpt-5-mini"
