from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.numerals import roman_to_int
from arbitration.questions import MappingDictionary, ParsedQuestion, parse_question
from arbitration.questions.references import (
    heading_text,
    match_address,
    parse_pages,
    parse_references,
    reference_score,
    section_address,
)


def terms(question: ParsedQuestion, group: str) -> list[str]:
    return [k.term for k in question.keywords if k.group == group]


def test_noun_phrases_are_primary_with_their_words() -> None:
    parsed = parse_question("What positional encoding does the paper use?")
    assert terms(parsed, "primary") == ["positional encoding", "positional", "encoding"]
    assert terms(parsed, "secondary") == []
    assert parsed.two_distinct_terms
    assert parsed.scope_words == ("paper",)
    assert {k.weight for k in parsed.keywords} == {1.0}


def test_words_that_name_the_document_are_never_keywords() -> None:
    parsed = parse_question("What does the paper say about GDPR compliance?")
    assert parsed.terms() == ("GDPR compliance", "GDPR", "compliance")
    assert parsed.exact_codes == ("GDPR",)


def test_verbs_are_secondary() -> None:
    parsed = parse_question("Can they search my phone?")
    assert terms(parsed, "primary") == ["phone"]
    assert terms(parsed, "secondary") == ["search"]
    assert not parsed.two_distinct_terms
    assert next(k.weight for k in parsed.keywords if k.term == "search") == pytest.approx(0.7)


def test_a_word_in_capitals_may_head_a_family_of_codes() -> None:
    parsed = parse_question("What are the GOVERN outcomes?")
    assert parsed.code_families == ("GOVERN",)
    assert parsed.intent == "listing"
    assert parsed.answer_shape == "list"


def test_dictionary_variants_carry_the_weights_of_their_group() -> None:
    known = MappingDictionary({"phone": ["cell telephone"], "search": ["inspect"]})
    parsed = parse_question("Can they search my phone?", dictionary=known)
    variants = {k.term: (k.group, k.weight) for k in parsed.keywords if k.source == "dictionary"}
    assert variants == {"cell telephone": ("primary", 1.0), "inspect": ("secondary", 0.5)}


def test_a_dictionary_works_in_both_directions() -> None:
    known = MappingDictionary({"GDPR": ["General Data Protection Regulation"]})
    assert known.variants("general data protection regulations") == ("GDPR",)


def test_an_alias_of_a_place_becomes_a_reference() -> None:
    known = MappingDictionary({"free speech": ["First Amendment"]})
    parsed = parse_question("How is free speech protected?", dictionary=known)
    assert [r.address for r in parsed.section_references] == [("amendment:1",)]
    assert parsed.section_references[0].is_alias


def test_rewrites_are_secondary_keywords() -> None:
    parsed = parse_question("search of a phone", rewrites=["inspection of mobile devices"])
    rewritten = {k.term: k.weight for k in parsed.keywords if k.source == "rewrite"}
    assert rewritten == {"inspection": 0.7, "mobile": 0.7, "devices": 0.7}


def test_exclusions_reach_generation_but_not_retrieval() -> None:
    parsed = parse_question("What fees are due, excluding fees for late payment?")
    assert parsed.negative_cues == ("fees for late payment",)
    assert "late" not in parsed.retrieval_text
    assert "payment" not in parsed.terms()


@pytest.mark.parametrize(
    ("question", "ruled_out", "primary"),
    [
        ("What is the premium, not the deductible?", ("the deductible",), {"premium"}),
        ("Which employees other than directors may approve travel?", ("directors",), {"employees", "travel"}),
        ("What is the fee and not the deposit?", ("the deposit",), {"fee"}),
        ("Exclude taxes: what is the fee?", ("taxes",), {"fee"}),
        ("What are the duties, except those of clause 7.3?", ("those of clause 7.3",), {"duties"}),
        ("¿Cuál es la prima, no la franquicia?", ("la franquicia",), {"prima"}),
        ("¿Qué gastos se pagan, excepto el transporte?", ("el transporte",), {"gastos", "pagan"}),
        ("¿Qué límite hay, salvo la franquicia?", ("la franquicia",), {"límite"}),
    ],
)
def test_what_a_question_rules_out_is_no_keyword(
    question: str, ruled_out: tuple[str, ...], primary: set[str]
) -> None:
    parsed = parse_question(question)
    assert parsed.negative_cues == ruled_out
    assert set(parsed.terms("primary")) == primary
    assert parsed.section_references == ()
    assert not any(cue in parsed.retrieval_text for cue in ruled_out)


@pytest.mark.parametrize(
    "question",
    [
        "Does the policy exclude flood damage?",
        "Is there a clause excluding liability?",
        "Is the seller not the manufacturer?",
        "Who pays rent whether or not the tenant stays?",
        "Why is the data not a trade secret?",
        "What may not be disclosed?",
        "¿Qué pasa si el asegurado no la notifica?",
    ],
)
def test_what_a_question_is_about_is_not_ruled_out(question: str) -> None:
    parsed = parse_question(question)
    assert parsed.negative_cues == ()
    assert parsed.retrieval_text == parsed.normalised


