"""Real documents of the formats that flow."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbitration.parsing.isolation import ParseLimits, parse_isolated

pytestmark = pytest.mark.data


def test_every_word_document_parses_with_its_headings_as_sections(shared_data: Path) -> None:
    paths = sorted((shared_data / "documents" / "docx").glob("*.docx"))
    assert paths
    for path in paths:
        document = parse_isolated(path=path, filename=path.name, limits=ParseLimits())
        assert document.kind == "docx", path.name
        assert len(document.sections) >= 3, path.name
        assert document.section_depth >= 2, path.name
        owned = sum(line.section_id is not None for line in document.lines if not line.is_furniture)
        assert owned > 0.8 * len(document.lines) - 5, path.name


def test_an_encrypted_word_document_opens_with_its_password(shared_data: Path) -> None:
    path = shared_data / "hostile" / "files" / "poi__bug53475-password-is-solrcell.docx"
    document = parse_isolated(path=path, filename=path.name, limits=ParseLimits(), password="solrcell")
    assert document.lines
