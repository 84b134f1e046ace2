"""What allauth says happened is put on record."""

from __future__ import annotations

from . import signals

signals.connect()
