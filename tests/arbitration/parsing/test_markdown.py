"""Markdown: headings to sections, readable lines, tables as rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.parsing.markdown import draft_of_markdown, plain
from arbitration.parsing.toc import build_sections

_SAMPLE = """---
title: "House rules"
---

# Rules of the house

Some *plain* words with a [link](https://example.org/a_(b)) and `code`.
They go on here.

## 1. Keys

- one key per person
- [x] a **second** one on request

| Room | Fee |
|------|----:|
| Hall | 12  |
| Loft | 15  |

### Lost keys

> Quoted: report a lost key at once.

```
a = 1  # not a heading
```

Fees
----

The last words.
"""


def test_lines_keep_the_words_and_lose_the_marks() -> None:
    texts = [line.text for line in draft_of_markdown(_SAMPLE).lines]
    assert texts == [
        "Rules of the house",
        "Some plain words with a link and code.",
        "They go on here.",
        "1. Keys",
        "• one key per person",
        "• a second one on request",
        "Room  Fee",
        "Hall  12",
        "Loft  15",
        "Lost keys",
        "Quoted: report a lost key at once.",
        "a = 1  # not a heading",
        "Fees",
        "The last words.",
    ]


def test_headings_become_sections_that_own_their_lines() -> None:
    draft = draft_of_markdown(_SAMPLE)
    sections = build_sections(draft.toc, draft.lines)
    assert [(section.level, section.title) for section in sections] == [
        (1, "Rules of the house"),
        (2, "1. Keys"),
        (3, "Lost keys"),
        (2, "Fees"),
    ]
    owner = {section.section_id: section.title for section in sections}
    owned = {line.text: owner[line.section_id or ""] for line in draft.lines}
    assert owned["Hall  12"] == "1. Keys"
    assert owned["a = 1  # not a heading"] == "Lost keys"
    assert owned["The last words."] == "Fees"
    assert draft.toc_source == "markup"


def test_the_front_matter_gives_the_title_and_no_line() -> None:
    assert draft_of_markdown(_SAMPLE).title == "House rules"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("**Bold** and _slanted_ and ***both***", "Bold and slanted and both"),
        ("snake_case_name stays", "snake_case_name stays"),
        ("2 * 3 * 4 = 24", "2 * 3 * 4 = 24"),
        ("![a picture](x.png) of it", "a picture of it"),
        ("see [the rules][1] below", "see the rules below"),
        ("escaped \\*stars\\*", "escaped *stars*"),
        ("a <b>tag</b> or two", "a tag or two"),
        ("if a < b and c > d", "if a < b and c > d"),
    ],
)
def test_inline_marks(source: str, expected: str) -> None:
    assert plain(source) == expected


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=400))
def test_any_text_parses_to_numbered_lines(text: str) -> None:
    draft = draft_of_markdown(text)
    assert all(line.text.strip() for line in draft.lines)
    places = [(line.page_num, line.line_num) for line in draft.lines]
    assert places == sorted(set(places))
    assert {page.page_num for page in draft.pages} == {page for page, _ in places}


def test_many_brackets_take_no_long_time() -> None:
    assert draft_of_markdown("[" * 60_000).lines
