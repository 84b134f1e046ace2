"""The reranker for runs. The app of the models is above this one and registers it here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from arbitration.strategies.base import StrategyServices


class ServicesOf(Protocol):
    """Creates the services for a strategy: the champion, if any, in addition to the caller's services."""

    def __call__(self, **others: Any) -> StrategyServices: ...


_state: list[Callable[[], str]] = []
_services: list[ServicesOf] = []


def reranker_register(*, state: Callable[[], str], services: ServicesOf) -> None:
    """Called by the app of the models: how to name the champion, and how strategies get it."""
    _state[:], _services[:] = [state], [services]


def reranker_state() -> str:
    """Name and digest of the champion, or ``rules``: part of cache keys."""
    return _state[0]()


def reranking_services(**others: Any) -> StrategyServices:
    return _services[0](**others)
