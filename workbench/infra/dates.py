"""Dates in words, in the one form of workbench.formats, and runs of days."""

from __future__ import annotations

from datetime import date, timedelta

from django.utils.formats import date_format


def month_in_words(month: str) -> str:
    """``2026-11``, which sorts, as people read it. Raises :class:`ValueError` for anything else."""
    return date_format(date.fromisoformat(f"{month}-01"), "YEAR_MONTH_FORMAT")


def day_in_words(day: date) -> str:
    """A day of the year as charts name it: "3 Nov"."""
    return date_format(day, "MONTH_DAY_FORMAT")


def days_between(first: date, last: date, *, step: int = 1) -> list[date]:
    """Every day, or every ``step`` days, from the first to the last."""
    return [first + timedelta(days=gone) for gone in range(0, (last - first).days + 1, step)]


def week_of(day: date) -> date:
    """The Monday of the day's week."""
    return day - timedelta(days=day.weekday())
