"""Where evidence stands and what it says, in words: filters, because a page shows them a hundred times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

register = template.Library()


@register.filter
def lines_range(scope: Any) -> str:
    """ "page 6, lines 12–18", across pages too. ``scope`` has page_start, line_start, page_end and line_end."""
    a, b, c, d = _place(scope)
    if a != c:
        return _("page %(a)s, line %(b)s to page %(c)s, line %(d)s") % {"a": a, "b": b, "c": c, "d": d}
    if b == d:
        return _("page %(a)s, line %(b)s") % {"a": a, "b": b}
    return _("page %(a)s, lines %(b)s–%(c)s") % {"a": a, "b": b, "c": d}


@register.filter
def lines_short(scope: Any) -> str:
    """ "p. 6, l. 12–18": the same where there is little room."""
    a, b, c, d = _place(scope)
    if a != c:
        return _("p. %(a)s, l. %(b)s – p. %(c)s, l. %(d)s") % {"a": a, "b": b, "c": c, "d": d}
    if b == d:
        return _("p. %(a)s, l. %(b)s") % {"a": a, "b": b}
    return _("p. %(a)s, l. %(b)s–%(c)s") % {"a": a, "b": b, "c": d}


@register.filter
def marked(parts: Iterable[Mapping[str, Any]]) -> SafeString:
    """Document text with its matched keywords marked. ``parts`` are {text, matched} in order; never HTML, so hostile
    text stays text."""
    shown = [(conditional_escape(part["text"]), part["matched"]) for part in parts]
    return mark_safe("".join([f"<mark>{text}</mark>" if hit else text for text, hit in shown]))  # noqa: S308 - escaped


@register.filter
def listed(titles: Iterable[str]) -> SafeString:
    """Each title as an item of a list."""
    return mark_safe("".join([f"<li>{conditional_escape(title)}</li>" for title in titles or ()]))  # noqa: S308 - escaped


def _place(scope: Any) -> tuple[int, int, int, int]:
    if isinstance(scope, Mapping):
        return scope["page_start"], scope["line_start"], scope["page_end"], scope["line_end"]
    return scope.page_start, scope.line_start, scope.page_end, scope.line_end
