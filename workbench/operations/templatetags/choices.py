"""What every page writes alike: the options of a select, and shares as percentages."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.template.defaultfilters import floatformat
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def percent(share: float) -> str:
    """A share in [0, 1] as people read it: ``92.2 %``."""
    return f"{floatformat(100 * share, -1)} %"


@register.filter
def options(choices: Iterable[tuple[object, object]], chosen: object = None) -> SafeString:
    """One option for each (value, label), the chosen value selected."""
    shown = [
        f'<option value="{conditional_escape(value)}"{" selected" if value == chosen else ""}>'
        f"{conditional_escape(label)}</option>"
        for value, label in choices
    ]
    return mark_safe("".join(shown))  # noqa: S308 - escaped
