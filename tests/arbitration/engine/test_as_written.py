"""Terms named in the form that a passage has."""

from __future__ import annotations

import pytest

from arbitration.as_written import as_written


@pytest.mark.parametrize(
    ("terms", "text", "asked", "told"),
    [
        # The passage's own form and capitals.
        (("expires",), "It lasts until its expiration.", "", ["expiration"]),
        (
            ("lantern", "keeper"),
            "The Lantern Keeper lights it.",
            "Who is the lantern keeper?",
            ["Lantern Keeper"],
        ),
        # Neighbours in the passage alone are no name.
        (
            ("keeper", "lantern"),
            "The lantern keeper lights it.",
            "Does a keeper own a lantern?",
            ["keeper", "lantern"],
        ),
        # A form that the question has goes before another one, and a heading in capitals counts last.
        (("sell",), "“Selling”: we do not sell boats.", "", ["sell"]),
        (("fee",), "FEE The Fee is due.", "What is the fee?", ["Fee"]),
        (("fee",), "10. FEE", "What is the fee?", ["fee"]),
        (("uk",), "The UK rule.", "What is the UK rule?", ["UK"]),
        (("keeper",), "The keeper’s lamp.", "", ["keeper"]),
        (("anchor",), "Nothing of the kind.", "", ["anchor"]),
    ],
)
def test_terms_are_named_as_the_passage_writes_them(
    terms: tuple[str, ...], text: str, asked: str, told: list[str]
) -> None:
    assert as_written(terms, text, "en", asked=asked) == told
