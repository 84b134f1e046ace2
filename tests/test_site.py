"""The site of the documents shows what the documents say now. `make site` builds it, and fails on a warning."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType
from xml.etree import ElementTree

import pytest
import yaml

from tests.test_docs import ROOT


def module(name: str) -> ModuleType:
    """A module of the folder of documents, which is no package."""
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "docs" / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


diagrams = module("diagrams")


def test_every_diagram_is_drawn_and_nothing_else() -> None:
    drawn = {path.name for path in diagrams.PICTURES.iterdir()}
    assert drawn == {diagrams.picture_of(words) for words in diagrams.diagrams()}, "see docs/diagrams.py"


@pytest.mark.parametrize("path", sorted(diagrams.PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_a_picture_stands_alone(path: object) -> None:
    """Well-formed, with a size, and it fetches and runs nothing."""
    text = path.read_text("utf-8")
    assert float(ElementTree.fromstring(text).get("width")) > 0
    assert not re.search(r"<script|foreignObject|@import|url\(\s*['\"]?http|href=['\"]http", text)


def test_every_role_has_a_tutorial_in_the_navigation() -> None:
    from workbench.accounts.models import MemberRole

    navigation = str(yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Loader=yaml.BaseLoader)["nav"])
    for role in MemberRole.values:
        assert f"tutorials/{role}.md" in navigation
    for name in ("commands", "api", "settings", "audit-format", "actions"):
        assert f"reference/{name}.md" in navigation
