"""What a provider says at a sign-on is heard."""

from __future__ import annotations

from . import signals

signals.connect()
