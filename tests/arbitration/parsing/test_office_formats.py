"""Workbooks, presentations, OpenDocument and rich text; all wording is ours."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet
from pptx import Presentation
from pptx.util import Inches

from arbitration.errors import ParseFailure, PasswordRequired
from arbitration.parsing import archive, xlsx
from arbitration.parsing.drafts import Draft
from arbitration.parsing.finish import finish
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.odt import draft_of_odt
from arbitration.parsing.pptx import draft_of_pptx
from arbitration.parsing.rtf import draft_of_rtf
from arbitration.parsing.xlsx import draft_of_xlsx

_LIMITS = ParseLimits()
_OFFICE, _TEXT = (
    "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
)
_ODT = (
    f'<office:document-content xmlns:office="{_OFFICE}" xmlns:text="{_TEXT}"'
    ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    ' xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/">'
    '<office:automatic-styles><style:style style:name="H" style:family="text">'
    '<style:text-properties text:display="none"/></style:style></office:automatic-styles>'
    "<office:body><office:text>{}</office:text></office:body></office:document-content>"
)


def _lines(draft: Draft) -> list[str]:
    return [line.text for line in draft.lines if line.is_body]


def _workbook(fill: Callable[[Workbook, Worksheet], None]) -> bytes:
    workbook, out = Workbook(), io.BytesIO()
    sheet = workbook.active
    assert isinstance(sheet, Worksheet)
    fill(workbook, sheet)
    workbook.save(out)
    return out.getvalue()


def _fees(workbook: Workbook, sheet: Worksheet) -> None:
    sheet.title = "Fees"
    sheet.append(["Vendor", "Amount", "Due", "Rate"])
    sheet.append(["Acme", 1200.5, dt.date(2026, 1, 31), 0.25])
    sheet["D2"].number_format = "0%"
    sheet.append(["Beta", 300, dt.datetime(2026, 3, 1, 9, 30), 1])  # noqa: DTZ001
    sheet["A5"], sheet["B5"] = "Total", "=SUM(B2:B3)"
    sheet.append(["set aside"])
    sheet.row_dimensions[6].hidden = True
    sheet["F2"] = "out of sight"
    sheet.column_dimensions["F"].hidden = True
    other = workbook.create_sheet("Behind")
    other.append(["Secret", "Word"])
    other.sheet_state = "hidden"


def test_a_sheet_is_a_section_and_each_row_names_its_columns() -> None:
    draft = draft_of_xlsx(_workbook(_fees), limits=_LIMITS)
    assert _lines(draft) == [
        "Fees",
        "Vendor  Amount  Due  Rate",
        "Vendor: Acme  Amount: 1200.5  Due: 2026-01-31  Rate: 25 %",
        "Vendor: Beta  Amount: 300  Due: 2026-03-01 09:30:00  Rate: 1",
        "Total  =SUM(B2:B3)",
    ]
    assert [line.text for line in draft.lines if line.is_hidden] == [
        "out of sight", "set aside", "Behind", "Secret  Word",
    ]  # fmt: skip
    assert [entry.title for entry in draft.toc] == ["Fees"]
    said = " ".join(draft.warnings)
    assert "1 formulas have no stored result" in said
    assert "hidden" in said
    searched = " ".join(passage.text for passage in finish(draft, limits=_LIMITS).passages)
    assert "Acme" in searched
    assert "Secret" not in searched
    assert "out of sight" not in searched


def _of_hidden_columns(_workbook_: Workbook, sheet: Worksheet) -> None:
    for number in range(1, 5):
        sheet.append([f"R{number}C{column}" for column in range(1, 41)])
    for column in range(2, 41, 2):
        sheet.column_dimensions[get_column_letter(column)].hidden = True


def test_hidden_columns_are_worked_out_once_a_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    of = xlsx._HiddenColumns.of
    monkeypatch.setattr(
        xlsx._HiddenColumns, "of", lambda dimensions: made.append(len(dimensions)) or of(dimensions)
    )
    draft = draft_of_xlsx(_workbook(_of_hidden_columns), limits=_LIMITS)
    assert made == [20]
    shown = " ".join(_lines(draft))
    hidden = " ".join(line.text for line in draft.lines if line.is_hidden)
    assert all(f"R4C{column}" in (shown, hidden)[column % 2 == 0] for column in range(1, 41))


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60), st.booleans()), max_size=20))
def test_a_column_is_hidden_that_a_hidden_run_holds(runs: list[tuple[int, int, bool]]) -> None:
    dimensions = {
        str(number): {"min": str(first), "max": str(last), "hidden": "1" if is_hidden else "0"}
        for number, (first, last, is_hidden) in enumerate(runs)
    }
    hidden = xlsx._HiddenColumns.of(dimensions)
    for column in range(62):
        expected = any(first <= column <= last for first, last, is_hidden in runs if is_hidden)
        assert (column in hidden) == expected
    assert len(hidden.firsts) == len(hidden.lasts) <= 31


def test_columns_described_after_the_rows_are_refused() -> None:
    """They would hide what was shown before."""
    data = _workbook(_of_hidden_columns)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        text = package.read("xl/worksheets/sheet1.xml").decode()
    columns = re.search(r"<cols>.*</cols>", text)
    assert columns
    late = text.replace(columns.group(), "").replace("</sheetData>", f"</sheetData>{columns.group()}")
    assert _code(draft_of_xlsx, _with_part(data, "xl/worksheets/sheet1.xml", late)) == "corrupt"


def _deck() -> bytes:
    deck, out = Presentation(), io.BytesIO()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Retention", "Keep for seven years\nThen destroy"
    slide.notes_slide.notes_text_frame.text = "Ask the keeper."
    deck.slides.add_slide(deck.slide_layouts[6])
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Fees"
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for row, cells in enumerate((("Item", "Fee"), ("Copy", "5 euro"))):
        for column, words in enumerate(cells):
            table.cell(row, column).text = words
    hidden = deck.slides.add_slide(deck.slide_layouts[5])
    hidden.shapes.title.text = "Not shown"
    hidden._element.set("show", "0")
    deck.save(out)
    return out.getvalue()


def test_a_slide_is_a_page_with_its_notes() -> None:
    draft = draft_of_pptx(_deck(), limits=_LIMITS)
    assert [(line.page_num, line.text) for line in draft.lines if line.is_body] == [
        (1, "Retention"),
        (1, "Keep for seven years"),
        (1, "Then destroy"),
        (1, "Notes: Ask the keeper."),
        (3, "Fees"),
        (3, "Item  Fee"),
        (3, "Item: Copy  Fee: 5 euro"),
    ]
    assert [line.text for line in draft.lines if line.is_hidden] == ["Not shown"]
    assert [page.page_num for page in draft.pages] == [1, 2, 3, 4]
    assert [entry.title for entry in draft.toc] == ["Retention", "Fees"]
    assert draft.warnings == [
        "slide 4: hidden in the presentation; flagged and not searched",
        "slide 2: shows no text",
    ]


def _odt(body: str, **parts: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        package.writestr("content.xml", _ODT.replace("{}", body))
        for name, text in parts.items():
            package.writestr(name.replace("__", "/") + ".xml", text)
    return out.getvalue()


_TRACKED = (
    "<text:tracked-changes>"
    '<text:changed-region text:id="d"><text:deletion><office:change-info><dc:creator>Ana</dc:creator>'
    "</office:change-info><text:p>five</text:p></text:deletion></text:changed-region>"
    '<text:changed-region text:id="i"><text:insertion><office:change-info><dc:creator>Ben</dc:creator>'
    "</office:change-info></text:insertion></text:changed-region></text:tracked-changes>"
)


def test_opendocument_keeps_headings_tables_and_what_is_set_apart() -> None:
    body = (
        _TRACKED
        + '<text:h text:outline-level="1">Terms</text:h>'
        + '<text:p>The fee is <text:change text:change-id="d"/><text:change-start text:change-id="i"/>seven'
        + '<text:change-end text:change-id="i"/><text:s text:c="2"/>euro.<office:annotation>'
        + "<dc:creator>Cleo</dc:creator><text:p>Ask again</text:p></office:annotation></text:p>"
        + '<text:h text:outline-level="2">Notice</text:h>'
        + '<text:p>In writing<text:span text:style-name="H"> or not</text:span>.</text:p>'
        + "<table:table><table:table-row><table:table-cell><text:p>Copy</text:p></table:table-cell>"
        + "<table:table-cell><text:p>5 euro</text:p></table:table-cell></table:table-row></table:table>"
    )
    draft = draft_of_odt(_odt(body), limits=_LIMITS)
    assert _lines(draft) == ["Terms", "The fee is seven euro.", "Notice", "In writing.", "Copy  5 euro"]
    assert [(line.text, line.mark, line.author) for line in draft.lines if line.mark] == [
        ("The fee is seven euro.", "changed", ""),
        ("five", "deletion", "Ana"),
        ("seven", "insertion", "Ben"),
        ("Ask again", "comment", "Cleo"),
    ]
    assert [line.text for line in draft.lines if line.is_hidden] == ["five", "or not"]
    assert [(entry.title, entry.level) for entry in draft.toc] == [("Terms", 1), ("Notice", 2)]


def test_rich_text_keeps_what_is_hidden_or_changed_apart() -> None:
    source = (
        rb"{\rtf1\ansi\ansicpg1252{\info{\title Our paper}}The fee is {\deleted five}{\revised seven} euro.\par "
        rb"Plain {\v obey me}words \u8364? caf\'e9 a | b.\par \v all of this\par and this\v0\par "
        rb"\trowd Copy\cell 5 euro\cell\row }"
    )
    draft = draft_of_rtf(source, limits=_LIMITS)
    assert _lines(draft) == ["The fee is seven euro.", "Plain words € café a | b.", "Copy  5 euro"]
    hidden = [line.text for line in draft.lines if line.is_hidden]
    assert hidden == ["five", "obey me", "all of this", "and this"]
    assert [(line.text, line.mark) for line in draft.lines if line.mark] == [
        ("The fee is seven euro.", "changed"),
        ("five", "deletion"),
        ("seven", "insertion"),
    ]
    assert draft.title == "Our paper"


def _with_part(data: bytes, name: str, text: str | bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info, old.read(info))
        new.writestr(name, text)
    return out.getvalue()


def _code(read: Callable[..., Draft], data: bytes, limits: ParseLimits = _LIMITS) -> str:
    with pytest.raises(ParseFailure) as failure:
        read(data, limits=limits)
    assert len(failure.value.message) > 20
    return failure.value.code


_ENTITY = '<!DOCTYPE d [<!ENTITY e "lol"><!ENTITY f "&e;&e;&e;&e;">]><d>&f;</d>'


@pytest.mark.parametrize(
    ("read", "make", "part"),
    [
        (draft_of_xlsx, lambda: _workbook(_fees), "xl/worksheets/sheet1.xml"),
        (draft_of_pptx, _deck, "ppt/slides/slide1.xml"),
        (draft_of_odt, lambda: _odt("<text:p>a</text:p>"), "content.xml"),
    ],
)
def test_hostile_packages_are_refused_with_a_reason(
    read: Callable[..., Draft], make: Callable[[], bytes], part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make()
    assert _code(read, _with_part(data, part, _ENTITY)) == "forbidden_content"
    assert _code(read, _with_part(data, part, _ENTITY.encode("utf-16"))) == "forbidden_content"
    assert _code(read, _with_part(data, part, "<broken")) == "corrupt"
    assert _code(read, b"PK\x03\x04 broken") == "corrupt"
    assert _code(read, data[: len(data) // 2]) == "corrupt"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as other:
        other.writestr("../../etc/passwd", "x")
    assert _code(read, out.getvalue()) == "type_mismatch"
    monkeypatch.setattr(archive, "MAX_PART", 1000)
    assert _code(read, _with_part(data, part, "<a>" + "b" * 5000 + "</a>")) == "too_large"


def test_a_sheet_of_too_many_rows_stops_early() -> None:
    def fill(_workbook_: Workbook, sheet: Worksheet) -> None:
        for number in range(300):
            sheet.append([number])

    data = _workbook(fill)
    assert _code(draft_of_xlsx, data, ParseLimits(max_lines=100)) == "too_many_lines"
    assert _code(draft_of_xlsx, data, ParseLimits(max_characters=100)) == "too_large"
    assert _code(draft_of_pptx, _deck(), ParseLimits(max_pages=3)) == "too_many_pages"


def test_deep_nesting_and_encryption_are_said_to_be_so() -> None:
    deep = "<text:span>" * 400 + "a" + "</text:span>" * 400
    assert _code(draft_of_odt, _odt(f"<text:p>{deep}</text:p>")) == "too_large"
    manifest = "<m><encryption-data/></m>"
    assert (
        _code(draft_of_odt, _odt("<text:p>a</text:p>", **{"META-INF__manifest": manifest}))
        == "unsupported_type"
    )
    groups = b"{\\rtf1 " + b"{" * 5000 + b"deep" + b"}" * 5000 + b"}"
    assert _lines(draft_of_rtf(groups, limits=_LIMITS)) == ["deep"]


def test_an_encrypted_workbook_asks_for_its_password() -> None:
    from msoffcrypto.format.ooxml import OOXMLFile

    locked = io.BytesIO()
    OOXMLFile(io.BytesIO(_workbook(_fees))).encrypt("open sesame", locked)
    with pytest.raises(PasswordRequired) as failure:
        draft_of_xlsx(locked.getvalue(), limits=_LIMITS)
    assert failure.value.code == "encrypted"
    draft = draft_of_xlsx(locked.getvalue(), limits=_LIMITS, password="open sesame")
    assert draft.lines[0].text == "Fees"
