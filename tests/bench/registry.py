"""The measurements there are, and what one yields."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

Bound = Literal["at most", "at least"]
Size = Literal["quick", "full"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. ``bound`` None = reported only; ``beside`` says what it was measured against."""

    what: str
    value: float
    unit: str = ""
    target: float | None = None
    bound: Bound | None = None
    beside: str = ""

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.target is None or self.bound is None:
            return None
        return self.value <= self.target if self.bound == "at most" else self.value >= self.target

    def row(self) -> dict[str, Any]:
        """The figure for JSON."""
        return asdict(self) | {"met": self.is_met}


Measure = Callable[[Size], Iterator[Figure]]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A registered measurement."""

    name: str
    measure: Measure
    needs_services: bool


_MEASUREMENTS: dict[str, Measurement] = {}


def measurement(name: str, *, needs_services: bool = False) -> Callable[[Measure], Measure]:
    """Registers a function that yields figures under a name."""

    def register(measure: Measure) -> Measure:
        if name in _MEASUREMENTS:
            raise ValueError(f"there are two measurements called {name}")
        _MEASUREMENTS[name] = Measurement(name, measure, needs_services)
        return measure

    return register


def measurements() -> dict[str, Measurement]:
    """All measurements, by name, in the order of their files."""
    import tests.bench as package

    for module in sorted(found.name for found in pkgutil.iter_modules(package.__path__)):
        if module not in ("__main__", "registry"):
            importlib.import_module(f"tests.bench.{module}")
    return dict(_MEASUREMENTS)
