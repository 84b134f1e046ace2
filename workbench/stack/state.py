"""What a supervisor writes down about itself: for commands that join it and for the next start after a crash."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from .home import read_json, write_json
from .ports import ServicePorts
from .processes import Record


class Phase(StrEnum):
    """How far a supervisor has come."""

    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    FAILED = "failed"


class Mode(StrEnum):
    """Why a supervisor runs."""

    RUN = "run"
    SERVE = "serve"
    TEMPORARY = "temporary"


@dataclass(frozen=True)
class State:
    """One supervisor: itself, its children, and where its services listen."""

    supervisor: Record
    mode: Mode
    phase: Phase = Phase.STARTING
    ports: ServicePorts | None = None
    address: str = ""
    error: str = ""
    children: tuple[Record, ...] = field(default=())

    def is_alive(self) -> bool:
        """Whether the supervisor that wrote this still runs."""
        return self.supervisor.find() is not None

    def write(self, path: Path) -> None:
        write_json(path, asdict(self))

    def with_child(self, record: Record) -> State:
        """The state with this child in place of an earlier one of the same name."""
        others = tuple(child for child in self.children if child.name != record.name)
        return replace(self, children=(*others, record))

    def without_child(self, name: str) -> State:
        return replace(self, children=tuple(child for child in self.children if child.name != name))


def read(path: Path) -> State | None:
    """The state in a file; None when there is none or it cannot be understood."""
    content = read_json(path)
    if not isinstance(content, dict):
        return None
    supervisor = Record.load(content.get("supervisor"))
    if supervisor is None:
        return None
    try:
        ports = content.get("ports")
        children = [Record.load(child) for child in content.get("children", [])]
        return State(
            supervisor=supervisor,
            mode=Mode(content["mode"]),
            phase=Phase(content["phase"]),
            ports=ServicePorts(**ports) if ports else None,
            address=str(content.get("address", "")),
            error=str(content.get("error", "")),
            children=tuple(child for child in children if child is not None),
        )
    except (KeyError, TypeError, ValueError):
        return None
