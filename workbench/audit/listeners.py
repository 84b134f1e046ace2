"""Who else writes something when an event is recorded: in its transaction, so that both stand or neither."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .models import AuditEvent

Listener = Callable[[Sequence["AuditEvent"]], None]

_listeners: dict[str, list[Listener]] = defaultdict(list)


def listen(actions: Iterable[str], listener: Listener) -> None:
    """From now on the listener is called with the events of these actions: with one, or with all that are written
    together. An app says so once, when it is ready."""
    for action in actions:
        if listener not in _listeners[action]:
            _listeners[action].append(listener)


def listeners_of(action: str) -> tuple[Listener, ...]:
    """Whom to call, in the order they said so."""
    return tuple(_listeners.get(action, ()))
