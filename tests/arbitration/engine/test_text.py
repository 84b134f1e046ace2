from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.text import (
    TermMatcher,
    code_prefixes,
    detect_language,
    exact_codes,
    fold,
    highlight_spans,
    index_terms,
    is_code,
    join_letter_spaced,
    normalise,
    stem,
    stem_each,
    stems,
)


def test_normalising_brings_quotes_dashes_and_hidden_characters_to_one_form() -> None:
    assert normalise("“A\u200b–b”\u00a0 c\u00ad") == '"A-b" c'


@given(st.text())
def test_folding_keeps_every_offset(text: str) -> None:
    assert len(fold(text)) == len(text)


def test_stems_meet_across_inflection_and_accents() -> None:
    assert stem("policies") == stem("policy")
    assert stems("Obligaciones", "es") == stems("obligación", "es")


def test_stemming_from_many_threads_gives_what_one_thread_gives() -> None:
    vocabulary = [
        f"{root}{ending}"
        for root in ("regul", "encod", "retent", "audit")
        for ending in ("ation", "ing", "ions")
    ]
    expected = [stem.__wrapped__(word) for word in vocabulary]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: [stem.__wrapped__(word) for word in vocabulary], range(60)))
    assert all(one == expected for one in found)


def test_letter_spaced_headings_are_joined() -> None:
    assert join_letter_spaced("S C O P E of work") == "SCOPE of work"
    assert join_letter_spaced("Plan A B") == "Plan A B"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("see PR.AC-1 and GV.OC-01", ("PR.AC-1", "GV.OC-01")),
        ("ISO27001 and § 4.2(b)", ("ISO27001", "§ 4.2(b)")),
        ("the GDPR and SLAs", ("GDPR", "SLA")),
        ("in 2016 about 32,502 units", ("2016", "32,502")),
        ("the U.S. IT team of 250", ()),
        ("ALL IN CAPITALS HERE", ()),
        ("GDPR", ("GDPR",)),
    ],
)
def test_exact_codes(text: str, codes: tuple[str, ...]) -> None:
    assert exact_codes(text) == codes


def test_a_word_is_no_code() -> None:
    assert is_code("PR.AC-1")
    assert not is_code("policy")


def test_code_prefixes_name_the_families() -> None:
    assert code_prefixes("GV.OC-01") == ("GV", "GV.OC", "GV.OC-01")


def test_index_terms_hold_stems_codes_and_families() -> None:
    assert {"mission", "gv", "gv.oc", "gv.oc-01"} <= set(index_terms("GV.OC-01: Mission"))


@pytest.mark.parametrize(
    ("terms", "text", "found"),
    [
        (["positional encoding"], "the positional-encodings", ["positional encoding"]),
        (["self-attention"], "Self attention and selfattention", ["self-attention"]),
        (["cybersecurity"], "cyber security", ["cybersecurity"]),
        (["art"], "the party", []),
        (["PR.AC-1"], "PR.AC-12 only", []),
        (["PR.AC-1"], "as in pr.ac-1.", ["PR.AC-1"]),
        (["ISO27001"], "under ISO 27001", ["ISO27001"]),
        (["GV"], "GV.OC-01: mission", ["GV"]),
        (["WHO"], "those who know", []),
        (["WHO"], "the WHO says", ["WHO"]),
        (["scope"], "S C O P E", ["scope"]),
        (["right to bear arms"], "the right to bear arms", ["right to bear arms"]),
        (["positional encoding"], "positional and other encoding", []),
    ],
)
def test_term_matching(terms: list[str], text: str, found: list[str]) -> None:
    assert TermMatcher(terms).matched(text) == found


def test_spanish_terms_match_without_accents_and_in_plural() -> None:
    assert TermMatcher(["obligación"], "es").matched("Las OBLIGACIONES del cliente") == ["obligación"]


def test_matches_point_at_the_original_text() -> None:
    text = "Ünder S C O P E: policies"
    spans = {
        match.term: text[match.start : match.end] for match in TermMatcher(["scope", "policy"]).find(text)
    }
    assert spans == {"scope": "S C O P E", "policy": "policies"}


def test_highlight_spans_are_merged_and_ordered() -> None:
    text = "positional encoding, encoding"
    assert highlight_spans(text, ["encoding", "positional encoding"]) == [(0, 19), (21, 29)]


def test_language_is_told_by_function_words() -> None:
    assert detect_language("What does the policy say about keys?") == "en"
    assert detect_language("¿Qué dice la política sobre las claves?") == "es"
    assert detect_language("42") == "en"


@given(st.lists(st.sampled_from(["audit", "risk", "plan", "GDPR", "of"]), min_size=1, max_size=8))
def test_whatever_is_in_the_text_is_found(words: list[str]) -> None:
    text = " ".join(words)
    assert TermMatcher(words).matched(text) == list(dict.fromkeys(words))


_PIECES = st.sampled_from(
    ["policy", "Policies", "cyber security", "cyber-security", "cybersecurity", "data", "data's", "data-retention",
     "retention", "ISO 27001", "iso27001", "S C O P E", "scope", "Art", "PR.AC-1", "GDPR", "who", "_data",
     "informa tion", "é", "’s", "“", "\n", "  ", "-", "x", "§ 4.2(b)"]
)  # fmt: skip
_TERMS = ("policy", "cybersecurity", "data retention", "retention", "ISO27001", "scope", "PR.AC-1", "GDPR",
          "information", "§ 4.2(b)")  # fmt: skip


@given(st.lists(st.lists(_PIECES, max_size=7).map(" ".join) | st.text(max_size=20), max_size=6))
def test_terms_found_in_many_texts_at_once_are_those_found_in_each(texts: list[str]) -> None:
    matcher = TermMatcher(_TERMS, "en")
    assert matcher.matched_in_each(texts) == [matcher.matched(text) for text in texts]


def test_a_phrase_does_not_reach_from_one_text_into_the_next() -> None:
    matcher = TermMatcher(["data retention", "cybersecurity"], "en")
    assert matcher.matched_in_each(["all data", "retention of cyber", "security"]) == [[], [], []]


def test_a_long_word_is_found_in_pieces_beside_the_whole_one() -> None:
    matcher = TermMatcher(["cybersecurity"], "en")
    assert [match.start for match in matcher.find("Cybersecurity is cyber security.")] == [0, 17]


@given(st.lists(st.text(max_size=12)), st.sampled_from(["en", "es"]))
def test_many_stems_are_those_of_each(several: list[str], language: str) -> None:
    assert stem_each(several, language) == [stem(word, language) for word in several]