@pytest.mark.parametrize(
    "hostile", ["not the ", "excluding ", "no la ", "except for x", "exclude a. ", "- ", "\n"]
)
def test_ruling_out_is_read_in_linear_time(hostile: str) -> None:
    """100 kB of cues in a process of its own: an expression that backtracks would not come back."""
    code = (
        "from arbitration.questions.exclusions import exclusions_of; import sys;"
        " exclusions_of((sys.argv[1] * 100_000)[:100_000])"
    )
    subprocess.run([sys.executable, "-c", code, hostile], check=True, timeout=240)


def test_fiscal_years_are_looked_for_as_years_too() -> None:
    parsed = parse_question("What is the FY2016 COGS?")
    assert {k.term: k.source for k in parsed.keywords}["2016"] == "alias"


def test_a_spanish_question_is_parsed_as_spanish() -> None:
    parsed = parse_question("¿Qué codificación posicional usa el artículo?")
    assert parsed.language == "es"
    assert terms(parsed, "primary")[0] == "codificación posicional"


@pytest.mark.parametrize(
    ("question", "intent", "shape"),
    [
        ("Summarize the security policy", "summarization", "paragraph"),
        ("What is the difference between Tier 1 and Tier 2?", "comparison", "comparison"),
        ("How many employees are there?", "numeric", "number"),
        ("What is an incident?", "definition", "definition"),
        ("Is escrow required?", "yes_no", "yes_no"),
        ("Receiving Party may create a copy of some Confidential Information.", "yes_no", "yes_no"),
        ("Article 1 Section 8", "lookup", "sentence"),
        ("When does the agreement expire?", "qa", "date"),
        ("Who defends the accused?", "qa", "name"),
        ("¿Cuánto cuesta la licencia?", "numeric", "number"),
    ],
)
def test_intent_and_shape(question: str, intent: str, shape: str) -> None:
    parsed = parse_question(question)
    assert (parsed.intent, parsed.answer_shape) == (intent, shape)


def test_an_empty_question_is_refused_with_a_hint() -> None:
    with pytest.raises(ValueError, match="type what you want to know"):
        parse_question(" \u200b ")


@given(st.text(min_size=1, max_size=200))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parsed = parse_question(text)
    except ValueError:
        return
    assert ParsedQuestion.model_validate_json(parsed.model_dump_json()) == parsed
    assert all(0 < keyword.weight <= 1 for keyword in parsed.keywords)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Article I, Section 8", ("article:1", "section:8")),
        ("Section 8 of Article I", ("article:1", "section:8")),
        ("the 14th Amendment", ("amendment:14",)),
        ("Fourteenth Amendment", ("amendment:14",)),
        ("Amendment XIV", ("amendment:14",)),
        ("§ 18.8.2", ("section:18.8.2",)),
        ("clause 7.3(b)", ("clause:7.3", "item:b")),
        ("section 3.5", ("section:3.5",)),
        ("Appendix A", ("appendix:a",)),
        ("4.2(b)", ("number:4.2", "item:b")),
        ("sección 4.1", ("section:4.1",)),
    ],
)
def test_references(text: str, address: tuple[str, ...]) -> None:
    references, _ = parse_references(f"What does {text} say?")
    assert [reference.address for reference in references] == [address]


@pytest.mark.parametrize(
    "text", ["the section I read", "part of it", "pay 3.5 million", "$4.50", "item a day"]
)
def test_what_is_no_reference(text: str) -> None:
    assert parse_references(text)[0] == ()


@pytest.mark.parametrize(
    ("reference", "title", "breadcrumb", "score"),
    [
        ("Article I Section 8", "Article I, Section 8: Powers of Congress", "", 1.0),
        ("Article I", "Article I, Section 8", "", 0.9),
        ("14th Amendment", "Amendment 14, Section 1", "", 0.9),
        ("18th Amendment", "Amendment 21, Section 1: Amendment 18 Repealed", "", 0.0),
        ("Article VI", "Article V: Amendment", "", 0.0),
        ("clause 7.3(b)", "7.3 Termination", "", 0.6),
        ("4.2(b)", "(b) Notices", "4.2 Term > (b) Notices", 1.0),
        ("section 3", "3.5 Encoding", "3 Model > 3.5 Encoding", 0.9),
        ("section 3", "13 Notices", "", 0.0),
        ("Section 8", "Section 8", "Article I > Section 8", 1.0),
    ],
)
def test_sections_answer_references(reference: str, title: str, breadcrumb: str, score: float) -> None:
    assert reference_score(reference, title=title, breadcrumb=breadcrumb) == pytest.approx(score)


def test_an_address_is_built_from_the_headings_above() -> None:
    assert section_address("Section 8", "Article I > Section 8") == ("article:1", "section:8")
    assert match_address((), ("article:1",)) == 0.0


def test_headings_without_their_numbers() -> None:
    assert heading_text("Article I, Section 8: Powers of Congress") == "Powers of Congress"
    assert heading_text("3.5 Positional Encoding") == "Positional Encoding"
    assert heading_text("Section 8") == "Section 8"


def test_pages() -> None:
    assert parse_pages("see page 6 and pp. 8-10")[0] == (6, 8, 9, 10)


@given(st.integers(min_value=1, max_value=399))
def test_roman_numerals_are_read_only_in_canonical_form(value: int) -> None:
    table = (
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    )
    numeral, rest = "", value
    for size, letters in table:
        numeral += letters * (rest // size)
        rest %= size
    assert roman_to_int(numeral) == value
    assert roman_to_int(numeral + "IIII") is None
