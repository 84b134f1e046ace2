"""Questions in one language over documents in the other, with nothing but the shipped glossary."""

from __future__ import annotations

import pytest

from arbitration.detection import detect
from arbitration.pipeline import ask
from arbitration.questions import translation
from arbitration.questions.assisted import QuestionEdits, with_edits
from arbitration.questions.cognates import cognates
from arbitration.questions.dictionary import MappingDictionary
from arbitration.questions.parser import MOST_IN_GROUP, parse_question
from arbitration.questions.translation import gloss, other_language_terms
from arbitration.text import fold
from tests.arbitration.engine.makers import (
    RETENTION_POLICY,
    HashEmbedder,
    SectionText,
    make_document,
    make_store,
)

SPANISH = make_document(
    SectionText("1 Objeto", ("Este documento ordena la vida en la oficina.",)),
    SectionText(
        "2 Contraseñas",
        ("Las contraseñas tienen doce caracteres.", "Nadie comparte su contraseña con otros."),
    ),
    SectionText("3 Vacaciones", ("Cada persona disfruta de treinta días naturales de vacaciones.",)),
    SectionText("4 Cese", ("El trabajador avisa con quince días de antelación.",)),
    language="es",
)


# --- terms and glosses -------------------------------------------------------------------------------


def test_a_phrase_is_read_as_a_whole_before_its_words() -> None:
    assert "plazo de preaviso" in other_language_terms("notice periods", "en")
    assert other_language_terms("derecho al olvido", "es")[0] == "right to be forgotten"
    found = other_language_terms("annual leave calendar", "en")
    assert "vacaciones anuales" in found
    assert "licencia" not in found


def test_words_are_found_by_their_stems_and_unknown_ones_are_not_made_up() -> None:
    assert "despedir" in other_language_terms("dismissing", "en")
    assert "delete" in other_language_terms("borramos", "es")
    assert other_language_terms("Zyxwick", "en") == ()
    assert other_language_terms("taxi", "en") == ()  # the same word in both


def test_a_gloss_keeps_names_numbers_codes_and_unknown_words_and_drops_function_words() -> None:
    text = "Must Zyxwick pay the invoices of FY2024 within 30 days under PR.AC-1 and clause 7.3(b)?"
    assert gloss(text, "en", "es") == "Zyxwick pagar facturas FY2024 30 días PR.AC-1 cláusula 7.3(b)"


def test_no_phrase_is_read_over_the_end_of_a_sentence() -> None:
    assert "preaviso" in gloss("Who gets notice? Period!", "en", "es").split()
    assert "plazo" not in gloss("Who gets notice? Period!", "en", "es").split()


@pytest.mark.parametrize("text", ["Zyxwick 2024?", "", "of the and", "...", "¿?"])
def test_without_a_known_word_there_is_no_gloss(text: str) -> None:
    assert gloss(text, "en", "es") == ""


def test_a_gloss_into_the_same_language_is_none() -> None:
    assert gloss("Who pays the invoice?", "en", "en-GB") == ""


@pytest.mark.parametrize("unit", ["notice period ", "right to be ", "a(", "x-", "9.", "data breach? "])
def test_the_work_grows_with_the_text_and_no_faster(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked_up(repeats: int) -> int:
        count = 0
        known = translation.side("en")
        inner = known.renderings

        class Counting:
            longest = known.longest

            def renderings(self, written: tuple[str, ...], stemmed: tuple[str, ...]) -> tuple[str, ...]:
                nonlocal count
                count += len(written)
                return inner(written, stemmed)

        with monkeypatch.context() as patched:
            patched.setattr(translation, "side", lambda language: Counting())
            gloss(unit * repeats, "en", "es")
        return count

    assert looked_up(2000) <= 2.2 * looked_up(1000) + 100


# --- endings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("english", "spanish"),
    [
        ("homologation", "homologación"),
        ("centrality", "centralidad"),
        ("turbulence", "turbulencia"),
        ("honorary", "honorario"),
        ("photographic", "fotográfico"),
        ("derogative", "derogativo"),
        ("stigmatize", "estigmatizar"),
        ("impressionism", "impresionismo"),
    ],
)
def test_a_word_is_changed_by_its_ending(english: str, spanish: str) -> None:
    assert fold(spanish) in cognates(english, "en")


@pytest.mark.parametrize(
    ("spanish", "english"),
    [
        ("homologaciones", "homologation"),
        ("centralidad", "centrality"),
        ("turbulencias", "turbulence"),
        ("honoraria", "honorary"),
        ("derogativa", "derogative"),
        ("normalizar", "normalize"),
        ("formalmente", "formally"),
    ],
)
def test_spanish_endings_lead_back(spanish: str, english: str) -> None:
    assert english in cognates(spanish, "es")


