"""What every page needs is read before the server forks: the first reader in each process waits for none of it, and
processes share it."""

from __future__ import annotations

from pathlib import Path

import structlog
from django.conf import settings
from django.template import TemplateSyntaxError
from django.template.loader import get_template
from django.urls import Resolver404, resolve, reverse
from django.utils.translation import gettext, override

logger = structlog.get_logger(__name__)


def read_pages() -> None:
    """Templates, addresses, and the words of each language. A template that cannot be read is said in the log and left
    to the page that shows it."""
    for folder in settings.TEMPLATES[0]["DIRS"]:
        for path in sorted(Path(folder).rglob("*.html")):
            _read_template(path.relative_to(folder).as_posix())
    for code, _name in settings.LANGUAGES:
        with override(code):
            gettext("Home")
            reverse("home")
            try:
                resolve("/no-page-has-this-address/")
            except Resolver404:
                continue


def _read_template(name: str) -> None:
    try:
        get_template(name)
    except TemplateSyntaxError as error:
        logger.error("template_unreadable", template=name, error=str(error))
