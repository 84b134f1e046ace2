"""What is read before the server forks."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from django.template import TemplateSyntaxError, engines
from django.template.loader import get_template

from workbench.infra.preload import read_pages


def cached() -> set[str]:
    """Names of the templates that nobody has to read again."""
    (loader,) = engines["django"].engine.template_loaders
    while not hasattr(loader, "get_template_cache"):
        (loader,) = loader.loaders
    return {str(name) for name in loader.get_template_cache}


@pytest.fixture(autouse=True)
def _read_nothing_yet() -> None:
    for loader in engines["django"].engine.template_loaders:
        loader.reset()


def test_templates_are_read_before_anybody_asks_for_them(settings: Any) -> None:
    assert "review/item.html" not in cached()
    read_pages()
    own = Path(settings.TEMPLATES[0]["DIRS"][0])
    assert {path.relative_to(own).as_posix() for path in own.rglob("*.html")} <= cached()


def test_a_template_that_cannot_be_read_is_told_and_stops_nothing(
    settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "torn.html").write_text("{% if %}", encoding="utf-8")
    (tmp_path / "whole.html").write_text("whole", encoding="utf-8")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    with caplog.at_level(logging.ERROR):
        read_pages()
    (told,) = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    assert (told["event"], told["template"]) == ("template_unreadable", "torn.html")
    assert "whole.html" in cached()
    with pytest.raises(TemplateSyntaxError):
        get_template("torn.html")
