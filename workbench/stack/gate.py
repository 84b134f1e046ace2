"""``python -m workbench.stack.gate check|test|test-all``: everything that must hold before a change lands.

`check` needs no services, and leaves out tests that read whole files of strangers, start programs or train networks.
`test` runs these too, then services of its own on free ports, and against them Django's deployment and migration
checks, the tests, and beside these the browser tests as a run of their own. `test-all` adds the tests marked `long`
and `faults`, each at full size. Every step runs, so that one look shows all that is wrong; any failure fails the
whole. `test ROOM` runs the tests of one app or folder, and nothing else.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from threading import Thread
from typing import Any

from . import bringup, bytecode
from .console import say
from .errors import StackError, StopRequested
from .processes import before_exec, obey
from .project import Project
from .signals import Signals
from .supervisor import TICK_SECONDS

UNIT_TESTS = (
    # The longest of them is here: it comes first, and the others fill the other core.
    "tests/package",
    "tests/arbitration",
    "tests/training",
    "tests/workbench/stack",
    "tests/test_contributing.py",
    "tests/test_docs.py",
    "tests/test_house.py",
    "tests/test_readers.py",
    "tests/test_repository.py",
    "tests/test_secrets.py",
)
#: Of these, what reads whole files of strangers, starts programs or trains networks: half the time. `test` runs them.
SLOW_UNIT_TESTS = (
    "tests/arbitration/parsing",
    "tests/arbitration/adapters/test_frameworks.py",
    "tests/arbitration/adapters/test_telemetry.py",
    "tests/arbitration/precedence/test_pairs.py",
    "tests/arbitration/test_library_docs.py",
    "tests/package",
    "tests/test_readers.py",
    "tests/training/test_bars.py",
    "tests/training/test_crossfit.py",
    "tests/training/test_gate.py",
    "tests/training/test_report.py",
    "tests/training/test_trainer.py",
    "tests/workbench/stack/test_containers.py",
)
#: The tests that start the product wait most of the time: they come first, and the others fill the other core.
SERVICE_TESTS = ("tests/integration", "tests/faults", "tests/workbench")
#: Named one by one where they stand among others: collecting thousands of tests to run twenty takes long.
BROWSER_TESTS = ("tests/e2e", "tests/workbench/test_templates_browser.py")
#: One more than the cores of a small machine: tests wait for programs, workers and the database.
PROCESSES = "3"
#: Marks of the long tail, which only `test-all` runs; each such test has a shorter one beside it.
LONG_TAIL = ("long", "faults")
#: The full size of tests that are smaller in the ordinary run.
FULL_SIZE = {"WORKBENCH_FUZZ": "full", "WORKBENCH_HOSTILE": "all", "WORKBENCH_FULL_JOURNEYS": "1"}
#: The shell draws pages and no window: a fifth less work.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
#: Variables of a developer's shell that must not change what is tested.
PERSONAL = (
    *(
        "DATABASE_URL",
        "BROKER_URL",
        "TEST_DATABASE_URL",
        "DJANGO_SETTINGS_MODULE",
        "WORKBENCH_HOME",
        "VIRTUAL_ENV",
    ),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "SECRET_KEY", "ALLOWED_HOSTS", "PORT", "HOST"),
)


@dataclass(frozen=True)
class Step:
    """One command of the gate."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a step ended: exit status and seconds."""

    name: str
    code: int
    seconds: float


@dataclass(frozen=True)
class Ended:
    """What a step that ran beside others left: exit status, seconds, its words."""

    code: int
    seconds: float
    output: str


Runner = Callable[[Step], int]


def static_steps(root: Path) -> list[Step]:
    """Lint, format, types, import contracts, templates."""
    tools = Path(sys.executable).parent
    steps = [
        Step("lint", (f"{tools}/ruff", "check", "--no-cache", ".")),
        Step("format", (f"{tools}/ruff", "format", "--no-cache", "--check", ".")),
        Step("types", (f"{tools}/mypy",)),
        Step("import contracts", (f"{tools}/lint-imports", "--no-cache")),
    ]
    templates = sorted(str(path.relative_to(root)) for path in (root / "templates").rglob("*.html"))
    if templates:
        steps.append(Step("templates", (f"{tools}/djade", "--check", "--target-version", "5.2", *templates)))
    return steps


def unit_step(*, everything: bool = False, quick: bool = False) -> Step:
    """Tests that need no service; the quick ones alone for `check`."""
    wanted = ("not integration", "not e2e", *(("not data",) if quick else ()))
    marks = _marks(*wanted, everything=everything)
    left_out = (f"--ignore={path}" for path in SLOW_UNIT_TESTS if quick)
    return Step(
        "unit tests", _pytest("-n", PROCESSES, "-m", marks, *left_out, *UNIT_TESTS), _size(everything)
    )


