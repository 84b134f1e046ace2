"""Tables that people send: wide ones are refused before their rows are read."""

from __future__ import annotations

import pytest

from workbench.errors import WorkbenchError
from workbench.infra.imports import MOST_COLUMNS, csv_rows


def rows(text: str) -> list[tuple[int, dict[str, str]]]:
    return list(csv_rows(text, required=("term",), missing="No term."))


def test_a_table_of_too_many_columns_is_refused_and_says_how_many() -> None:
    """Each short row would be filled up to the width of the header: a small file would be a large table."""
    wide = ",".join(["term", *(f"c{number}" for number in range(MOST_COLUMNS))])
    with pytest.raises(
        WorkbenchError, match=f"{MOST_COLUMNS + 1} columns; at most {MOST_COLUMNS}"
    ) as refusal:
        rows(f"{wide}\n" + "x\n" * 1000)
    assert refusal.value.code == "too_many_columns"


def test_a_table_of_as_many_as_may_be_is_read() -> None:
    wide = ",".join(["term", *(f"c{number}" for number in range(MOST_COLUMNS - 1))])
    ((line, cells),) = rows(f"{wide}\nx\n")
    assert (line, len(cells), cells["term"], cells["c5"]) == (2, MOST_COLUMNS, "x", "")


def test_cells_beyond_the_header_are_left_out() -> None:
    ((_line, cells),) = rows("term\n" + "x," * 1000 + "\n")
    assert cells == {"term": "x"}
