"""The demo's documents are there, are what they say, and hold the answers of the example questions."""

from __future__ import annotations

import re

import pypdfium2
import pytest

from workbench.operations.demo.library import DEMO_DOCUMENTS, FOLDER
from workbench.operations.demo.pdf import parse_source, regulation_pdf
from workbench.operations.demo.questions import DEMO_QUESTIONS

REGULATION = "regulation-on-client-records.pdf"


def text_of(name: str) -> str:
    content = next(document for document in DEMO_DOCUMENTS if document.name == name).content()
    if not name.endswith(".pdf"):
        return content.decode("utf-8")
    return "\n".join(page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(content))


def words_of(name: str) -> str:
    return re.sub(r"\s+", " ", text_of(name))


@pytest.fixture(scope="module")
def regulation() -> pypdfium2.PdfDocument:
    return pypdfium2.PdfDocument(next(d for d in DEMO_DOCUMENTS if d.name == REGULATION).content())


def test_every_file_of_the_folder_is_uploaded_or_the_source_of_one() -> None:
    names = {document.name for document in DEMO_DOCUMENTS}
    on_disk = {path.name for path in FOLDER.iterdir() if path.is_file()}

    assert {name for name in on_disk if ".source." not in name} == names - {REGULATION}


def test_the_pdf_has_the_same_bytes_every_time() -> None:
    document = next(document for document in DEMO_DOCUMENTS if document.name == REGULATION)

    assert document.content() == document.content()


def test_the_pdf_has_a_native_outline_of_three_levels(regulation: pypdfium2.PdfDocument) -> None:
    levels = [entry.level for entry in regulation.get_toc()]

    assert len(levels) >= 12
    assert set(levels) == {0, 1, 2}


def test_outline_entries_point_at_their_headings(regulation: pypdfium2.PdfDocument) -> None:
    for entry in regulation.get_toc():
        destination = entry.get_dest()
        page = regulation[destination.get_index()]
        _, (_, top, _) = destination.get_view()
        just_below = page.get_textpage().get_text_bounded(
            left=0, right=page.get_width(), top=top, bottom=top - 20
        )

        assert entry.get_title() in just_below


def test_every_page_has_header_footer_and_number(regulation: pypdfium2.PdfDocument) -> None:
    assert len(regulation) >= 4
    for number, page in enumerate(regulation, start=1):
        text = page.get_textpage().get_text_range()
        assert "Regulation 2024/18" in text
        assert f"Page {number}" in text


def test_the_table_stands_in_the_text() -> None:
    assert "Contracts and their amendments 10 years" in words_of(REGULATION)


def test_a_source_without_its_description_is_refused() -> None:
    with pytest.raises(ValueError, match="Issuer"):
        regulation_pdf("Title: A\nNumber: 1\nDate: today\n\n= Part I")


def test_markup_characters_of_the_source_are_text() -> None:
    source = "Title: A & B <i>\nNumber: 1\nIssuer: C\nDate: D\n\n= Part <b>\n\n(1) x < y & z"

    text = pypdfium2.PdfDocument(regulation_pdf(source))[0].get_textpage().get_text_range()

    assert "A & B <i>" in text
    assert "x < y & z" in text
    assert parse_source(source).blocks == ("= Part <b>", "(1) x < y & z")


@pytest.mark.parametrize("question", DEMO_QUESTIONS, ids=lambda question: question.text)
def test_the_documents_hold_what_a_question_expects(question) -> None:
    for name, passage in [*question.expects.items(), *question.completes.items()]:
        assert passage in words_of(name)
    assert not question.document or question.document in {document.name for document in DEMO_DOCUMENTS}


def test_one_example_question_has_no_answer() -> None:
    (unanswerable,) = [question for question in DEMO_QUESTIONS if not question.is_answerable]

    text = text_of(unanswerable.document).lower()
    assert "cryptocurrenc" not in text
    assert "custod" not in text


def test_the_amendment_contradicts_the_contract() -> None:
    assert "thirty (30) days" in words_of("master-services-agreement.txt")
    assert "forty-five (45) days" in words_of("amendment-no-1.md")
