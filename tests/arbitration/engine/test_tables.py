"""Rows of a table in words."""

from __future__ import annotations

from arbitration.tables import best_row, table_in_words
from arbitration.text import TermMatcher

HARBOUR = ("Harbours of the line:", "Name  Depth  Country")
MORE = ("Ardal  nine metres  Norway", "Brevik  six metres  Norway")


def test_a_table_that_goes_on_takes_its_columns_from_where_it_began() -> None:
    wanted = TermMatcher(("Brevik",))
    assert (
        table_in_words(MORE, wanted, before=(*HARBOUR, "Visby  seven metres  Sweden"))
        == "Brevik six metres Norway (Name, Depth, Country)"
    )


def test_a_row_is_no_head_where_the_beginning_of_the_table_is_not_seen() -> None:
    wanted = TermMatcher(("Ardal",))
    assert table_in_words(MORE, wanted, before=("Visby  seven metres  Sweden",)) == "Ardal nine metres Norway"


def test_the_number_of_a_clause_or_page_is_no_cell() -> None:
    lines = ("7.       Repairs", "The keeper mends the lamp.", "-2-      8.     Damages")
    assert table_in_words(lines, TermMatcher(("lamp",))) == ""


def test_the_row_that_a_reason_quotes() -> None:
    assert best_row(MORE, TermMatcher(("Brevik",))) == "Brevik six metres Norway"
    assert best_row(("The keeper mends the lamp.",), TermMatcher(("lamp",))) == ""
