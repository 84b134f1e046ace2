"""Children are stopped ever more firmly, recognised only when they really are the same, and restarted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.workbench.stack.conftest import eventually
from workbench.stack import gate
from workbench.stack.errors import StackError, StopRequested
from workbench.stack.home import Home
from workbench.stack.processes import Child, Program, Record, describe_exit, stop_leftover
from workbench.stack.project import Project
from workbench.stack.signals import Signals
from workbench.stack.state import Mode
from workbench.stack.supervisor import Supervisor

IDLE = "import signal; print('up', flush=True); signal.pause()"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {IDLE}; signal.pause()"
PARENT = (
    "import subprocess, sys, signal; "
    "subprocess.Popen([sys.executable, '-S', '-c', 'import signal; print(\"up\", flush=True); signal.pause()']); "
    "signal.pause()"
)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(
        name="idle",
        argv=(sys.executable, "-S", "-c", IDLE),
        env={},
        cwd=tmp_path,
        log=tmp_path / "idle.log",
        stop=((signal.SIGTERM, 5.0),),
    )


def started(program: Program, code: str) -> Child:
    child = Child(replace(program, argv=(sys.executable, "-S", "-c", code)))
    eventually(lambda: "up" in program.log.read_text())
    return child


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    home = Home(tmp_path / "home")
    home.create()
    signals = Signals()
    with (
        signals.installed(),
        suppress(StopRequested),
        Supervisor(home=home, mode=Mode.SERVE, state_file=home.stack_state, signals=signals) as supervisor,
    ):
        yield supervisor


def test_a_child_is_stopped_by_the_first_signal_that_it_obeys(program: Program) -> None:
    child = started(program, IDLE)
    child.stop()
    assert child.exit_code() == -signal.SIGTERM


def test_a_deaf_child_is_killed(program: Program) -> None:
    child = started(replace(program, stop=((signal.SIGTERM, 0.2),)), DEAF)
    child.stop()
    assert child.exit_code() == -signal.SIGKILL


def test_in_a_hurry_only_the_last_signal_is_sent(program: Program) -> None:
    child = started(replace(program, stop=((signal.SIGTERM, 60.0), (signal.SIGINT, 60.0))), DEAF)
    child.stop(hurried=lambda: True)
    assert child.exit_code() in {-signal.SIGINT, 1}, "KeyboardInterrupt, at once"


def _is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_grandchildren_do_not_outlive_a_child(program: Program) -> None:
    child = started(program, PARENT)
    grandchild = psutil.Process(child.process.pid).children()[0]
    child.stop()
    assert eventually(lambda: _is_gone(grandchild))


def test_a_record_finds_only_the_very_process(program: Program) -> None:
    child = started(program, IDLE)
    try:
        record = child.record
        assert record.find().pid == child.process.pid
        assert replace(record, started=record.started - 60).find() is None, "the number was used again"
        assert replace(record, command=("other",)).find() is None
        assert replace(record, pid=os.getpid()).find() is None
    finally:
        child.stop()
    assert child.record.find() is None


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the start is only known by the time of day")
def test_a_record_holds_when_the_clock_jumps(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    child = started(program, IDLE)
    try:
        monkeypatch.setattr(psutil._pslinux, "BOOT_TIME", 1.0, raising=False)
        monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: 1.0)
        assert child.record.find() is not None
    finally:
        child.stop()


def test_a_state_that_cannot_be_written_ends_nothing(supervisor: Supervisor, program: Program) -> None:
    child = supervisor.start(program)
    supervisor._state_file = supervisor.home.root / "no such folder" / "state.json"
    supervisor.note(address="x")
    assert child.exit_code() is None


def test_a_leftover_is_stopped_with_its_group_and_strangers_are_not(program: Program) -> None:
    child = started(program, PARENT)
    grandchild = psutil.Process(child.process.pid).children()[0]
    stranger = subprocess.Popen((sys.executable, "-S", "-c", "import signal; signal.pause()"))
    try:
        assert not stop_leftover(Record("x", stranger.pid, 0.0, ("other",)))
        assert stranger.poll() is None
        assert stop_leftover(child.record)
        assert eventually(lambda: _is_gone(grandchild))
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
        child.kill_group()
    assert not stop_leftover(child.record)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's own")
def test_the_kernel_ends_a_child_whose_supervisor_was_killed(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from workbench.stack.processes import *; "
        f"p = Path({str(tmp_path)!r}); "
        "c = Child(Program('x', (sys.executable, '-S', '-c', 'import signal; signal.pause()'), {}, p, p / 'log')); "
        "print(c.process.pid, flush=True); c.process.wait()"
    )
    parent = subprocess.Popen((sys.executable, "-c", code), stdout=subprocess.PIPE, text=True)
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert eventually(lambda: _is_gone(child))


@contextmanager
def in_the_background() -> Iterator[None]:
    """What a shell does to ``make run &`` in a script: the signals are ignored, and children inherit that."""
    numbers = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])
def test_a_child_obeys_every_signal_that_a_script_had_ignored(program: Program, number: int) -> None:
    with in_the_background():
        child = started(replace(program, stop=((number, 60.0),)), IDLE)
    child.stop()
    assert child.exit_code() in {-number, 1}, "1 after a KeyboardInterrupt"


def test_a_child_obeys_its_supervisors_death_though_a_script_had_the_signal_ignored(program: Program) -> None:
    with in_the_background():
        child = started(replace(program, orphan_signal=signal.SIGQUIT), IDLE)
    os.kill(child.process.pid, signal.SIGQUIT)
    child.process.wait(timeout=240)
    assert child.exit_code() == -signal.SIGQUIT


def test_a_signal_that_stops_a_child_may_be_any(program: Program) -> None:
    with in_the_background():
        child = started(replace(program, stop=((signal.SIGHUP, 60.0),)), IDLE)
    child.stop()
    assert child.exit_code() == -signal.SIGHUP


TELLS = (
    "import signal; print(*(n.name for n in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)"
    " if signal.getsignal(n) == signal.SIG_IGN))"
)


def test_what_runs_in_the_foreground_and_in_the_gate_obeys_too(
    supervisor: Supervisor, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = (sys.executable, "-S", "-c", TELLS)
    monkeypatch.setattr(gate, "static_steps", lambda _root: [gate.Step("apart", argv)])
    monkeypatch.setattr(gate, "unit_step", lambda **_: gate.Step("unit tests", argv))
    with in_the_background():
        assert supervisor.run_in_foreground(argv, {}, cwd=tmp_path) == 0
        assert capfd.readouterr().out.split() == ["SIGHUP"], "nohup holds, the others are obeyed"
        gate.check(Project(root=tmp_path))
        assert {line for line in capfd.readouterr().out.splitlines() if line.startswith("SIG")} == {"SIGHUP"}
        with gate.beside(gate.Step("beside", argv), {}, cwd=tmp_path) as ended:
            assert ended(lambda _seconds: None).output.split() == ["SIGHUP"]


def test_a_hang_up_that_nohup_ignores_stops_nothing() -> None:
    signals = Signals()
    with in_the_background(), signals.installed():
        os.kill(os.getpid(), signal.SIGHUP)
        signals.check()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(StopRequested):
            signals.check()


def test_an_exit_is_told_in_words() -> None:
    assert describe_exit(3) == "exit status 3"
    assert describe_exit(-9) == "signal SIGKILL"


def test_restarts_come_ever_later(
    supervisor: Supervisor, program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    supervisor.start(replace(program, argv=(sys.executable, "-S", "-c", "raise SystemExit(3)")))
    told: list[str] = []

    def was_restarted_twice() -> bool:
        told.append(capsys.readouterr().err)
        return "starting it again in 2 s" in "".join(told)

    supervisor.watch(was_restarted_twice)
    assert "idle ended (exit status 3); starting it again in 1 s" in "".join(told)


def test_a_child_that_ends_before_it_is_ready_is_told_with_its_last_words(
    supervisor: Supervisor, program: Program
) -> None:
    child = supervisor.start(
        replace(program, argv=(sys.executable, "-S", "-c", "print('my last words'); raise SystemExit(4)"))
    )
    with pytest.raises(StackError, match=r"(?s)idle did not start \(exit status 4\).*my last words"):
        supervisor.await_ready(child, lambda: False, seconds=240)


def test_a_child_that_is_never_ready_is_told(supervisor: Supervisor, program: Program) -> None:
    with pytest.raises(StackError, match="was not ready after 0 s"):
        supervisor.await_ready(supervisor.start(program), lambda: False, seconds=0)


def test_a_failing_command_is_told_with_its_last_words(supervisor: Supervisor, program: Program) -> None:
    with pytest.raises(StackError, match=r"(?s)idle failed.*no such thing"):
        supervisor.run_to_end(
            replace(program, argv=(sys.executable, "-S", "-c", "raise SystemExit('no such thing')"))
        )


def test_a_signal_interrupts_waiting_and_the_children_end(tmp_path: Path, program: Program) -> None:
    home = Home(tmp_path / "home")
    home.create()
    signals = Signals()
    with signals.installed():
        with Supervisor(
            home=home, mode=Mode.SERVE, state_file=home.stack_state, signals=signals
        ) as supervisor:
            child = supervisor.start(program)
            os.kill(os.getpid(), signal.SIGTERM)
            with pytest.raises(StopRequested):
                supervisor.watch()
        assert child.exit_code() is not None
        assert not signals.hurried()
        os.kill(os.getpid(), signal.SIGINT)
        assert signals.hurried()
    assert not home.stack_state.exists()


def test_a_foreground_commands_status_is_passed_on(supervisor: Supervisor, tmp_path: Path) -> None:
    def status(code: str) -> int:
        return supervisor.run_in_foreground((sys.executable, "-S", "-c", code), {}, cwd=tmp_path)

    assert status("raise SystemExit(9)") == 9
    assert status("import os; os.kill(os.getpid(), 15)") == 143
