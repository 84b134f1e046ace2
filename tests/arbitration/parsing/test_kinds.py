"""Types by signature and name."""

from __future__ import annotations

import pytest

from arbitration.errors import ParseFailure
from arbitration.parsing.kinds import detect_kind


@pytest.mark.parametrize(
    ("head", "name", "kind"),
    [
        (b"%PDF-1.7\n...", "a.pdf", "pdf"),
        (b"junk before\n%PDF-1.4", "A.PDF", "pdf"),
        (b"# Title", "readme.md", "markdown"),
        (b"# Title", "readme.markdown", "markdown"),
        (b"plain", "notes.txt", "text"),
        ("año".encode("utf-16"), "notes.txt", "text"),
    ],
)
def test_accepted(head: bytes, name: str, kind: str) -> None:
    assert detect_kind(head, name) == kind


def test_a_file_is_empty_when_nothing_follows_its_blank_beginning() -> None:
    blank = b" \n" * 4096
    assert detect_kind(blank + b"text", "a.txt") == "text"
    with pytest.raises(ParseFailure) as failure:
        detect_kind(blank, "a.txt")
    assert failure.value.code == "empty"


@pytest.mark.parametrize(
    ("head", "name", "code"),
    [
        (b"", "a.pdf", "empty"),
        (b" \n\t", "a.txt", "empty"),
        (b"text", "a.xls", "unsupported_type"),
        (b"PK\x03\x04", "a.zip", "unsupported_type"),
        (b"text", "a.xlsx", "type_mismatch"),
        (b"GIF89a", "a.png", "type_mismatch"),
        (b"text", "noextension", "unsupported_type"),
        (b"PK\x03\x04....", "a.pdf", "type_mismatch"),
        (b"hello", "a.pdf", "type_mismatch"),
        (b"%PDF-1.7", "a.txt", "type_mismatch"),
        (b"\x89PNG\r\n", "a.md", "type_mismatch"),
        (b"MZ\x90\x00", "a.txt", "type_mismatch"),
        (b"text with\x00zero bytes", "a.txt", "type_mismatch"),
    ],
)
def test_refused_with_a_reason(head: bytes, name: str, code: str) -> None:
    with pytest.raises(ParseFailure) as failure:
        detect_kind(head, name)
    assert failure.value.code == code
    assert len(failure.value.message) > 20
