"""XLSX to lines, read with openpyxl: a sheet is a section, a row is a line that names its columns.

Formulas are not computed: what the program that saved the file stored as their result is read. Hidden sheets, rows and
columns are flagged lines. Comments stand below their row with their author, and are not searched. Macros, charts,
pictures and links to other workbooks are not opened.
"""

from __future__ import annotations

import datetime as dt
import io
import warnings as python_warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arbitration.errors import ParseFailure
from arbitration.parsing.archive import Archive
from arbitration.parsing.drafts import Draft
from arbitration.parsing.finish import within_count
from arbitration.parsing.flow import Flow
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.office_comments import Comment, sheet_comments
from arbitration.parsing.package import checked_package, damage_reported, opened_package
from arbitration.parsing.table_rows import HeaderFinder, named_cells

_MIDNIGHT = dt.time()
_MOST_CELLS = 2_000_000


@dataclass(slots=True)
class _Count:
    """What people are told of."""

    cells: int = 0
    hidden: int = 0
    uncomputed: int = 0
    comments: int = 0


def draft_of_xlsx(data: bytes, *, limits: ParseLimits, password: str | None = None) -> Draft:
    """Rows as lines, a section and new page for each sheet.

    Raises :class:`PasswordRequired`, and :class:`ParseFailure` (``corrupt``, ``too_large``, ``too_many_lines``,
    ``forbidden_content``, ``type_mismatch``).
    """
    data = opened_package(data, password=password, extension=".xlsx")
    archive = checked_package(data)
    if "xl/workbook.xml" not in archive.names:
        raise ParseFailure("type_mismatch", "The name says XLSX, but the file holds no workbook.")
    flow, count = Flow("xlsx", limits.max_characters), _Count()
    with damage_reported("a spreadsheet program"), python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore")
        title = _read(data, archive, flow, count, limits)
    warnings = list(_warnings(archive, count, flow))
    return Draft("xlsx", flow.pages, flow.lines, flow.toc, "markup", title, warnings)


def _read(data: bytes, archive: Archive, flow: Flow, count: _Count, limits: ParseLimits) -> str | None:
    from openpyxl.reader.excel import load_workbook

    workbook = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    percents = _percent_styles(workbook)
    for sheet in workbook.worksheets:
        is_hidden = sheet.sheet_state != "visible"
        flow.page_break()
        flow.add(sheet.title, level=None if is_hidden else 1, hidden=is_hidden, bold=True)
        headers = HeaderFinder()
        comments = _Comments(flow, sheet_comments(archive, sheet._worksheet_path), hidden=is_hidden)
        for row in _rows(sheet, percents, count):
            hidden = is_hidden or row.is_hidden
            flow.add_row(named_cells(headers.take(row.cells), row.cells), hidden=hidden)
            if row.aside:
                flow.add_row(row.aside, hidden=True)
            count.hidden += hidden or bool(row.aside)
            count.comments += comments.write(until=row.number)
            within_count("lines", len(flow.lines), limits.max_lines)
        count.comments += comments.write()
        within_count("lines", len(flow.lines), limits.max_lines)
    return workbook.properties.title or None


class _Comments:
    """Writes the comments of a sheet, each below the row of its cell."""

    def __init__(self, flow: Flow, comments: list[Comment], *, hidden: bool) -> None:
        self._flow = flow
        self._hidden = hidden
        self._left = sorted(comments, key=lambda comment: _row_of(comment.place))[::-1]

    def write(self, until: int | None = None) -> int:
        """Those up to a row that are not written yet, or all that are left; gives their number."""
        written = 0
        while self._left and (until is None or _row_of(self._left[-1].place) <= until):
            comment = self._left.pop()
            words = f"{comment.place}: {comment.words}" if comment.words else ""
            line = self._flow.add_note(words, mark="comment", author=comment.author, hidden=self._hidden)
            written += line is not None
        return written


def _row_of(cell: str) -> int:
    """The row of a cell such as B12; 0 for what names none."""
    digits = cell.lstrip("$ABCDEFGHIJKLMNOPQRSTUVWXYZ")[:7]
    return int(digits) if digits.isascii() and digits.isdecimal() else 0


@dataclass(slots=True)
class _Row:
    """A row's cells by column; ``aside`` holds the words of hidden columns."""

    number: int

    cells: Mapping[int, str]
    aside: Sequence[str]
    is_hidden: bool


