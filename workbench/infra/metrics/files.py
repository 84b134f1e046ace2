"""The folder in which the processes of one machine count together.

prometheus-client gives each process a file that it maps into memory, and adds the files up when it is asked. Three
things are different here. Files are named by process and its start, because in a container a new process gets the
number of an old one. Their room on the disk is taken beforehand, because writing to a mapped page for which a full
disk has no room kills the process. And what processes left behind is known by itself: no hook of a server is needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import psutil
import structlog
from django.conf import settings

from workbench.private import private_folder

logger = structlog.get_logger(__name__)

#: Bytes that a file takes on the disk at first, and what is kept free for the next entry.
FIRST_BYTES, NEXT_BYTES = 1024 * 1024, 4096
_FILE = re.compile(r"(counter|histogram|gauge_[a-z]+)_(\d+)-(\d*)\.db")


def use_folder() -> bool:
    """Lets prometheus-client count in the folder of the settings; call it before the first figure is made. False, and
    this process counts for itself, where there is no folder or it cannot be used."""
    if not settings.METRICS_FOLDER:
        return False
    folder = Path(settings.METRICS_FOLDER)
    try:
        private_folder(folder)
    except OSError as error:
        logger.warning("metrics.no_folder", folder=str(folder), error=error.strerror)
        return False
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    from prometheus_client import mmap_dict, values

    values.MmapedDict = _roomy(mmap_dict.MmapedDict)
    values.ValueClass = values.MultiProcessValue(this_process)
    return True


def _roomy(mapped: type) -> type:
    """The library's file with its room taken beforehand. Raises :class:`OSError` where the disk is full."""

    class RoomyDict(mapped):  # type: ignore[misc]
        def __init__(self, filename: str, read_mode: bool = False) -> None:
            if not read_mode:
                with open(filename, "a+b") as file:
                    _take_room(file.fileno(), FIRST_BYTES)
            super().__init__(filename, read_mode)

        def _init_value(self, key: str) -> None:
            if self._used + NEXT_BYTES > self._capacity:
                _take_room(self._f.fileno(), 2 * self._capacity)
            super()._init_value(key)

    return RoomyDict


def _take_room(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)


def this_process() -> str:
    """The name of this process in its files."""
    return _name_of(os.getpid())


@lru_cache(maxsize=4)
def _name_of(pid: int) -> str:
    return f"{pid}-{_start_of(pid)}"


def _start_of(pid: int) -> str:
    """When a process started, in ticks since the machine's start, which no change of the clock moves; "" elsewhere
    than on Linux."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def counted_files() -> list[str]:
    """All files to add up. What a process said of itself ends with it; what it counted stays."""
    for path, is_state, lives in _files():
        if is_state and not lives:
            path.unlink(missing_ok=True)
    return sorted(str(path) for path, _is_state, _lives in _files())


def forget_the_dead() -> None:
    """Removes what earlier processes left, at the start of a service: its counters begin at zero."""
    if not settings.METRICS_FOLDER:
        return
    for path, _is_state, lives in _files():
        if not lives:
            path.unlink(missing_ok=True)


def _files() -> Iterator[tuple[Path, bool, bool]]:
    """Path, whether it holds a state rather than counts, whether its process lives."""
    for path in Path(settings.METRICS_FOLDER).glob("*.db"):
        found = _FILE.fullmatch(path.name)
        if found is None:
            continue
        kind, pid, start = found[1], int(found[2]), found[3]
        yield path, kind.startswith("gauge_live"), psutil.pid_exists(pid) and _start_of(pid) == start
