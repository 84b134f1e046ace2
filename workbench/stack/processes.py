"""Child processes: how one is started, recognised later, and stopped with everything it started.

Each child leads its own session, so that Ctrl-C reaches only the supervisor (which stops the children
in order) and so that what a child left behind can be found by its process group. On Linux the kernel
also signals each child when the supervisor dies (prctl PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

PR_SET_PDEATHSIG = 1
#: The signals that stop a program by default, and that a shell may have set to be ignored.
TERMINAL_SIGNALS = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGTERM})
#: Two readings of one start differ by less than this many seconds.
START_TOLERANCE_SECONDS = 0.5
HURRIED_SECONDS = 2.0

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Account:
    """The system account a child runs as, where that is not our own."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Program:
    """How to start one child, and how to stop it.

    `stop` is the escalation: (signal, seconds to wait), then SIGKILL for the whole process group.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    log: Path
    stop: tuple[tuple[int, float], ...] = ((signal.SIGTERM, 10.0),)
    orphan_signal: int = signal.SIGTERM
    nice: int = 0
    account: Account | None = None


@dataclass(frozen=True)
class Record:
    """What is written down about a started process, enough to recognise it after a crash.

    `started` is in seconds: since the machine's start on Linux, else since 1970.
    """

    name: str
    pid: int
    started: float
    command: tuple[str, ...]
    stop: tuple[tuple[int, float], ...] = field(default=((signal.SIGTERM, 10.0),))

    @classmethod
    def of(cls, pid: int, name: str, stop: tuple[tuple[int, float], ...] = ()) -> Record:
        """The record of a running process. Raises psutil.NoSuchProcess when it is gone."""
        process = psutil.Process(pid)
        return cls(name, pid, _started(process), tuple(process.cmdline()), stop)

    @classmethod
    def load(cls, content: Any) -> Record | None:
        """The record from its JSON form; None when it is not one."""
        try:
            return cls(
                str(content["name"]),
                int(content["pid"]),
                float(content["started"]),
                tuple(map(str, content["command"])),
                tuple((int(number), float(seconds)) for number, seconds in content["stop"]),
            )
        except (KeyError, TypeError, ValueError):
            return None

    def find(self) -> psutil.Process | None:
        """The living process with this pid, start time and command line; None for any other."""
        try:
            process = psutil.Process(self.pid)
            same_start = abs(_started(process) - self.started) <= START_TOLERANCE_SECONDS
            if (
                same_start
                and process.status() != psutil.STATUS_ZOMBIE
                and process.cmdline() == [*self.command]
            ):
                return process
        except psutil.Error:
            return None
        return None


class Child:
    """A running program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        with program.log.open("ab") as log:
            self.process = subprocess.Popen(
                program.argv,
                env=dict(program.env),
                cwd=program.cwd,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=before_exec(
                    program.orphan_signal,
                    *(number for number, _seconds in program.stop),
                    nice=program.nice,
                ),
                **_as_account(program.account),
            )
        self.started = time.monotonic()
        self.record = self._record()

    def _record(self) -> Record:
        try:
            return Record.of(self.process.pid, self.program.name, self.program.stop)
        except psutil.Error:
            return Record(
                self.program.name, self.process.pid, time.time(), self.program.argv, self.program.stop
            )

    def exit_code(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self.process.poll()

    def stop(self, hurried: Callable[[], bool] = lambda: False) -> None:
        """Ask it to end, ever more firmly; the last request comes at once when `hurried`."""
        for position, (number, seconds) in enumerate(self.program.stop, start=1):
            last = position == len(self.program.stop)
            if hurried() and not last:
                continue
            if self.exit_code() is None:
                self.process.send_signal(number)
                self._wait(seconds, hurried)
        self.kill_group()

    def _wait(self, seconds: float, hurried: Callable[[], bool]) -> None:
        start = time.monotonic()
        while time.monotonic() - start < (min(seconds, HURRIED_SECONDS) if hurried() else seconds):
            try:
                self.process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue
            return

    def kill_group(self) -> None:
        """SIGKILL to the child, if it still runs, and to whatever it left in its process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def stop_leftover(record: Record) -> bool:
    """Stop a child that outlived its supervisor, with its group. True when anything was found."""
    found = record.find()
    if found is not None:
        with suppress(psutil.NoSuchProcess):
            found.send_signal(signal.SIGCONT)  # a suspended process takes no other signal
        for number, seconds in record.stop:
            with suppress(psutil.NoSuchProcess):
                found.send_signal(number)
            _, alive = psutil.wait_procs([found], timeout=seconds)
            if not alive:
                break
    members = _group_members(record)
    for member in members:
        with suppress(psutil.NoSuchProcess):
            member.kill()
    psutil.wait_procs(members, timeout=5)
    return found is not None or bool(members)


def _started(process: psutil.Process) -> float:
    """When a process started, by a clock that no correction of the time of day moves, where there is one."""
    if sys.platform != "linux":
        return process.create_time()
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise psutil.NoSuchProcess(process.pid) from error
    # proc(5): field 22, in ticks; the second field is the name in parentheses and may hold anything.
    return int(fields.rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


def _group_members(record: Record) -> list[psutil.Process]:
    members = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError, PermissionError):
            in_group = os.getpgid(process.pid) == record.pid and os.getsid(process.pid) == record.pid
            if in_group and _started(process) >= record.started - START_TOLERANCE_SECONDS:
                members.append(process)
    return members


def describe_exit(code: int) -> str:
    """An exit status in words."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def before_exec(orphan_signal: int, *stop_signals: int, nice: int = 0) -> Callable[[], None]:
    """What a new process does before its program starts: signals that stop it mean again what they mean by default, and
    on Linux the kernel sends it `orphan_signal` when we die. It steps back from others on the machine by `nice`.

    A shell ignores SIGINT and SIGQUIT for what it starts in the background, and an ignored signal is inherited: without
    this, ``make run &`` has children that do not obey. SIGHUP keeps the meaning that ``nohup`` gave it.
    """
    parent = os.getpid()
    numbers = {*TERMINAL_SIGNALS, orphan_signal, *stop_signals} - {signal.SIGKILL}

    def prepare() -> None:
        obey(numbers)
        os.nice(nice)
        if _libc is None:
            return
        # After the account change, which would clear it (prctl(2)).
        _libc.prctl(PR_SET_PDEATHSIG, orphan_signal, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def obey(numbers: Iterable[int] = TERMINAL_SIGNALS) -> None:
    """Give these signals back their default meaning in this process, and let through those that are blocked."""
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


def _as_account(account: Account | None) -> dict[str, Any]:
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
