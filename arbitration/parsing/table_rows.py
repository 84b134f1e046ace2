"""Rows of tables that have a header: each row names its columns, so that a passage of three rows can be read alone."""

from __future__ import annotations

from collections.abc import Mapping

_MAX_HEADER = 60  # characters; a longer cell is text, not the name of a column
_EMPTY: Mapping[int, str] = {}


class HeaderFinder:
    """Finds the header of each table in a sheet: its first row of two or more short cells without a figure."""

    def __init__(self) -> None:
        self._headers: Mapping[int, str] = _EMPTY
        self._is_open = False

    def take(self, cells: Mapping[int, str]) -> Mapping[int, str]:
        """The names of the columns for a row; empty for the header itself. A row without cells ends the table."""
        if not cells:
            self._headers, self._is_open = _EMPTY, False
            return _EMPTY
        if self._is_open:
            return self._headers
        if len(cells) > 1:
            self._is_open = True
            if is_header(cells):
                self._headers = cells
        return _EMPTY


def is_header(cells: Mapping[int, str]) -> bool:
    """Whether a row names columns: short cells, no two alike, none that is a figure or a date."""
    words = list(cells.values())
    if len({word.casefold() for word in words}) < len(words):
        return False
    return all(len(word) <= _MAX_HEADER and word[:1].isalpha() for word in words)


def named_cells(headers: Mapping[int, str], cells: Mapping[int, str]) -> list[str]:
    """The cells of a row in order, each after the name of its column."""
    return [
        f"{headers[place].rstrip(':')}: {words}" if place in headers else words
        for place, words in sorted(cells.items())
    ]