def service_steps(*, everything: bool = False) -> list[Step]:
    """What needs PostgreSQL and Valkey."""
    production = {
        "DJANGO_SETTINGS_MODULE": "workbench.settings.production",
        "ALLOWED_HOSTS": "workbench.example",
    }
    manage = (sys.executable, "manage.py")
    return [
        Step("deployment check", (*manage, "check", "--deploy", "--fail-level", "WARNING"), production),
        Step("missing migrations", (*manage, "makemigrations", "--check", "--dry-run")),
        service_tests(SERVICE_TESTS, everything=everything),
        browser_tests(BROWSER_TESTS, everything=everything),
    ]


def service_tests(paths: Sequence[str], *, everything: bool = False, bare: bool = False) -> Step:
    """Tests of these paths that need no browser; those that need no service either only where `bare` says so."""
    # A file stays in one process, and all that share a running product in one (tests/conftest.py).
    together = ("-n", PROCESSES, "--dist", "loadfile", "--no-loadscope-reorder")
    marks = _marks("not e2e", *(() if bare else ("not bare",)), everything=everything)
    return Step("tests with services", _pytest(*together, "-m", marks, *paths), _size(everything))


def browser_tests(paths: Sequence[str], *, everything: bool = False) -> Step:
    """Tests of these paths that drive a browser."""
    # Playwright's sync API runs a loop of its own in this thread, which Django takes for async code.
    environment = {"DJANGO_ALLOW_ASYNC_UNSAFE": "1", **_size(everything)}
    return Step("browser tests", _pytest("-m", _marks("e2e", everything=everything), *paths), environment)


def _marks(*wanted: str, everything: bool) -> str:
    """The expression for pytest's ``-m``; the long tail is left out unless everything is wanted."""
    return " and ".join((*wanted, *(() if everything else (f"not {name}" for name in LONG_TAIL))))


def _size(everything: bool) -> Mapping[str, str]:
    return FULL_SIZE if everything else {}


def run_steps(steps: Sequence[Step], run: Runner) -> list[Outcome]:
    """Run every step, announcing each, whatever the others did."""
    outcomes = []
    for step in steps:
        print(f"\n=== {step.name}", flush=True)
        start = time.monotonic()
        outcomes.append(_concluded(Outcome(step.name, run(step), time.monotonic() - start)))
    return outcomes


def tell(step: Step, ended: Ended) -> Outcome:
    """Print what a step said that ran beside others."""
    print(f"\n=== {step.name}\n{ended.output}", end="", flush=True)
    return _concluded(Outcome(step.name, ended.code, ended.seconds))


def _concluded(outcome: Outcome) -> Outcome:
    how = "ok" if outcome.code == 0 else f"FAILED ({outcome.code})"
    print(f"=== {outcome.name}: {how} in {outcome.seconds:.1f} s", flush=True)
    return outcome


def summarise(outcomes: Sequence[Outcome]) -> int:
    """Print every step with its time; 0 when all went well, else 1."""
    print("\nsteps:")
    for outcome in outcomes:
        print(f"  {'ok    ' if outcome.code == 0 else 'FAILED'} {outcome.seconds:7.1f} s  {outcome.name}")
    failed = [outcome.name for outcome in outcomes if outcome.code != 0]
    print(f"failed: {', '.join(failed)}" if failed else "everything holds", flush=True)
    return 1 if failed else 0


def check(project: Project, *, everything: bool = False, quick: bool = False) -> list[Outcome]:
    """The steps without services: the static ones beside the tests, and told of after them."""
    environment = bytecode.kept(clean_environment(), project.root)

    def run(step: Step, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            step.argv,
            check=False,
            cwd=project.root,
            env={**environment, **step.environment},
            text=True,
            preexec_fn=obey,
            **options,
        )

    def run_apart(step: Step) -> Ended:
        start = time.monotonic()
        done = run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return Ended(done.returncode, time.monotonic() - start, done.stdout)

    steps = static_steps(project.root)
    apart = ThreadPoolExecutor(1)
    try:
        ended = list(map(apart.submit, repeat(run_apart), steps))
        tested = run_steps([unit_step(everything=everything, quick=quick)], lambda step: run(step).returncode)
        outcomes = [tell(step, future.result()) for step, future in zip(steps, ended, strict=True)]
    finally:
        apart.shutdown(cancel_futures=True)
    return [*outcomes, *tested]


def test(project: Project, *, everything: bool) -> list[Outcome]:
    """The steps with services of their own."""
    ensure_browser()
    *steps, browsing = service_steps(everything=everything)
    # A browser waits for pages, and tests with services for workers: together they leave no core idle.
    with (
        services_of_their_own(project) as (run, environment, signals),
        beside(browsing, environment, cwd=project.root) as ended,
    ):
        outcomes = run_steps(steps, run)
        say(f"waiting for the {browsing.name}")
        return [*outcomes, tell(browsing, ended(signals.wait))]


