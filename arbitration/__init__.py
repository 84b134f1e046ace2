"""The arbitration engine: parsing, detection, briefs, strategies, grounding and evaluation.

Plain typed Python. It knows no web framework, no task queue and no database; it reaches the world
through the protocols of :mod:`arbitration.protocols`. Programs begin with :class:`Arbiter` (docs/library.md).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arbitration.adapters.endpoints import Endpoint as Endpoint
    from arbitration.answers import Answer as Answer
    from arbitration.contracts import Role as Role
    from arbitration.errors import ArbitrationError as ArbitrationError
    from arbitration.errors import ParseFailure as ParseFailure
    from arbitration.errors import StrategyUnavailable as StrategyUnavailable
    from arbitration.library import Arbiter as Arbiter
    from arbitration.library import read_file as read_file
    from arbitration.memory import InMemoryStore as InMemoryStore
    from arbitration.memory import StoredDocument as StoredDocument
    from arbitration.results import Candidate as Candidate
    from arbitration.results import Finding as Finding
    from arbitration.results import Place as Place
    from arbitration.settings import EngineSettings as EngineSettings

#: Public names, each with its module: loaded when it is first used, so that ``import arbitration`` costs nothing.
_HOMES = {
    "Answer": "answers",
    "Arbiter": "library",
    "ArbitrationError": "errors",
    "Candidate": "results",
    "Endpoint": "adapters.endpoints",
    "EngineSettings": "settings",
    "Finding": "results",
    "InMemoryStore": "memory",
    "ParseFailure": "errors",
    "Place": "results",
    "Role": "contracts",
    "StoredDocument": "memory",
    "StrategyUnavailable": "errors",
    "read_file": "library",
}
__all__ = [
    "Answer",
    "Arbiter",
    "ArbitrationError",
    "Candidate",
    "Endpoint",
    "EngineSettings",
    "Finding",
    "InMemoryStore",
    "ParseFailure",
    "Place",
    "Role",
    "StoredDocument",
    "StrategyUnavailable",
    "read_file",
]


def __getattr__(name: str) -> Any:
    """A public name, from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
