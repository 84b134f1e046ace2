"""The clock of production; rules and tests get theirs passed in."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """Time from the operating system."""

    def now(self) -> datetime:
        """Aware UTC time."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds of a clock that never jumps."""
        return time.monotonic()