def room(project: Project, name: str) -> list[Outcome]:
    """The tests of one app, or of one folder of tests."""
    paths = room_paths(project.root, name)
    drives_a_browser = any(path.startswith(BROWSER_TESTS) for path in paths)
    step = browser_tests(paths) if drives_a_browser else service_tests(paths, bare=True)
    if drives_a_browser:
        ensure_browser()
    with services_of_their_own(project) as (run, _environment, _signals):
        return run_steps([step], run)


def room_paths(root: Path, name: str) -> list[str]:
    """Where the tests of an app, or of a package of ours, lie. Raises StackError for a room without tests."""
    places = {
        path.name: path
        for above in ("tests", "tests/workbench")
        for path in (root / above).iterdir()
        if path.is_dir() and any(path.rglob("test_*.py"))
    }
    if name not in places:
        raise StackError(f"no tests of {name!r}; there are: {', '.join(sorted(places))}")
    return [str(places[name].relative_to(root))]


@contextmanager
def services_of_their_own(project: Project) -> Iterator[tuple[Runner, Mapping[str, str], Signals]]:
    """How to run a step against services that end with the block, their variables, and the signals meanwhile."""
    for name in PERSONAL:
        os.environ.pop(name, None)
    with (
        tempfile.TemporaryDirectory(prefix="workbench-prepared-", ignore_cleanup_errors=True) as prepared,
        Signals().installed() as signals,
        bringup.temporary(signals) as (supervisor, services),
    ):
        environment = {**services.test_environment(project), "WORKBENCH_PREPARED_HOME": prepared}

        def run(step: Step) -> int:
            return supervisor.run_in_foreground(
                step.argv, {**environment, **step.environment}, cwd=project.root
            )

        yield run, environment, signals


@contextmanager
def beside(
    step: Step, environment: Mapping[str, str], *, cwd: Path
) -> Iterator[Callable[[Callable[[float], object]], Ended]]:
    """The step runs while the block does. What the block gets waits for its end, by pauses of the given function."""
    with tempfile.TemporaryFile() as said:
        start = time.monotonic()
        process = subprocess.Popen(
            step.argv,
            env={**environment, **step.environment},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            preexec_fn=before_exec(signal.SIGTERM),
        )
        ends: list[float] = []

        def await_end() -> None:
            process.wait()
            ends.append(time.monotonic())

        clock = Thread(target=await_end, daemon=True)
        clock.start()

        def ended(pause: Callable[[float], object]) -> Ended:
            while process.poll() is None:
                pause(TICK_SECONDS)
            clock.join()
            said.seek(0)
            return Ended(process.returncode, ends[0] - start, said.read().decode(errors="replace"))

        try:
            yield ended
        finally:
            if process.poll() is None:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=10)
                process.kill()
                process.wait()


def clean_environment() -> dict[str, str]:
    """The caller's variables without those that would change what is tested."""
    return {name: value for name, value in os.environ.items() if name not in PERSONAL}


def ensure_browser() -> None:
    """Chromium for the browser tests: the system's, installed where that is possible without asking."""
    if any(map(shutil.which, BROWSERS)):
        return
    prefix: tuple[str, ...] = () if os.geteuid() == 0 else ("sudo", "-n")
    say("installing Chromium for the browser tests")
    commands = (("update",), ("install", "-y", "--no-install-recommends", "chromium-headless-shell"))
    try:
        for words in commands:
            subprocess.run(
                (*prefix, "apt-get", *words),
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            )
    except (OSError, subprocess.CalledProcessError) as error:
        raise StackError(
            "the browser tests need Chromium, and it could not be installed here. "
            "Install it and start again, on Debian: apt-get install chromium-headless-shell"
        ) from error


def main(argv: Sequence[str], project: Project | None = None) -> int:
    """Run what is asked for; 1 when anything failed, 2 for wrong use."""
    what, *rooms = argv or [""]
    if what not in {"check", "test", "test-all"} or len(rooms) > (what == "test"):
        print("usage: python -m workbench.stack.gate check|test|test-all, or: test ROOM", file=sys.stderr)
        return 2
    project = project or Project()
    try:
        if rooms:
            return summarise(room(project, rooms[0]))
        everything = what == "test-all"
        outcomes = check(project, everything=everything, quick=what == "check")
        if what != "check":
            outcomes += test(project, everything=everything)
    except StackError as error:
        say(str(error))
        return 1
    except (StopRequested, KeyboardInterrupt):
        say("stopped before the end")
        return 130
    return summarise(outcomes)


def _pytest(*arguments: str) -> tuple[str, ...]:
    # Its status 5, no test found, is a failure like any other.
    return (sys.executable, "-m", "pytest", "-q", *arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
