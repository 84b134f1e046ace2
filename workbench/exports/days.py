"""Days as people name them, and the moments between which they lie."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta


def days_between(*, first: date, last: date) -> tuple[datetime, datetime]:
    """From the first moment of ``first`` to the last of ``last`` (UTC): the second moment is excluded."""
    return (
        datetime.combine(first, time(), tzinfo=UTC),
        datetime.combine(last + timedelta(days=1), time(), tzinfo=UTC),
    )