def _rows(sheet: Any, percents: frozenset[int], count: _Count) -> Iterator[_Row]:
    """Rows that hold something, and an empty one where some are left out: a table ends there."""
    # The reader below openpyxl's read-only sheet: the sheet itself tells neither hidden rows nor hidden columns.
    from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

    class Parser(WorkSheetParser):  # type: ignore[misc]
        _hidden: _HiddenColumns | None = None

        def hidden_columns(self) -> _HiddenColumns:
            self._hidden = self._hidden or _HiddenColumns.of(self.column_dimensions)
            return self._hidden

        def parse_column_dimensions(self, col: Any) -> None:
            if self._hidden is not None:  # each row before it would have to be read again
                raise ParseFailure("corrupt", "A sheet describes its columns after its rows. Save it anew.")
            super().parse_column_dimensions(col)

        def parse_cell(self, element: Any) -> dict[str, Any]:
            cell: dict[str, Any] = super().parse_cell(element)
            formula = element.find(FORMULA_TAG) if cell["value"] is None else None
            if formula is not None and formula.text:
                cell["value"] = f"={formula.text}"
                count.uncomputed += 1
            return cell

    workbook = sheet.parent
    with sheet._get_source() as source:
        parser = Parser(
            source,
            sheet._shared_strings,
            data_only=True,
            epoch=workbook.epoch,
            date_formats=workbook._date_formats,
            timedelta_formats=workbook._timedelta_formats,
        )
        last = 0
        for number, cells in parser.parse():
            count.cells += len(cells)
            if count.cells > _MOST_CELLS:
                raise ParseFailure(
                    "too_large",
                    f"The workbook has more than {_MOST_CELLS:,} cells. Split it and upload the parts.",
                )
            hidden = _is_on(parser.row_dimensions.pop(str(number), {}).get("hidden"))
            row = _row(number, cells, parser.hidden_columns(), percents, is_hidden=hidden)
            if number > last + 1 or not (row.cells or row.aside):
                yield _Row(last, {}, (), is_hidden=False)
            if row.cells or row.aside:
                yield row
            last = number


def _row(
    number: int,
    cells: Sequence[Mapping[str, Any]],
    hidden_columns: _HiddenColumns,
    percents: frozenset[int],
    *,
    is_hidden: bool,
) -> _Row:
    shown: dict[int, str] = {}
    aside: list[str] = []
    for cell in cells:
        words = _written(cell["value"], is_percent=cell["style_id"] in percents)
        if not words:
            continue
        if cell["column"] in hidden_columns:
            aside.append(words)
        else:
            shown[cell["column"]] = words
    return _Row(number, shown, aside, is_hidden)


@dataclass(frozen=True, slots=True)
class _HiddenColumns:
    """The hidden columns of a sheet as runs that do not touch, in order: a cell is looked up by halving them."""

    firsts: Sequence[int]
    lasts: Sequence[int]

    @classmethod
    def of(cls, dimensions: Mapping[str, Mapping[str, str]]) -> _HiddenColumns:
        """From the sheet's description of its columns."""
        firsts: list[int] = []
        lasts: list[int] = []
        for first, last in sorted(
            (int(column.get("min", 0)), int(column.get("max", 0)))
            for column in dimensions.values()
            if _is_on(column.get("hidden"))
        ):
            if last < first:
                continue
            if lasts and first <= lasts[-1] + 1:
                lasts[-1] = max(lasts[-1], last)
            else:
                firsts.append(first)
                lasts.append(last)
        return cls(firsts, lasts)

    def __contains__(self, column: int) -> bool:
        place = bisect_right(self.firsts, column) - 1
        return place >= 0 and column <= self.lasts[place]


def _is_on(value: str | None) -> bool:
    return value in ("1", "true")


def _percent_styles(workbook: Any) -> frozenset[int]:
    """The cell styles that show a number as a percentage."""
    from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE

    own = workbook._number_formats
    found = set()
    for number, style in enumerate(workbook._cell_styles):
        place = style.numFmtId - BUILTIN_FORMATS_MAX_SIZE
        shown = own[place] if 0 <= place < len(own) else BUILTIN_FORMATS.get(style.numFmtId, "")
        if "%" in shown:
            found.add(number)
    return frozenset(found)


def _written(value: Any, *, is_percent: bool) -> str:
    """A cell in words: dates as ISO 8601, numbers without the noise of their binary form."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == _MIDNIGHT else value.isoformat(" ", "seconds")
    if isinstance(value, int | float):
        return f"{format(100 * value, '.12g')} %" if is_percent else format(value, ".15g")
    return " ".join(str(value).split())


def _warnings(archive: Archive, count: _Count, flow: Flow) -> Iterator[str]:
    names = archive.names
    if count.hidden:
        yield f"{count.hidden} rows are hidden or have hidden cells; those are flagged and not searched"
    if count.uncomputed:
        yield f"{count.uncomputed} formulas have no stored result; the formula itself was read"
    if count.comments:
        yield f"{count.comments} comments on cells are shown with their author; they are not searched"
    if any(name.startswith(("xl/charts/", "xl/media/")) for name in names):
        yield "charts and pictures were not read"
    if any(name.startswith("xl/externallinks/") for name in names):
        yield "the workbook refers to other workbooks; they were not opened"
    if "xl/vbaproject.bin" in names:
        yield "the workbook holds macros; they were not run"
    if flow.invisible_characters:
        yield f"{flow.invisible_characters} invisible characters were left out"
