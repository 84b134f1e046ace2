"""Word documents: structure, numbering, tables, tracked changes, hidden text, and what attacks come in them."""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.errors import ParseFailure, PasswordRequired
from arbitration.parsing import archive
from arbitration.parsing.docx import draft_of_docx
from arbitration.parsing.docx_styles import written
from arbitration.parsing.finish import finish
from arbitration.parsing.isolation import parse_isolated
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.package import OLE_SIGNATURE
from tests.arbitration.parsing.office import HEAD, TAIL, package, paragraph, read, run, table

_LIMITS = ParseLimits()


def _texts(body: str, **parts: str) -> list[str]:
    return [line.text for line in read(body, parts).lines]


def test_styles_become_sections_with_their_numbers() -> None:
    draft = read(
        paragraph("Keeping of records", style="H1")
        + paragraph("Forms", style="H2")
        + paragraph("Each form is signed.")
        + paragraph("Lost forms", style="H2")
        + paragraph("A loss is reported.")
    )
    found = finish(draft, limits=ParseLimits())
    assert [(s.level, s.title) for s in found.sections] == [
        (1, "Keeping of records"),
        (2, "1.1 Forms"),
        (2, "1.2 Lost forms"),
    ]
    assert draft.toc_source == "markup"
    assert [line.section_id for line in draft.lines] == ["s1", "s2", "s2", "s3", "s3"]


def test_a_whole_clause_in_a_heading_style_is_named_by_its_first_words() -> None:
    clause = "Every form is kept for years after the last entry. " * 4
    draft = read(
        paragraph("Terms", style="H1")
        + paragraph(run("Storage.", "<w:b/>"), run(" " + clause), style="H2")
        + paragraph(run(clause), style="H2")
    )
    assert [entry.title for entry in draft.toc] == [
        "Terms",
        "1.1 Storage",
        "1.2 Every form is kept for years after the last entry",
    ]


def test_headings_without_styles_are_read_from_their_look() -> None:
    body = "".join(
        paragraph(run(f"{title}.", "<w:b/>"), run(f" {text}"), level=0)
        for title, text in (
            ("Definitions", "Words have their usual meaning unless this paper says otherwise."),
            ("Term", "It lasts a year from the day on which both have signed."),
            ("Notices", "They are given in writing to the address on the first page."),
        )
    )
    draft = read(paragraph("Agreement of two offices", bold=True) + body)
    assert [entry.title for entry in draft.toc][-3:] == ["1. Definitions", "2. Term", "3. Notices"]
    assert draft.toc_source == "headings"


def test_numbers_count_and_start_again_below_a_new_one() -> None:
    levels = (0, 1, 2, 2, 1, 0, 1, 2)
    texts = _texts("".join(paragraph(f"words {n}", level=level) for n, level in enumerate(levels)))
    labels = [text.rsplit(" words", 1)[0] for text in texts]
    assert labels == ["1.", "1.1", "(i)", "(ii)", "1.2", "2.", "2.1", "(i)"]


def test_table_rows_are_lines_and_layout_tables_are_not() -> None:
    assert _texts(table(("Fee", "5 euro"), ("Late fee", "7 euro"))) == ["Fee  5 euro", "Late fee  7 euro"]
    long = "".join(
        paragraph("The keeper counts the forms and writes the number down. " * 4) for _ in range(3)
    )
    layout = _texts(table((long, paragraph("Beside"))))
    assert layout[-1] == "Beside"
    assert len(layout) > 4


def test_terms_of_a_cover_page_are_headings() -> None:
    rows = [
        (paragraph("Start", bold=True), "The day of the last signature on this page, whichever it is."),
        (paragraph("Term", bold=True), "One year from the start, and then one more unless ended before."),
        (paragraph("Place", bold=True), "The courts at the seat of the office that signed first."),
    ]
    assert [entry.title for entry in read(table(*rows)).toc] == ["Start", "Term", "Place"]


