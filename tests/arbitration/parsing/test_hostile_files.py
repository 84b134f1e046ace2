"""Every malformed, encrypted, active or deceptive file ends parsed or refused with a reason.

A few of each category and all that have a password in the ordinary run; each file has a process of its own, so that the
other hundred and sixty belong to the long tail.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arbitration.documents import ParsedDocument
from arbitration.errors import ParseFailure, PasswordRequired
from arbitration.parsing.isolation import ParseLimits, parse_isolated
from tests.conftest import ROOT

pytestmark = pytest.mark.data

_LIMITS = ParseLimits(cpu_s=20, wall_s=60.0)
_CODES = {
    "empty",
    "corrupt",
    "no_text",
    "type_mismatch",
    "unsupported_type",
    "forbidden_content",
    "encrypted",
    "wrong_password",
}


#: Scans: seconds of recognition each. One of them stays in the ordinary run.
_SCANS = {
    "pypdf__imagemagick-images.pdf",
    "qpdf__unsupported-optimization.pdf",
    "qpdf__encrypted-with-images.pdf",
    "pdfjs__multiple-filters-length-zero.pdf",
    "qpdf__damaged-inline-image.pdf",
    "pdfminer__encrypted_doc_no_id.pdf",
}
_OF_EACH = 2  # files of a category in the ordinary run


def _manifest() -> list[tuple[str, str, str]]:
    """(file, category, password) of each row; empty where the data is absent, which the fixture then says."""
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA", ROOT.parent / "shared" / "data")) / "hostile"
    if not (folder / "MANIFEST.csv").is_file():
        return []
    with (folder / "MANIFEST.csv").open(encoding="utf-8", newline="") as file:
        return [(row["file"], row["category"], row["password"]) for row in csv.DictReader(file)]


def _files() -> Iterator[Any]:
    """(file, password) of each row, most of them marked as the long tail."""
    seen: Counter[str] = Counter()
    for name, category, password in _manifest() or [("", "", "")]:
        is_few = bool(password) or seen[category] < _OF_EACH
        seen[category] += name not in _SCANS
        yield pytest.param(name, password, marks=() if is_few and name not in _SCANS else pytest.mark.long)


def _outcome(path: Path, password: str) -> ParsedDocument | ParseFailure:
    try:
        return parse_isolated(path=path, filename=path.name, limits=_LIMITS, password=password or None)
    except ParseFailure as failure:
        return failure


@pytest.mark.parametrize(("name", "password"), list(_files()))
def test_a_hostile_file_ends_parsed_or_refused(shared_data: Path, name: str, password: str) -> None:
    outcome = _outcome(shared_data / "hostile" / "files" / name, password)
    if isinstance(outcome, ParseFailure):
        assert outcome.code in _CODES
        assert isinstance(outcome, PasswordRequired) == (outcome.code in ("encrypted", "wrong_password"))
        assert len(outcome.message) > 20
        return
    assert outcome.lines
    hidden = {(line.page_num, line.line_num) for line in outcome.lines if line.is_hidden}
    for passage in outcome.passages:
        assert passage.text
        assert (passage.page_start, passage.line_start) not in hidden


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("corkami__text-invisible.pdf", "ww2"),
        ("corkami__hidden.pdf", "Hello"),
        ("corkami__OverlappedText.pdf", "hidden"),
    ],
)
def test_hidden_text_is_flagged(shared_data: Path, name: str, words: str) -> None:
    path = shared_data / "hostile" / "files" / name
    document = parse_isolated(path=path, filename=name, limits=_LIMITS)
    assert any(words in line.text for line in document.lines if line.is_hidden)
    assert not any(words in passage.text for passage in document.passages)
