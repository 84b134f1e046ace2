"""A question in Spanish over an English document: found by the shipped glossary, and never proved absent by it."""

from __future__ import annotations

import pytest

from tests.workbench.cast import Cast
from tests.workbench.scene import make_document, make_run
from workbench.runs.models import Run

pytestmark = pytest.mark.usefixtures("here")


def asked(cast: Cast, text: str) -> Run:
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    return make_run(asker=cast.analyst, document=document, text=text)


def test_a_spanish_question_finds_the_english_passage_and_keeps_how(cast: Cast) -> None:
    run = asked(cast, "¿Cuándo se borran los registros de acceso?")
    read = run.parsed_question
    assert read["language"] == "es"
    assert {"delete", "access"} <= {keyword["term"] for keyword in read["keywords"]}
    assert read["searched"]["delete"] > 0
    assert read["gloss"]["text"] in read["rewrites"]
    by_words = [candidate for candidate in run.candidates.all() if "bm25" in candidate.ranks]
    assert any("deleted within thirty days" in candidate.text.anchor for candidate in by_words)


def test_what_only_the_glossary_translates_is_never_proved_absent(cast: Cast) -> None:
    run = asked(cast, "¿Quién paga la hipoteca?")
    assert "mortgage" in run.parsed_question["searched"]
    assert not any(run.parsed_question["searched"].values())
    assert "no_keyword_match" not in run.not_found_reason
