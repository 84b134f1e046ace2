"""Events inside the process: the app that acts publishes, the apps above it subscribe when they are ready.

So a lower app never imports one that stands on it. A subscriber runs in the publisher's transaction: what it raises
undoes the act.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Happened = TypeVar("Happened")


class Event(Generic[Happened]):
    """One kind of event, and who is told of it."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[[Happened], object]] = []

    def subscribe(self, subscriber: Callable[[Happened], object]) -> None:
        """From now on the subscriber is told, after those before it. Once is enough: a second time changes nothing."""
        if subscriber not in self._subscribers:
            self._subscribers.append(subscriber)

    def publish(self, happened: Happened) -> None:
        """Tells every subscriber, in the order in which they came."""
        for subscriber in self._subscribers:
            subscriber(happened)
