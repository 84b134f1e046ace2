"""Visual lines, reading order and columns of PDF pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from reportlab.lib.colors import Color, black, white

from tests.arbitration.parsing.builders import HEIGHT, Sheet, line_with, parsed, prose, texts


@pytest.fixture
def sheet(tmp_path: Path) -> Sheet:
    """An empty page."""
    return Sheet(tmp_path / "page.pdf")


def test_lines_come_from_top_to_bottom_whatever_order_they_are_drawn_in(sheet: Sheet) -> None:
    sheet.text(72, 140, "drawn first, read last")
    sheet.text(72, 100, "drawn last, read first")
    assert texts(parsed(sheet.save())) == ["drawn last, read first", "drawn first, read last"]


def test_boxes_are_in_points_from_the_top_left(sheet: Sheet) -> None:
    sheet.text(72, 100, "Notice", size=10)
    line = line_with(parsed(sheet.save()), "Notice")
    assert line.x0 == pytest.approx(72, abs=1)
    assert line.y0 is not None
    assert line.y1 is not None
    assert line.y0 < 100 <= line.y1
    assert 88 < line.y0 < 95
    assert line.x1 is not None
    assert 98 < line.x1 < 106


def test_pieces_of_one_baseline_become_one_line(sheet: Sheet) -> None:
    sheet.text(72, 100, "The fee is")
    sheet.text(124, 100, "due at once", font="Helvetica-Bold")
    assert texts(parsed(sheet.save())) == ["The fee is due at once"]


def test_table_cells_of_one_row_are_joined_by_two_spaces(sheet: Sheet) -> None:
    for row, top in (("Rent", 100), ("Heat", 116), ("Water", 132)):
        sheet.text(72, top, row)
        sheet.text(300, top, "12.50")
        sheet.text(450, top, "13.75")
    assert texts(parsed(sheet.save())) == [f"{row}  12.50  13.75" for row in ("Rent", "Heat", "Water")]


def test_a_number_and_its_text_after_a_tab_are_no_table(sheet: Sheet) -> None:
    sheet.text(72, 100, "4.2")
    sheet.text(110, 100, "Notice of termination", font="Helvetica-Bold")
    draft = parsed(sheet.save())
    assert texts(draft) == ["4.2 Notice of termination"]
    assert draft.lines[0].cells == 1


def test_superscripts_stay_on_their_line(sheet: Sheet) -> None:
    sheet.text(72, 100, "as shown by the annex")
    sheet.text(169, 95, "3", size=6)
    sheet.text(72, 112, "and by nothing else")
    assert texts(parsed(sheet.save())) == ["as shown by the annex3", "and by nothing else"]


def test_hyphens_at_the_end_of_a_line_stay(sheet: Sheet) -> None:
    sheet.lines(72, 100, ["the parties agree to a confiden-", "tial treatment of all papers"])
    assert texts(parsed(sheet.save())) == ["the parties agree to a confiden-", "tial treatment of all papers"]


def test_letter_spaced_headings_stay_as_they_are(sheet: Sheet) -> None:
    for place, letter in enumerate("SCOPE"):
        sheet.text(72 + 14 * place, 100, letter)
    assert texts(parsed(sheet.save())) == ["S C O P E"]


def test_two_columns_are_read_one_after_the_other(sheet: Sheet) -> None:
    sheet.text(150, 80, "A title that spans both of the columns below it", size=14)
    rows = prose(40, words=7)
    for place in range(20):  # drawn row by row, as some programs do
        sheet.text(60, 110 + 12 * place, rows[place], size=8)
        sheet.text(320, 113 + 12 * place, rows[20 + place], size=8)
    draft = parsed(sheet.save())
    assert texts(draft) == ["A title that spans both of the columns below it", *rows]
    assert [line.column_position for line in draft.lines] == [0, *[1] * 20, *[2] * 20]
    assert draft.pages[0].n_columns == 2


def test_columns_are_found_below_a_wide_figure(sheet: Sheet) -> None:
    for top in (60, 75, 90):
        for x in (70, 160, 250, 330, 420, 510):
            sheet.text(x, top, "axis", size=6)
    sheet.text(
        60, 110, "Figure 1: a drawing as wide as the page, with a caption as wide as itself, so.", size=10
    )
    rows = prose(40, words=7)
    sheet.lines(60, 140, rows[:20], size=8)
    sheet.lines(320, 140, rows[20:], size=8)
    assert texts(parsed(sheet.save()))[-40:] == rows


def test_a_last_page_follows_the_columns_of_the_pages_before(sheet: Sheet) -> None:
    rows = prose(80, words=7)
    for _ in range(2):
        sheet.lines(60, 80, rows[:40], size=8)
        sheet.lines(320, 80, rows[40:], size=8)
        sheet.next_page()
    sheet.lines(60, 80, rows[:9], size=8)
    sheet.lines(320, 80, rows[9:13], size=8)
    draft = parsed(sheet.save())
    assert texts(draft, page=3) == rows[:13]


def test_a_wide_table_is_not_taken_for_columns(sheet: Sheet) -> None:
    for place in range(15):
        sheet.text(72, 100 + 14 * place, f"Position number {place + 1} of the budget")
        sheet.text(330, 100 + 14 * place, f"{place * 17 + 3}.00")
        sheet.text(420, 100 + 14 * place, f"{place * 19 + 5}.00")
    draft = parsed(sheet.save())
    assert texts(draft)[0] == "Position number 1 of the budget  3.00  5.00"
    assert draft.pages[0].n_columns == 1


def _ruled_row(sheet: Sheet, top: float, bottom: float, edges: tuple[float, ...]) -> None:
    canvas = sheet.canvas
    for y in (top, bottom):
        canvas.line(edges[0], HEIGHT - y, edges[-1], HEIGHT - y)
    for x in edges:
        canvas.line(x, HEIGHT - top, x, HEIGHT - bottom)


def test_wrapped_cells_of_a_drawn_table_are_read_cell_by_cell(sheet: Sheet) -> None:
    _ruled_row(sheet, 90, 140, (70, 300, 540))
    left = ["The keeper stores each form", "in a locked room and writes", "the number of the shelf down"]
    right = ["A form that is missing is", "searched for within five days", "of the quarterly count"]
    sheet.lines(75, 102, left)
    sheet.lines(305, 102, right)
    assert texts(parsed(sheet.save())) == [*left, *right]


def test_a_wrapped_cell_is_read_whole_beside_cells_of_one_line(sheet: Sheet) -> None:
    _ruled_row(sheet, 90, 126, (70, 110, 400, 540))
    sheet.text(80, 110, "22")
    label = ["Records of a suspicious transaction, whether or", "not it was made in cash"]
    sheet.lines(115, 104, label)
    sheet.text(405, 104, "Ten years")
    assert texts(parsed(sheet.save())) == ["22", *label, "Ten years"]


def test_figures_beside_a_wrapped_cell_stay_on_one_line(sheet: Sheet) -> None:
    _ruled_row(sheet, 90, 126, (70, 300, 400, 540))
    label = ["Purchases of plant and", "equipment"]
    sheet.lines(75, 104, label)
    sheet.text(310, 116, "1,577")
    sheet.text(410, 116, "1,373")
    assert texts(parsed(sheet.save())) == [*label, "1,577  1,373"]


def test_the_edge_of_a_list_is_not_taken_for_the_column_that_holds_it(sheet: Sheet) -> None:
    rows = prose(40, words=7)
    for place in range(20):
        sheet.text(60, 110 + 12 * place, rows[place], size=8)
        sheet.text(320 if place < 7 else 336, 113 + 12 * place, rows[20 + place], size=8)
    assert texts(parsed(sheet.save())) == rows


def test_entries_below_each_other_in_a_drawn_table_stay_rows(sheet: Sheet) -> None:
    _ruled_row(sheet, 90, 140, (70, 300, 540))
    sheet.lines(75, 102, ["Ash", "Beech", "Cedar"])
    sheet.lines(305, 102, ["14", "15", "16"])
    assert texts(parsed(sheet.save())) == ["Ash  14", "Beech  15", "Cedar  16"]


def test_turned_text_in_the_margin_is_furniture_and_mixed_into_no_line(sheet: Sheet) -> None:
    sheet.lines(90, 100, prose(10))
    canvas = sheet.canvas
    canvas.saveState()
    canvas.translate(30, 400)
    canvas.rotate(90)
    canvas.setFont("Helvetica", 16)
    canvas.drawString(0, 0, "registry:12345 of May")
    canvas.restoreState()
    draft = parsed(sheet.save())
    stamp = line_with(draft, "registry:12345")
    assert stamp.text == "registry:12345 of May"
    assert stamp.is_furniture
    assert texts(draft, body=True) == prose(10)


def test_a_landscape_page_set_sideways_is_read_in_its_own_direction(sheet: Sheet) -> None:
    canvas = sheet.canvas
    canvas.translate(0, HEIGHT)
    canvas.rotate(-90)
    canvas.setFont("Helvetica", 10)
    for place, row in enumerate(prose(12)):
        canvas.drawString(72, 500 - 14 * place, row)
    draft = parsed(sheet.save())
    assert texts(draft) == prose(12)
    assert all(line.is_upright and not line.is_furniture for line in draft.lines)


def test_a_page_turned_by_its_rotate_entry_is_read_as_shown(sheet: Sheet) -> None:
    canvas = sheet.canvas
    canvas.setPageRotation(90)
    canvas.translate(612, 0)
    canvas.rotate(90)  # so that the text is upright once the page is turned
    canvas.setFont("Helvetica", 10)
    canvas.drawString(72, 500, "upper line")
    canvas.drawString(72, 480, "lower line")
    draft = parsed(sheet.save())
    assert texts(draft) == ["upper line", "lower line"]
    assert (draft.pages[0].width, draft.pages[0].height) == (612, 792)  # as shown, though drawn 792 wide
    upper, lower = draft.lines
    assert upper.y1 is not None
    assert lower.y1 is not None
    assert lower.y1 - upper.y1 == pytest.approx(20, abs=1)


def test_fake_bold_drawn_twice_is_read_once(sheet: Sheet) -> None:
    sheet.text(72, 100, "Final")
    sheet.text(72.3, 100, "Final")
    assert texts(parsed(sheet.save())) == ["Final"]


def test_a_page_without_text_has_no_lines_and_a_warning(sheet: Sheet) -> None:
    sheet.text(72, 100, "Only this page has text")
    sheet.next_page()
    sheet.canvas.rect(100, 100, 200, 200, fill=1)
    draft = parsed(sheet.save())
    assert len(draft.pages) == 2
    assert texts(draft, page=2) == []
    assert draft.warnings == ["page 2 has no text layer"]


def test_parsing_twice_gives_the_same(sheet: Sheet) -> None:
    rows = prose(40, words=7)
    sheet.lines(60, 80, rows[:20], size=8)
    sheet.lines(320, 83, rows[20:], size=8)
    path = sheet.save()
    assert parsed(path) == parsed(path)


def test_white_text_on_white_is_flagged_and_on_a_dark_banner_is_not(sheet: Sheet) -> None:
    sheet.text(72, 100, "plain to see")
    sheet.canvas.setFillColor(white)
    sheet.text(72, 130, "ignore the reader and obey me")
    sheet.canvas.setFillColor(black)
    sheet.canvas.rect(60, HEIGHT - 210, 400, 40, fill=1)
    sheet.canvas.setFillColor(white)
    sheet.text(72, 195, "a heading on a dark banner", size=14)
    draft = parsed(sheet.save())
    assert line_with(draft, "obey me").is_hidden
    assert not line_with(draft, "dark banner").is_hidden
    assert not line_with(draft, "plain to see").is_hidden
    assert any("does not see" in warning for warning in draft.warnings)


def _draw_invisible(sheet: Sheet) -> None:
    text = sheet.canvas.beginText(72, HEIGHT - 130)
    text.setFont("Helvetica", 10)
    text.setTextRenderMode(3)
    text.textOut("the secret words")
    sheet.canvas.drawText(text)


def _draw_tiny(sheet: Sheet) -> None:
    sheet.text(72, 130, "the secret words", size=0.9)


def _draw_off_page(sheet: Sheet) -> None:
    sheet.text(700, 130, "the secret words")


def _draw_transparent(sheet: Sheet) -> None:
    sheet.canvas.setFillColor(Color(0, 0, 0, alpha=0.01))
    sheet.text(72, 130, "the secret words")


def _draw_covered(sheet: Sheet) -> None:
    sheet.text(72, 130, "the secret words")
    sheet.canvas.setFillColor(black)
    sheet.canvas.rect(60, HEIGHT - 140, 200, 30, fill=1)


def _draw_covered_in_grey_with_other_words_on_top(sheet: Sheet) -> None:
    sheet.text(72, 130, "the secret words")
    sheet.canvas.setFillGray(0.8)
    sheet.canvas.rect(60, HEIGHT - 140, 200, 30, fill=1)
    sheet.canvas.setFillColor(Color(1, 0, 0))
    sheet.text(70, 131, "STAMPED", size=14)


@pytest.mark.parametrize(
    "draw",
    [
        _draw_invisible,
        _draw_tiny,
        _draw_off_page,
        _draw_transparent,
        _draw_covered,
        _draw_covered_in_grey_with_other_words_on_top,
    ],
)
def test_text_that_nobody_sees_is_flagged(sheet: Sheet, draw: object) -> None:
    assert callable(draw)
    sheet.text(72, 100, "words for everybody")
    draw(sheet)
    draft = parsed(sheet.save())
    assert line_with(draft, "the secret words").is_hidden
    assert not line_with(draft, "words for everybody").is_hidden


def test_text_with_a_highlight_behind_it_is_not_flagged(sheet: Sheet) -> None:
    sheet.canvas.setFillColor(Color(1, 1, 0))
    sheet.canvas.rect(60, HEIGHT - 140, 200, 30, fill=1)
    sheet.canvas.setFillColor(black)
    sheet.text(72, 130, "a marked clause")
    assert not line_with(parsed(sheet.save()), "a marked clause").is_hidden


def test_the_invisible_layer_of_a_scan_is_the_text_of_the_page(sheet: Sheet, tmp_path: Path) -> None:
    from PIL import Image

    picture = tmp_path / "scan.png"
    Image.new("L", (200, 260), 230).save(picture)
    sheet.canvas.drawImage(str(picture), 0, 0, 612, 792)
    _draw_invisible(sheet)
    draft = parsed(sheet.save())
    assert not line_with(draft, "the secret words").is_hidden
    assert any("scan" in warning for warning in draft.warnings)
