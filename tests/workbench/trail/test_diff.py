"""Before and after, side by side."""

from __future__ import annotations

from workbench.trail.diff import Change, changes_of


def test_only_differences_are_shown_by_name() -> None:
    changes = changes_of({"role": "primary", "same": 1}, {"role": "discarded", "same": 1, "new": True})
    assert changes == [Change("new", None, "true"), Change("role", "primary", "discarded")]


def test_nothing_changed_shows_nothing() -> None:
    assert changes_of(None, None) == []


def test_a_field_that_goes_away() -> None:
    assert changes_of({"role": "primary"}, None) == [Change("role", "primary", None)]


def test_nested_fields_get_dotted_names() -> None:
    assert changes_of({"gates": {"low": 0.1}}, {"gates": {"low": 0.2}}) == [Change("gates.low", "0.1", "0.2")]


def test_an_empty_string_and_null_are_told_apart_from_absence() -> None:
    assert changes_of({"a": None, "b": ""}, {}) == [Change("a", "null", None), Change("b", "", None)]


def test_a_hashed_text_is_named_as_such() -> None:
    (change,) = changes_of(None, {"comment": {"sha256": "ab12", "length": 900}})
    assert change.after == "text of 900 characters, sha256 ab12"