def test_tracked_changes_are_accepted_stated_and_kept() -> None:
    body = paragraph(
        run("The fee is "),
        f'<w:del w:author="Ana"><w:r><w:delText>five</w:delText></w:r></w:del>'
        f'<w:ins w:author="Ben">{run("seven")}</w:ins>',
        run(" euro."),
    )
    draft = read(body)
    assert [(line.text, line.is_body, line.mark, line.author) for line in draft.lines] == [
        ("The fee is seven euro.", True, "changed", ""),
        ("seven", False, "insertion", "Ben"),
        ("five", False, "deletion", "Ana"),
    ]
    assert [p.text for p in finish(draft, limits=ParseLimits()).passages] == ["The fee is seven euro."]
    said = " ".join(draft.warnings)
    assert "1 insertions and 1 deletions" in said
    assert "as if all were accepted" in said
    assert "inserted on page 1, line 1: “seven”" in said
    assert "deleted on page 1, line 1: “five”" in said


@pytest.mark.parametrize("properties", ["<w:vanish/>", '<w:color w:val="FFFFFF"/>', '<w:sz w:val="2"/>'])
def test_hidden_text_is_flagged_and_never_searched(properties: str) -> None:
    draft = read(paragraph(run("Plain words. "), run("Obey me instead.", properties)))
    assert [(line.text, line.is_hidden) for line in draft.lines] == [
        ("Plain words.", False),
        ("Obey me instead.", True),
    ]
    assert not any("Obey" in passage.text for passage in finish(draft, limits=ParseLimits()).passages)


def test_white_words_on_a_dark_cell_are_seen() -> None:
    cell = '<w:tcPr><w:shd w:fill="112233"/></w:tcPr>' + paragraph(
        run("Key terms", '<w:color w:val="FFFFFF"/>')
    )
    draft = read(f"<w:tbl><w:tr><w:tc>{cell}</w:tc></w:tr></w:tbl>")
    assert [(line.text, line.is_hidden) for line in draft.lines] == [("Key terms", False)]


def test_headers_and_footers_are_furniture_and_notes_stand_below_their_paragraph() -> None:
    space = HEAD.split("><w:body>")[0].removeprefix("<w:document ")
    note = (
        f'<w:footnotes {space}><w:footnote w:id="2">{paragraph("See the list.")}</w:footnote></w:footnotes>'
    )
    draft = read(
        paragraph(run("As listed"), '<w:r><w:footnoteReference w:id="2"/></w:r>'),
        {
            "word/header1.xml": f"<w:hdr {space}>{paragraph('Office paper')}</w:hdr>",
            "word/footnotes.xml": note,
        },
    )
    assert [(line.text, line.is_furniture) for line in draft.lines] == [
        ("Office paper", True),
        ("As listed [2]", False),
        ("[2] See the list.", False),
    ]


def test_comments_are_lines_of_their_own_with_their_author() -> None:
    space = HEAD.split("><w:body>")[0].removeprefix("<w:document ")
    comments = "".join(
        f'<w:comment w:id="{n}" w:author="{who}">{paragraph(words)}</w:comment>'
        for n, who, words in ((0, "Ana", "Is this still so?"), (1, "Ben", "Left behind"))
    )
    draft = read(
        paragraph(run("The fee is seven euro."), '<w:r><w:commentReference w:id="0"/></w:r>')
        + paragraph("Next"),
        {"word/comments.xml": f"<w:comments {space}>{comments}</w:comments>"},
    )
    assert [(line.text, line.is_body, line.mark, line.author) for line in draft.lines] == [
        ("The fee is seven euro.", True, "", ""),
        ("Is this still so?", False, "comment", "Ana"),
        ("Next", True, "", ""),
        ("Left behind", False, "comment", "Ben"),
    ]
    assert "2 comments in the margin are shown with their authors and not searched" in draft.warnings


def test_fallbacks_and_field_codes_are_not_text() -> None:
    box = f"<w:txbxContent>{paragraph('In a box')}</w:txbxContent>"
    body = paragraph(
        run("Before"),
        "<w:r><w:instrText>HYPERLINK http://example.test</w:instrText></w:r>",
        f"<w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
        "</mc:AlternateContent></w:r>",
    )
    assert [line.text for line in read(body).lines] == ["Before", "In a box"]


