"""One supervisor: starts children, restarts those that die, stops all of them in order."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from . import state
from .console import say, tail
from .errors import StackError, StopRequested
from .home import Home
from .processes import Child, Program, Record, before_exec, describe_exit, stop_leftover
from .signals import Signals
from .state import Mode, Phase, State

#: The services go last, and PostgreSQL after everything that writes to it.
STOP_ORDER = ("web", "beat", "questions", "worker", "valkey", "postgres")
#: A child that ran this long has recovered: its next failure counts as the first.
STABLE_SECONDS = 60.0
BACK_OFF_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
TICK_SECONDS = 0.5


@dataclass
class Keeping:
    """A child to be kept running: it, or when to start it again."""

    program: Program
    child: Child | None
    failures: int = 0
    start_again: float = 0.0


class Supervisor:
    """Use as a context manager: whatever happens inside, no child outlives the block."""

    def __init__(self, *, home: Home, mode: Mode, state_file: Path, signals: Signals) -> None:
        self.home = home
        self.signals = signals
        self.state = State(Record.of(os.getpid(), "supervisor"), mode)
        self._state_file = state_file
        self._kept: dict[str, Keeping] = {}
        self._passing: list[Child] = []

    def __enter__(self) -> Supervisor:
        self.clean_up_after(self._state_file)
        self.home.rotate_logs()
        self._write()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failed = isinstance(error, StackError)
        if not failed:
            self.note(phase=Phase.STOPPING)
        self.stop_all()
        if failed:
            self.note(phase=Phase.FAILED, error=str(error))
        else:
            self._state_file.unlink(missing_ok=True)

    def clean_up_after(self, state_file: Path) -> None:
        """Stop what a killed supervisor left running. Call with that supervisor's lock held."""
        last = state.read(state_file)
        if last is None or last.phase is Phase.FAILED:
            return
        say(f"the last stack (pid {last.supervisor.pid}) was not stopped cleanly; looking for what it left")
        order = {name: position for position, name in enumerate(STOP_ORDER)}
        for record in sorted(last.children, key=lambda record: order.get(record.name, -1)):
            if stop_leftover(record):
                say(f"stopped a leftover {record.name} (pid {record.pid})")
        state_file.unlink(missing_ok=True)

    def note(self, **changes: object) -> None:
        """Change fields of the written state."""
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]
        self._write()

    def start(self, program: Program) -> Child:
        """Start a child and keep it running."""
        child = self._launch(program)
        self._kept[program.name] = Keeping(program, child)
        return child

    def start_later(self, program: Program, *, seconds: float) -> None:
        """Have `watch` start a child after some time, and keep it running."""
        self._kept[program.name] = Keeping(program, None, start_again=time.monotonic() + seconds)

    def discard(self, name: str) -> None:
        """Stop a child and forget it."""
        keeping = self._kept.pop(name, None)
        if keeping is not None and keeping.child is not None:
            keeping.child.stop(self.signals.hurried)
        self.state = self.state.without_child(name)
        self._write()

    def await_ready(self, child: Child, ready: Callable[[], bool], *, seconds: float) -> None:
        """Wait for a starting child. Raises StackError with its last log lines when it fails or takes too long."""
        program = child.program
        deadline = time.monotonic() + seconds
        while not ready():
            code = child.exit_code()
            if code is not None:
                raise StackError(
                    f"{program.name} did not start ({describe_exit(code)}); the end of {program.log}:\n"
                    f"{tail(program.log)}"
                )
            if time.monotonic() > deadline:
                raise StackError(
                    f"{program.name} was not ready after {seconds:.0f} s; the end of {program.log}:\n"
                    f"{tail(program.log)}"
                )
            self.signals.wait(0.05)

    def run_to_end(self, program: Program) -> None:
        """Run a command. Raises StackError with its last log lines when it fails."""
        child = self._launch(program)
        self._passing.append(child)
        while (code := child.exit_code()) is None:
            self.signals.wait(0.2)
            self._keep_running()
        self._passing.remove(child)
        self.state = self.state.without_child(program.name)
        self._write()
        if code != 0:
            raise StackError(
                f"{program.name} failed ({describe_exit(code)}); the end of {program.log}:\n{tail(program.log)}"
            )

    def run_in_foreground(self, argv: Sequence[str], environment: Mapping[str, str], *, cwd: Path) -> int:
        """Run a command on this terminal and return its exit status, 128 + n for signal n.

        A request to stop goes on to the command, which gets ten seconds.
        """
        process = subprocess.Popen(
            argv, env=dict(environment), cwd=cwd, preexec_fn=before_exec(signal.SIGTERM)
        )
        try:
            while process.poll() is None:
                self.signals.wait(TICK_SECONDS)
        except StopRequested:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)
            raise
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        return process.returncode if process.returncode >= 0 else 128 - process.returncode

    def watch(self, finished: Callable[[], bool] = lambda: False) -> None:
        """Keep every child running until `finished`. Raises StopRequested on a signal."""
        while not finished():
            self._keep_running()
            self.signals.wait(TICK_SECONDS)

    def stop_all(self) -> None:
        """Stop every child in order; a second signal hurries."""
        for child in self._passing:
            child.stop(self.signals.hurried)
        self._passing.clear()
        known = [name for name in STOP_ORDER if name in self._kept]
        for name in [*(set(self._kept) - set(known)), *known]:
            kept = self._kept.pop(name).child
            if kept is not None:
                kept.stop(self.signals.hurried)

    def _keep_running(self) -> None:
        now = time.monotonic()
        for keeping in self._kept.values():
            if keeping.child is None:
                if now >= keeping.start_again:
                    keeping.child = self._launch(keeping.program)
                continue
            code = keeping.child.exit_code()
            if code is not None:
                self._on_death(keeping, code, now)

    def _on_death(self, keeping: Keeping, code: int, now: float) -> None:
        child = keeping.child
        assert child is not None
        child.kill_group()
        keeping.failures = 1 if now - child.started > STABLE_SECONDS else keeping.failures + 1
        pause = BACK_OFF_SECONDS[min(keeping.failures, len(BACK_OFF_SECONDS)) - 1]
        keeping.child, keeping.start_again = None, now + pause
        program = keeping.program
        say(
            f"{program.name} ended ({describe_exit(code)}); starting it again in {pause:.0f} s; log: {program.log}"
        )
        if code != 0 and keeping.failures in {1, 3}:
            say(f"the end of {program.log}:\n{tail(program.log, lines=8)}")

    def _launch(self, program: Program) -> Child:
        child = Child(program)
        self.state = self.state.with_child(child.record)
        self._write()
        return child

    def _write(self) -> None:
        try:
            self.state.write(self._state_file)
        except OSError as error:
            # A full disk must not end the children; what is not written only matters after a crash.
            say(f"{self._state_file} could not be written: {error.strerror}")
