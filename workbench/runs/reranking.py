"""The reranker that serves runs. The app that keeps the models stands above this one and says which it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from arbitration.strategies.base import StrategyServices


class ServicesOf(Protocol):
    """Makes what a strategy may use: the model that serves, where one does, besides what the caller has."""

    def __call__(self, **others: Any) -> StrategyServices: ...


_state: list[Callable[[], str]] = []
_services: list[ServicesOf] = []


def reranker_register(*, state: Callable[[], str], services: ServicesOf) -> None:
    """The app that keeps the models says how it names the one that serves, and how strategies get it."""
    _state[:], _services[:] = [state], [services]


def reranker_state() -> str:
    """Name and digest of the model that serves now, or ``rules``: a part of cache keys."""
    return _state[0]()


def reranking_services(**others: Any) -> StrategyServices:
    """What a strategy may use now."""
    return _services[0](**others)