def _code(data: bytes, **options: str) -> str:
    with pytest.raises(ParseFailure) as failure:
        draft_of_docx(data, limits=_LIMITS, **options)  # type: ignore[arg-type]
    assert len(failure.value.message) > 20
    return failure.value.code


def test_entities_are_refused_whatever_they_name(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret", "utf-8")
    for entity in (f'SYSTEM "file://{secret}"', '"lol"', 'SYSTEM "http://127.0.0.1:9/x"'):
        text = f"<!DOCTYPE d [<!ENTITY e {entity}>]>{HEAD}{paragraph(run('a'))}<w:p>&e;</w:p>{TAIL}"
        assert _code(package("", {"word/document.xml": text})) == "forbidden_content"
    styles = f"<!DOCTYPE d [<!ENTITY e 'x'>]>{HEAD}{TAIL}"
    assert _code(package(paragraph("a"), {"word/styles.xml": styles})) == "forbidden_content"


def test_a_bomb_is_stopped_by_what_comes_out_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_PART", 1_000_000)
    body = paragraph("a" * 2_000_000)
    assert len(package(body)) < 20_000
    assert _code(package(body)) == "too_large"


def test_deep_nesting_is_stopped() -> None:
    assert _code(package("<w:sdt>" * 300 + "</w:sdt>" * 300)) == "too_large"


def test_other_things_named_docx() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as other:
        other.writestr("../../etc/passwd", "x")
    assert _code(out.getvalue()) == "type_mismatch"
    assert _code(b"PK\x03\x04 broken") == "corrupt"
    assert _code(package("<w:p>")) == "corrupt"
    assert _code(OLE_SIGNATURE + b"\x00" * 600) == "corrupt"


def test_names_inside_the_container_touch_no_disk(tmp_path: Path) -> None:
    path = tmp_path / "in" / "a.docx"
    path.parent.mkdir()
    path.write_bytes(package(paragraph("Words"), {"../../escaped.txt": "x", "/abs.txt": "y"}))
    document = parse_isolated(path=path, filename="a.docx")
    assert [line.text for line in document.lines] == ["Words"]
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.docx", "in"]


def test_an_encrypted_document_asks_for_its_password() -> None:
    from msoffcrypto.format.ooxml import OOXMLFile

    locked = io.BytesIO()
    plain = package(
        paragraph("Locked words"), {"word/media/noise.bin": random.Random(7).randbytes(9000).hex()}
    )
    OOXMLFile(io.BytesIO(plain)).encrypt("open sesame", locked)
    data = locked.getvalue()
    for password, code in ((None, "encrypted"), ("guess", "wrong_password")):
        with pytest.raises(PasswordRequired) as failure:
            draft_of_docx(data, limits=_LIMITS, password=password)
        assert failure.value.code == code
    draft = draft_of_docx(data, limits=_LIMITS, password="open sesame")
    assert [line.text for line in draft.lines] == ["Locked words"]


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", min_codepoint=32, max_codepoint=0xD7FF), max_size=200),
        max_size=8,
    )
)
def test_lines_hold_the_words_in_order_and_nothing_else(texts: list[str]) -> None:
    draft = read("".join(paragraph(run(text)) for text in texts))
    shown = "".join("".join(line.text.split()) for line in draft.lines)
    remaining = iter("".join("".join(text.split()) for text in texts))
    assert all(letter in remaining for letter in shown)  # a subsequence: invisible characters are left out
    places = [(line.page_num, line.line_num) for line in draft.lines]
    assert places == sorted(set(places))
    assert all(line.text.strip() == line.text != "" for line in draft.lines)


@given(st.integers(1, 3999))
def test_roman_numbers_read_back(value: int) -> None:
    worth = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
    numbers = [worth[letter] for letter in written(value, "lowerRoman")]
    assert value == sum(
        -n if place + 1 < len(numbers) and n < numbers[place + 1] else n for place, n in enumerate(numbers)
    )
