"""The location of evidence, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _


def lines_range(scope: Any) -> str:
    """ "page 6, lines 12–18", across pages too. ``scope`` has page_start, line_start, page_end and line_end."""
    a, b, c, d = _place(scope)
    if a != c:
        return _("page %(a)s, line %(b)s to page %(c)s, line %(d)s") % {"a": a, "b": b, "c": c, "d": d}
    if b == d:
        return _("page %(a)s, line %(b)s") % {"a": a, "b": b}
    return _("page %(a)s, lines %(b)s–%(c)s") % {"a": a, "b": b, "c": d}


def lines_short(scope: Any) -> str:
    """ "p. 6, l. 12–18": the same where there is little room."""
    a, b, c, d = _place(scope)
    if a != c:
        return _("p. %(a)s, l. %(b)s – p. %(c)s, l. %(d)s") % {"a": a, "b": b, "c": c, "d": d}
    if b == d:
        return _("p. %(a)s, l. %(b)s") % {"a": a, "b": b}
    return _("p. %(a)s, l. %(b)s–%(c)s") % {"a": a, "b": b, "c": d}


def _place(scope: Any) -> tuple[int, int, int, int]:
    if isinstance(scope, Mapping):
        return scope["page_start"], scope["line_start"], scope["page_end"], scope["line_end"]
    return scope.page_start, scope.line_start, scope.page_end, scope.line_end
