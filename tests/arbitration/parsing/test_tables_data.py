"""Real statements of real filings: a row of the table is a line, its cells are apart and in order."""

from __future__ import annotations

import re
from pathlib import Path

import pypdfium2
import pytest

from arbitration.parsing.drafts import DraftLine
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.pdf import draft_of_pdf

#: A figure as statements write it.
FIGURE = re.compile(r"\$|\(?-?[\d,.]+\)?%?|—")


@pytest.fixture(scope="module")
def statement(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[DraftLine]:
    """The lines of a consolidated statement of cash flows, a page by itself."""
    source = pypdfium2.PdfDocument(shared_data / "financebench" / "pdf" / "3M_2018_10K.pdf")
    page, path = pypdfium2.PdfDocument.new(), tmp_path_factory.mktemp("statement") / "page.pdf"
    page.import_pages(source, [59])
    page.save(path)
    return draft_of_pdf(path, limits=ParseLimits()).lines


@pytest.mark.data
def test_a_cash_flow_statement_is_read_row_by_row(statement: list[DraftLine]) -> None:
    lines = statement
    rows = [line.text.split("  ") for line in lines if line.text.count("  ") >= 1]
    by_name = {row[0].lower(): row[1:] for row in rows}

    assert by_name["(millions)"] == ["2018", "2017", "2016"]
    assert by_name["depreciation and amortization"] == ["1,488", "1,544", "1,474"]
    assert by_name["purchases of property, plant and equipment (pp&e)"] == ["(1,577)", "(1,373)", "(1,420)"]
    order = [row[0].lower() for row in rows]
    assert (
        order.index("inventories")
        < order.index("accounts payable")
        < order.index("dividends paid to shareholders")
    )
    full = [row for row in rows if len(row) == 4]
    assert len(full) >= 25
    for row in full:
        assert all(FIGURE.fullmatch(part) for cell in row[1:] for part in cell.split()), row
    assert all(line.cells >= 2 for line in lines if line.text.count("  ") >= 1)


@pytest.mark.data
def test_rows_lie_below_each_other_as_on_the_page(statement: list[DraftLine]) -> None:
    boxes = {line.text.split("  ")[0]: (line.y0, line.y1) for line in statement}
    above, below = boxes["Inventories"], boxes["Accounts payable"]
    assert above[1] <= below[0] + 1
