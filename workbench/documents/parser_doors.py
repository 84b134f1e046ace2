"""What the parser's process cannot give up on this system: said when a worker starts, and by `check --deploy`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import structlog
from django.core.checks import CheckMessage, Info, register

from arbitration.errors import ParseFailure
from arbitration.parsing.isolation import Doors, closed_doors
from arbitration.parsing.sandbox import foreseen_doors

logger = structlog.get_logger(__name__)

#: What stays open, and what helps, by the name of the door.
_OPEN = {
    "calls": (
        "A parser may make every system call: no list was written for this processor, or its kernel has no seccomp.",
        "Run the workers on Linux on x86-64 or ARM64.",
    ),
    "files": (
        "A parser may read every file that its account may read: the kernel has no Landlock.",
        "Use Linux 5.13 or later with landlock among its security modules (lsm=landlock,... at boot), and let the "
        "container's seccomp profile pass the landlock calls.",
    ),
    "account": (
        "A parser runs as root: this process may not change to another account.",
        "Run the product as an ordinary account, or give its container CAP_SETUID and CAP_SETGID.",
    ),
}


def open_doors(doors: Doors) -> Iterator[tuple[str, str, str]]:
    """Name, meaning and hint of each restriction that this system cannot apply."""
    for name, (meaning, hint) in _OPEN.items():
        if not getattr(doors, name):
            yield name, meaning, hint


@register(deploy=True)
def parser_is_shut_in(**_: Any) -> list[CheckMessage]:
    """A hint and no warning: reading goes on, with less between a hole in a library and the installation."""
    return [
        Info(meaning, hint=hint, id=f"documents.I00{list(_OPEN).index(name) + 1}")
        for name, meaning, hint in open_doors(foreseen_doors())
    ]


def log_open_doors(**_: Any) -> None:
    """Starts one parser when a worker starts, and logs the restrictions that it could not apply."""
    try:
        doors = closed_doors()
    except ParseFailure as failure:
        logger.error("parser.does_not_start", code=failure.code)
        return
    for name, meaning, hint in open_doors(doors):
        logger.warning("parser.open_door", door=name, meaning=meaning, hint=hint)
    logger.info("parser.doors", calls=doors.calls, files=doors.files, account=doors.account)