@pytest.mark.parametrize("word", ["unity", "Zyxwick", "ISO27001", "2024", "house", "actions2"])
def test_short_words_codes_and_names_are_left_alone(word: str) -> None:
    assert cognates(word, "en") == ()


def test_only_words_that_the_glossary_does_not_know_are_changed() -> None:
    assert other_language_terms("homologation", "en") == ("homologacion",)
    assert other_language_terms("confidentiality", "en") == ("confidencialidad",)


# --- the parsed question -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How long are audit records kept after a data breach?", "en"),
        ("¿Cuántos días de vacaciones tiene un empleado?", "es-MX"),
        ("GDPR", "en"),
        ("clause 7.3", "en"),
    ],
)
def test_a_question_in_the_documents_language_is_unchanged_to_the_letter(text: str, language: str) -> None:
    plain = parse_question(text)
    read = parse_question(text, document_languages=[language])
    assert read.model_dump_json() == plain.model_dump_json()
    assert read.lexical_text == plain.retrieval_text
    assert read.wordings == ((plain.retrieval_text, plain.language),)


def test_another_language_adds_variants_and_a_wording_and_takes_nothing_away() -> None:
    text = "How long must a password be, and may anybody share it quickly?"
    plain, read = parse_question(text), parse_question(text, document_languages=["en", "es-ES"])
    added = {k.term: k for k in read.keywords if k not in plain.keywords}
    assert read.keywords[: len(plain.keywords)] == plain.keywords
    assert {k.source for k in added.values()} == {"dictionary"}
    assert (added["contraseña"].group, added["contraseña"].weight) == ("primary", 1.0)
    assert (added["compartir"].group, added["compartir"].weight) == ("secondary", 0.5)
    assert read.gloss is not None
    assert set(read.gloss.terms) == set(added)
    assert read.rewrites == (read.gloss.text,)
    assert "contraseña" in read.lexical_text
    assert read.retrieval_text == plain.retrieval_text


def test_a_long_question_adds_no_more_keywords_than_a_person_may_edit() -> None:
    asked = """salary notice breach invoice supplier password laptop receipt dismissal liability claim advance
    contract bank tax"""
    read = parse_question(f"Tell me of the {', the '.join(asked.split())}.", document_languages=["es"])
    primary = read.terms("primary")
    assert len(primary) == MOST_IN_GROUP
    assert {"salario", "contraseña", "factura", "anticipo"} <= set(primary)
    assert QuestionEdits(primary=primary).primary == primary


def test_what_the_question_rules_out_is_not_translated() -> None:
    read = parse_question("What is the notice period, excluding dismissal?", document_languages=["es"])
    assert read.gloss is not None
    assert "despido" not in read.gloss.text
    assert not any("despid" in keyword.term for keyword in read.keywords)


def test_a_persons_keywords_replace_those_of_the_glossary_too() -> None:
    read = parse_question("How long must a password be?", document_languages=["es"])
    assert [k.term for k in with_edits(read, QuestionEdits(primary=("clave",))).keywords] == ["clave"]


# --- detection and absence ---------------------------------------------------------------------------


def test_the_passage_in_the_other_language_is_found_by_words_alone() -> None:
    pool = detect(question="How long must a password be?", store=make_store(SPANISH))
    assert pool.candidates[0].section_title == "2 Contraseñas"
    assert pool.question.vocabulary_diverges
    back = detect(question="¿Qué períodos de conservación hay?", store=make_store(RETENTION_POLICY))
    assert "Retention" in (back.candidates[0].section_title or "")
    assert back.candidates[0].signals.bm25 is not None


def test_the_gloss_is_embedded_as_one_more_wording() -> None:
    embedder = HashEmbedder()
    found = ask(
        question="When does a worker get vacation?",
        store=make_store(SPANISH, embedder=embedder),
        embedder=embedder,
    )
    assert any("vacaciones" in candidate.text for candidate in found.audit.candidates)


def test_absence_is_not_proved_on_the_shipped_glossary_alone() -> None:
    store = make_store(SPANISH)
    pool = detect(question="Who pays the customs duties of a mortgage?", store=store)
    assert pool.question.gloss is not None
    assert pool.question.gloss.terms
    assert not any(pool.absence.hits.values())
    assert not pool.absence.proved


def test_absence_may_still_be_proved_by_a_dictionary_of_peoples_own() -> None:
    dictionary = MappingDictionary({"mortgage": ["hipoteca"]})
    pool = detect(question="Who pays a mortgage?", store=make_store(SPANISH), dictionary=dictionary)
    assert pool.absence.proved


def test_a_hit_of_the_glossary_stands_in_the_way_of_a_proof() -> None:
    dictionary = MappingDictionary({"mortgage": ["hipoteca"]})
    question = "Does a mortgage change the password?"
    pool = detect(question=question, store=make_store(SPANISH), dictionary=dictionary)
    assert pool.absence.hits["contraseña"]
    assert not pool.absence.proved
