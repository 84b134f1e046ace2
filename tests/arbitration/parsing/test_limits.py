"""A small file that comes to a lot ends with words that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbitration.errors import ParseFailure
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.registry import parse_here

TEXT = "".join(f"# Rule {number}\n\nRecords of kind {number} are kept.\n\n" for number in range(20))


@pytest.mark.parametrize("what", ["headings", "lines", "passages"])
def test_a_document_that_holds_too_much_says_of_what_and_what_to_do(what: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.md"
    file.write_text(TEXT, encoding="utf-8")
    limits = ParseLimits(**{f"max_{what}": 19})

    with pytest.raises(ParseFailure) as caught:
        parse_here(file, filename=file.name, limits=limits)

    assert caught.value.code == f"too_many_{what}"
    for words in (f" {what}; at most 19 are read", "Split it", "ask the operator"):
        assert words in caught.value.message


def test_a_document_at_the_limit_is_read(tmp_path: Path) -> None:
    file = tmp_path / "rules.md"
    file.write_text(TEXT, encoding="utf-8")

    found = parse_here(
        file, filename=file.name, limits=ParseLimits(max_headings=20, max_lines=40, max_passages=20)
    )

    assert len(found.sections) == 20
