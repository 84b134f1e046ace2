"""Dates in words, in the one form of workbench.formats."""

from __future__ import annotations

from datetime import date

from django.utils.formats import date_format


def month_in_words(month: str) -> str:
    """``2026-11``, which sorts, as people read it. Raises :class:`ValueError` for anything else."""
    return date_format(date.fromisoformat(f"{month}-01"), "YEAR_MONTH_FORMAT")
