"""What is read out of a search field."""

from __future__ import annotations

import pytest

from workbench.search.words import Words


@pytest.mark.parametrize(
    ("text", "single", "phrases"),
    [
        ("access records", ("access", "records"), ()),
        ('keep "access  records" ten', ("keep", "ten"), ("access records",)),
        ("“access records” ISO-27001", ("ISO-27001",), ("access records",)),
        ('an "open one', ("an", "open", "one"), ()),
        ('"a b" and "open one', ("and", "open", "one"), ("a b",)),
        ('*** "--" … x x', ("x",), ()),
        ("", (), ()),
        ('"', (), ()),
        ("\x00\x00", (), ()),
    ],
)
def test_words_and_phrases(text: str, single: tuple[str, ...], phrases: tuple[str, ...]) -> None:
    assert Words.of(text) == Words(single, phrases)


def test_function_words_count_only_by_themselves() -> None:
    assert Words.of("how long are the records kept").in_language("en").single == ("long", "records", "kept")
    assert Words.of("the").in_language("en").single == ("the",)
    assert Words.of('the "to the"').in_language("en") == Words((), ("to the",))


@pytest.mark.parametrize(
    ("asked", "stands"),
    [
        ("record", True),
        ('"access records"', True),
        ('"access record"', False),
        ('"ACCESS RECORDS are"', True),
        ('"kept for long"', True),  # goes on in the next line
        ("records invoice", False),
        ("tion", False),
    ],
)
def test_whether_it_stands_in_a_passage(asked: str, stands: bool) -> None:
    lines = ["Access records are kept", "for long."]
    assert Words.of(asked).stand_in([" ".join(lines), *lines], "en", any_word=False) is stands


def test_any_word_will_do_where_any_is_asked_for() -> None:
    words = Words.of('invoice "access record" kept')
    assert words.stand_in(["Access records are kept."], "en", any_word=True)
    assert not Words.of("invoice").stand_in(["Access records are kept."], "en", any_word=True)
