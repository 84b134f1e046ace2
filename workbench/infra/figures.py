"""Figures as people read them, in the form of their language."""

from __future__ import annotations

from django.template.defaultfilters import floatformat


def figure(value: float) -> str:
    """A number with one decimal where there is one to show."""
    return floatformat(value, -1)


def percent(share: float) -> str:
    """A share in [0, 1]: ``92.2 %``."""
    return f"{figure(100 * share)} %"
