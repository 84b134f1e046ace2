"""The shipped glossary is a data file that a person may extend: what it holds is checked here."""

from __future__ import annotations

import pytest

from arbitration.questions.glossary import (
    FILE,
    FIRST_FILE,
    FORMS_FILE,
    GlossaryError,
    base_forms,
    entries,
    read_entries,
    side,
    stem_key,
    surface_key,
)
from arbitration.text import fold, is_stop_word


def test_the_file_is_ample_sorted_and_plain() -> None:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    assert len(entries()) == len(lines) >= 6000
    assert lines == sorted(lines, key=lambda line: (line.split("\t")[0].lower(), line.split("\t")[0]))


def test_every_pair_is_found_from_at_least_one_side() -> None:
    """A term of function words alone could never be found."""
    dead = [
        (english, spanish)
        for english, several in entries().items()
        for spanish in several
        if not stem_key(english, "en") and not stem_key(spanish, "es")
    ]
    assert dead == []


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_term_leads_to_its_rendering(language: str) -> None:
    for english, several in entries().items():
        for spanish in several:
            term, other = (english, spanish) if language == "en" else (spanish, english)
            key = surface_key(term, language)
            if key:
                assert other in side(language).renderings(key, stem_key(term, language))


@pytest.mark.parametrize(
    "text",
    [
        "notice",
        "notice\t",
        "\taviso",
        "notice\taviso | ",
        "notice \taviso",
        "notice\taviso; preaviso",
        "notice\taviso | aviso",
        "notice\taviso\nnotice\tpreaviso",
        "notice\tdan\u0303o",
        "notice\tavi\u200bso",
        "notice\taviso\tpreaviso",
    ],
)
def test_a_line_that_is_no_entry_is_refused_with_its_number(text: str) -> None:
    with pytest.raises(GlossaryError, match=rf"Line {len(text.splitlines())} "):
        read_entries(text)


def test_what_a_spanish_word_usually_means_comes_first() -> None:
    assert side("es").renderings(("proveedor",), ("proveedor",))[0] in ("provider", "supplier", "vendor")
    assert side("es").renderings(("contrato",), ("contrat",))[0] == "contract"


def renderings(word: str) -> tuple[str, ...]:
    return side("es").renderings(surface_key(word, "es"), stem_key(word, "es"))


def test_the_other_files_are_sorted_and_every_base_form_is_known() -> None:
    for file in (FIRST_FILE, FORMS_FILE):
        lines = file.read_text(encoding="utf-8").splitlines()
        assert lines == sorted(lines, key=lambda line: line.split("\t")[0])
    spanish = {fold(rendering) for several in entries().values() for rendering in several}
    assert set(base_forms().values()) <= spanish
    assert [form for form in base_forms() if is_stop_word(form, "es")] == []


def test_what_the_file_puts_first_comes_first() -> None:
    for spanish, (english,) in read_entries(FIRST_FILE.read_text(encoding="utf-8")).items():
        assert renderings(spanish)[0] == english


def test_an_inflected_form_is_read_as_its_base_form() -> None:
    for form, base in base_forms().items():
        assert set(renderings(base)) <= set(renderings(form)), form


@pytest.mark.parametrize(
    ("form", "english"),
    [
        ("contradicen", "contradict"),
        ("pide", "ask"),
        ("pidieron", "ask"),
        ("mantuvo", "maintain"),
        ("pierdo", "lose"),
        ("guardan", "keep"),
        ("guarda", "keep"),
        ("terminan", "terminate"),
        ("firma", "signature"),
        ("solicita", "request"),
        ("solicitantes", "applicant"),
        ("perros", "dogs"),
        ("conservados", "kept"),
    ],
)
def test_everyday_spanish_words_are_read_in_the_sense_of_contracts(form: str, english: str) -> None:
    assert renderings(form)[0] == english
