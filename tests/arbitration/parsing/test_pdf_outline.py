"""Native outlines, sound and broken."""

from __future__ import annotations

from pathlib import Path

import pypdfium2 as pdfium
from hypothesis import given, settings
from hypothesis import strategies as st

from arbitration.parsing.pdf_outline import MAX_DEPTH, read_outline
from tests.arbitration.parsing.builders import Sheet, finished, parsed, prose, raw_pdf


def _outlined(path: Path) -> Path:
    sheet = Sheet(path)
    canvas = sheet.canvas
    for number in range(1, 4):
        for name, title, level, top in (
            (f"c{number}", f"Chapter {number}", 0, 100),
            (f"a{number}", f"First part of {number}", 1, 300),
            (f"b{number}", f"Second part of {number}", 1, 500),
        ):
            canvas.bookmarkHorizontal(name, 0, 792 - top + 12)
            canvas.addOutlineEntry(title, name, level)
            sheet.text(72, top, title, font="Helvetica-Bold")
            sheet.lines(72, top + 20, [f"text of {title.lower()}", *prose(5)])
        sheet.next_page()
    return sheet.save()


def test_sections_that_share_a_page_own_their_lines(tmp_path: Path) -> None:
    result = finished(_outlined(tmp_path / "outline.pdf"))
    assert result.draft.toc_source == "outline"
    owner = {section.section_id: section for section in result.sections}
    for line in result.draft.lines:
        if line.text.startswith("text of"):
            assert line.section_id is not None
            assert owner[line.section_id].title.lower() == line.text.removeprefix("text of ")
    second = owner["s5"]
    assert (second.level, second.parent_id, second.start_page, second.end_page) == (2, "s4", 2, 2)
    assert second.breadcrumb == "Chapter 2 › First part of 2"
    assert owner["s4"].start_y is not None
    assert 80 < owner["s4"].start_y < 110


def test_three_entries_are_no_usable_outline(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path / "short.pdf")
    for name in ("one", "two", "three"):
        sheet.canvas.bookmarkPage(name)
        sheet.canvas.addOutlineEntry(name, name)
    sheet.lines(72, 100, prose(20))
    assert parsed(sheet.save()).toc_source == "none"


def _looping(links: list[tuple[int, int]], count: int) -> bytes:
    """A PDF whose ``count`` bookmarks have the given (next, first child) by index; -1 for none."""
    first = 5
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] >>",
        b"<< /Type /Outlines /First %d 0 R /Last %d 0 R >>" % (first, first + count - 1),
    ]
    for number, (following, child) in enumerate(links):
        body = b"<< /Title (Entry %d) /Parent 4 0 R /Dest [3 0 R /XYZ 0 250 0]" % number
        if following >= 0:
            body += b" /Next %d 0 R" % (first + following)
        if child >= 0:
            body += b" /First %d 0 R /Last %d 0 R" % (first + child, first + child)
        objects.append(body + b" >>")
    return raw_pdf(objects)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_tangle_of_bookmarks_ends_with_each_visited_once(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    link = st.tuples(st.integers(-1, count - 1), st.integers(-1, count - 1))
    links = data.draw(st.lists(link, min_size=count, max_size=count))
    document = pdfium.PdfDocument(_looping(links, count))
    try:
        entries = read_outline(document)
    finally:
        document.close()
    titles = [entry.title for entry in entries]
    assert len(titles) == len(set(titles)) <= count
    assert titles[0] == "Entry 0"
    assert all(1 <= entry.level <= MAX_DEPTH for entry in entries)


def test_absurd_depth_is_cut() -> None:
    count = 60
    chain = [(-1, number + 1 if number + 1 < count else -1) for number in range(count)]
    document = pdfium.PdfDocument(_looping(chain, count))
    entries = read_outline(document)
    document.close()
    assert len(entries) == MAX_DEPTH
    assert entries[-1].level == MAX_DEPTH


def test_a_destination_that_does_not_exist_names_no_page() -> None:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] >>",
        b"<< /Type /Outlines /First 5 0 R /Last 6 0 R >>",
        b"<< /Title (Nowhere) /Parent 4 0 R /Dest (missing) /Next 6 0 R >>",
        b"<< /Title (Beyond) /Parent 4 0 R /Dest [99 /XYZ 0 0 0] >>",
    ]
    document = pdfium.PdfDocument(raw_pdf(objects))
    entries = read_outline(document)
    document.close()
    assert [(entry.title, entry.page_num) for entry in entries] == [("Nowhere", None), ("Beyond", None)]
