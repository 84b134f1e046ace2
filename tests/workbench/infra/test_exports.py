"""Files for other programs, values of addresses, text for the database."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.infra.addresses import number_in, words_in
from workbench.infra.exports import csv_text, safe_cell
from workbench.infra.storable import storable, storable_json


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_no_text_begins_like_a_formula(start: str) -> None:
    assert safe_cell(f"{start}1+1") == f"'{start}1+1"


@pytest.mark.parametrize(
    ("value", "cell"), [(None, ""), (-5, "-5"), (2.5, "2.5"), (True, "True"), ("a=b", "a=b"), ("", "")]
)
def test_other_values_stay(value: object, cell: str) -> None:
    assert safe_cell(value) == cell


@given(
    st.lists(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
            min_size=2,
            max_size=2,
        )
    )
)
def test_what_goes_in_comes_out(rows: list[list[str]]) -> None:
    text = csv_text(header=["a", "b"], rows=rows)

    assert text.startswith("\ufeff")
    read = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    assert read == [["a", "b"], *([safe_cell(value) for value in row] for row in rows)]


@pytest.mark.parametrize(
    ("raw", "number"),
    [("0", 0), ("42", 42), ("9" * 18, 10**18 - 1), ("9" * 19, None), ("9" * 5000, None), ("-1", None)]
    + [(raw, None) for raw in (None, "", "x", "1.5", "²", "٣", " 1", "1\x00")],
)
def test_numbers_of_addresses(raw: str | None, number: int | None) -> None:
    assert number_in(raw) == number


def test_words_of_addresses() -> None:
    assert words_in(" a\x00b\ud800 ") == "ab"
    assert words_in(None) == ""


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(_JSON)
def test_stored_json_holds_nothing_that_the_database_cannot(value: Any) -> None:
    def texts(item: Any) -> list[str]:
        match item:
            case str():
                return [item]
            case dict():
                return [text for pair in item.items() for part in pair for text in texts(part)]
            case list():
                return [text for part in item for text in texts(part)]
            case _:
                return []

    kept = storable_json(value)

    assert all(storable(text) == text for text in texts(kept))
    assert storable_json(kept) == kept
