"""Real stacks in homes of their own, and the means to watch them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

import psutil
import pytest

from tests.ports import own_port
from tests.workbench.stack.standin import PACKAGE
from workbench.stack import client
from workbench.stack.home import Home
from workbench.stack.project import ROOT
from workbench.stack.state import State

#: For what comes sooner or later: waiting costs nothing when it comes, and machines are slow at times.
PATIENCE_SECONDS = 240.0
#: What an outer stack (make test) or a developer's shell may have set.
FOREIGN = (
    *(
        "DATABASE_URL",
        "BROKER_URL",
        "TEST_DATABASE_URL",
        "DATABASE_OWNER_URL",
        "DJANGO_SETTINGS_MODULE",
        "HOST",
    ),
    *("SECRET_KEY", "WORKBENCH_MEDIA_ROOT"),
)

Seen = TypeVar("Seen")


def eventually(look: Callable[[], Seen], *, seconds: float = PATIENCE_SECONDS, pause: float = 0.05) -> Seen:
    """What `look` returns once that is true; fails the test when it never is."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < deadline, f"not seen within {seconds} s: {look}"
        threading.Event().wait(pause)
    return seen


class Started:
    """A process of the stack under test, its output collected while it runs."""

    def __init__(self, argv: tuple[str, ...], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            argv,
            env=environment,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._lines: dict[str, list[str]] = {"out": [], "err": []}
        self._readers = [
            threading.Thread(target=self._collect, args=(pipe, name), daemon=True)
            for pipe, name in ((self.process.stdout, "out"), (self.process.stderr, "err"))
        ]
        for reader in self._readers:
            reader.start()

    def _collect(self, pipe: IO[str], name: str) -> None:
        for line in pipe:
            self._lines[name].append(line)

    @property
    def out(self) -> str:
        return "".join(self._lines["out"])

    @property
    def err(self) -> str:
        return "".join(self._lines["err"])

    def says(self, text: str) -> None:
        """Wait until the text appears on either stream; fails when the process ends without it."""

        def look() -> bool:
            ended = self.process.poll() is not None
            if ended:
                for reader in self._readers:
                    reader.join(timeout=60)
            found = text in self.out + self.err
            assert found or not ended, f"ended without saying {text!r}:\n{self.out}\n{self.err}"
            return found

        eventually(look)

    def signal(self, number: int = signal.SIGINT) -> Started:
        self.process.send_signal(number)
        return self

    def end(self) -> int:
        """Wait for its end; the exit status."""
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        code = self.process.wait(timeout=PATIENCE_SECONDS)
        for reader in self._readers:
            reader.join(timeout=60)
        return code


class Bench:
    """One home, and what is started in it."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        self.port = own_port()
        self._started: list[Started] = []

    def environment(self, **extra: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        return {**kept, "WORKBENCH_HOME": str(self.home.root), "PORT": str(self.port), **extra}

    def stack(self, *arguments: str, **extra: str) -> Started:
        """``python -m workbench.stack ARGUMENTS`` for the stand-in."""
        return self._start((sys.executable, "-m", PACKAGE, *arguments), extra)

    def manage(self, *arguments: str, **extra: str) -> Started:
        """A command of the stand-in."""
        return self._start((sys.executable, "-m", f"{PACKAGE}.manage", *arguments), extra)

    def _start(self, argv: tuple[str, ...], extra: dict[str, str]) -> Started:
        started = Started(argv, self.environment(**extra))
        self._started.append(started)
        return started

    def run(self, **extra: str) -> Started:
        """``make run``, up to the printed address."""
        started = self.stack("run", **extra)
        started.says("is running at")
        return started

    def state(self) -> State | None:
        return client.running(self.home)

    def child(self, name: str) -> psutil.Process:
        """The running child of the stack in this home, once there is one."""

        def look() -> psutil.Process | None:
            found = self.state()
            records = [record for record in found.children if record.name == name] if found else []
            return records[0].find() if records else None

        return eventually(look)

    def processes(self) -> list[str]:
        """Every living process of this home, by its command line."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                command = " ".join(process.cmdline())
                ours = str(self.home.root) in command or process.environ().get("WORKBENCH_HOME") == str(
                    self.home.root
                )
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(command)
        return found

    def empties(self) -> bool:
        """Wait until no process of this home is left; programs that were starting when they were told to end take
        their time on a busy machine."""
        try:
            return eventually(lambda: not self.processes(), pause=0.25)
        except AssertionError as error:
            raise AssertionError("still there:\n" + "\n".join(self.processes())) from error

    def close(self) -> None:
        for started in self._started:
            if started.process.poll() is None:
                started.process.kill()
            started.end()
        found = self.state()
        supervisor = found.supervisor.find() if found else None
        if supervisor is not None:
            supervisor.terminate()
        self.empties()


@pytest.fixture
def bench() -> Iterator[Bench]:
    # Not tmp_path: pytest makes its folders private again, and as root PostgreSQL runs as another account.
    with tempfile.TemporaryDirectory(prefix="stack-test-") as folder:
        bench = Bench(Path(folder).resolve())
        try:
            yield bench
        finally:
            bench.close()
