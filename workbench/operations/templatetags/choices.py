"""What every page writes alike: the options of a select, and shares as percentages."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from workbench.infra.figures import percent

register = template.Library()


register.filter("percent", percent)


@register.filter
def options(choices: Iterable[tuple[object, object]], chosen: object = None) -> SafeString:
    """One option for each (value, label), the chosen value selected."""
    shown = [
        f'<option value="{conditional_escape(value)}"{" selected" if value == chosen else ""}>'
        f"{conditional_escape(label)}</option>"
        for value, label in choices
    ]
    return mark_safe("".join(shown))  # noqa: S308 - escaped
