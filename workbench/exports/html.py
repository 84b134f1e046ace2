"""A record as one HTML file that needs nothing else: styles and images are inside, scripts are not allowed."""

from __future__ import annotations

from functools import cache

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from workbench.direction import shown_in_html
from workbench.paths import STATIC

from .blocks import Report


def report_html(report: Report) -> bytes:
    """The file, UTF-8. Its own policy forbids scripts and anything from elsewhere."""
    page = render_to_string("exports/record.html", {"report": report, "style": _style()})
    return shown_in_html(page).encode()


@cache
def _style() -> SafeString:
    """Our own style sheet, which holds no text from anywhere else."""
    sheet = STATIC / "css" / "record.css"
    return mark_safe(f"<style>{sheet.read_text(encoding='utf-8')}</style>")  # noqa: S308
