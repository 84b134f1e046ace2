"""Small rules of the stack: which commands need services, which ports are free, what the gate reports."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from tests.workbench.stack.conftest import eventually
from workbench.stack import bootstrap, bytecode, client, commands, gate, locks, ports, preparation
from workbench.stack.commands import Site
from workbench.stack.errors import StackError
from workbench.stack.gate import Outcome, Step
from workbench.stack.home import Home
from workbench.stack.preparation import Login
from workbench.stack.project import ROOT, Project


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("manage.py", False),
        ("manage.py --version", False),
        ("manage.py help ask", False),
        ("manage.py ask --help", False),
        ("manage.py ask -h", False),
        ("manage.py check", False),
        ("manage.py check --database default", True),
        ("manage.py collectstatic --noinput", False),
        ("manage.py shell", True),
        ("manage.py shell -c pass -- --help", True),
        ("manage.py migrate", True),
        ("manage.py ask what?", True),
        ("manage.py a-command-of-tomorrow", True),
    ],
)
def test_a_command_gets_services_unless_it_surely_needs_none(line: str, *, needed: bool) -> None:
    assert client.needs_services(line.split()) is needed


def test_locks_exclude_and_end_with_release(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = locks.try_shared(path), locks.try_shared(path)
    assert locks.try_exclusive(path) is None
    assert locks.is_free(path), "nobody holds it alone"
    first.release()
    second.release()
    alone = locks.try_exclusive(path)
    assert alone is not None
    assert not locks.is_free(path)
    assert locks.try_shared(path) is None
    alone.release()
    alone.release()
    assert locks.is_free(path)


def test_a_lock_ends_with_a_killed_holder_and_is_not_inherited(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = (
        "import subprocess, sys; from pathlib import Path; from workbench.stack import locks; "
        f"lock = locks.try_exclusive(Path({str(path)!r})); "
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import sys; sys.stdin.read()']); "
        "print('held', flush=True); child.wait()"
    )
    holder = subprocess.Popen(
        (sys.executable, "-c", code), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    assert not locks.is_free(path)
    holder.kill()
    holder.wait()
    assert locks.is_free(path), "although the holder's child still runs"
    holder.stdin.close()
    holder.stdout.close()


def test_only_a_lasting_shared_hold_counts_as_use(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.create()
    assert not commands._is_in_use(home)
    client_lock = locks.try_shared(home.users_lock)
    assert commands._is_in_use(home)
    client_lock.release()
    stopping = locks.try_exclusive(home.users_lock)
    assert not commands._is_in_use(home), "the stack itself holds it while it stops"
    stopping.release()


def test_a_stack_is_over_only_after_nobody_used_it_for_a_while(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.create()
    now = [100.0]
    users = commands.UsersLock(home, clock=lambda: now[0])
    client_lock = locks.try_shared(home.users_lock)
    assert not users.is_over()
    client_lock.release()
    assert not users.is_over(), "a command may follow at once"
    now[0] += commands.LINGER_SECONDS
    late = locks.try_shared(home.users_lock)
    assert not users.is_over(), "one did"
    late.release()
    assert not users.is_over()
    now[0] += commands.LINGER_SECONDS
    assert users.is_over()
    assert locks.try_shared(home.users_lock) is None, "no client comes while it stops"
    users.release()


def test_ports_are_remembered_until_someone_else_takes_one(tmp_path: Path) -> None:
    home = Home(tmp_path)
    first = ports.choose_service_ports(home)
    assert first.postgres != first.valkey
    assert ports.choose_service_ports(home) == first
    with socket.create_server(("127.0.0.1", first.postgres)):
        second = ports.choose_service_ports(home)
    assert second.postgres != first.postgres
    assert second.valkey == first.valkey


def test_an_occupied_port_is_refused_with_one_that_works() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(StackError, match=rf"port {port} on 127.0.0.1 is occupied.*PORT=\d+ make run"):
            ports.require_free("127.0.0.1", port)
    ports.require_free("127.0.0.1", port)


@pytest.mark.parametrize("raw", ["0", "65536", "-1", "8000x", "", "٨٠"])
def test_a_wrong_port_is_refused(raw: str) -> None:
    with pytest.raises(StackError, match="PORT must be"):
        ports.parse_port(raw)


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "http://127.0.0.1:80/"), ("0.0.0.0", "http://127.0.0.1:80/"), ("::1", "http://[::1]:80/")],
)
def test_the_printed_address_can_be_opened(host: str, address: str) -> None:
    assert Site(host, 80).address == address


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_site_answers_to_the_name_it_is_reached_by(host: str, tmp_path: Path) -> None:
    program = Project().web(Home(tmp_path), {}, host=host, port=80)
    assert "127.0.0.1" in program.env["ALLOWED_HOSTS"].split(",")
    assert "*" not in program.env["ALLOWED_HOSTS"]
    given = Project().web(Home(tmp_path), {"ALLOWED_HOSTS": "my.example"}, host=host, port=80)
    assert given.env["ALLOWED_HOSTS"] == "my.example"


LOGINS = [{"role": "analyst", "email": "a@example.org", "password": "p"}]


@pytest.mark.parametrize(
    "output",
    [
        json.dumps(LOGINS),
        json.dumps({"logins": LOGINS, "collection": "demo"}, indent=2),
        '{"event": "a log line"}\nworkbench: [not json\n' + json.dumps(LOGINS) + "\nafterwards\n",
    ],
)
def test_the_demo_logins_are_found_in_the_output(output: str) -> None:
    assert preparation.parse_logins(output) == [Login("analyst", "a@example.org", "p")]


@pytest.mark.parametrize("output", ["", "[", "[]", "{}", '[{"role": "analyst"}]', "null"])
def test_without_logins_none_are_printed(output: str) -> None:
    assert preparation.parse_logins(output) == []


def test_the_fingerprint_follows_names_and_content(tmp_path: Path) -> None:
    one, two = tmp_path / "0001.py", tmp_path / "0002.py"
    one.write_text("a")
    before = preparation.fingerprint_of([one])
    assert preparation.fingerprint_of([one, two]) == before, "a missing file counts for nothing"
    two.write_text("a")
    assert len({before, preparation.fingerprint_of([two]), preparation.fingerprint_of([one, two])}) == 3
    one.write_text("b")
    assert preparation.fingerprint_of([one]) != before


def test_the_gate_runs_every_step_and_fails_when_one_does(capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[str] = []

    def run(step: Step) -> int:
        ran.append(step.name)
        return 5 if step.name == "b" else 0

    outcomes = gate.run_steps([Step(name, ()) for name in "abc"], run)
    assert ran == ["a", "b", "c"]
    assert gate.summarise(outcomes) == 1, "pytest's status 5, no tests, is a failure too"
    assert "failed: b" in capsys.readouterr().out
    assert gate.summarise([Outcome("a", 0, 0.0)]) == 0


def test_what_ran_beside_the_tests_is_told_and_fails_the_gate_likewise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcome = gate.tell(Step("types", ()), gate.Ended(1, 2.0, "a type is wrong\n"))
    assert outcome == Outcome("types", 1, 2.0)
    assert "a type is wrong" in capsys.readouterr().out


def test_check_runs_the_static_steps_and_the_unit_tests(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def says(text: str, code: int) -> Step:
        return Step(text, (sys.executable, "-c", f"import sys; print('says {text}'); sys.exit({code})"))

    monkeypatch.setattr(gate, "static_steps", lambda root: [says("one", 0), says("two", 3)])
    monkeypatch.setattr(gate, "unit_step", lambda **_: says("units", 0))

    outcomes = gate.check(Project())

    assert [(outcome.name, outcome.code) for outcome in outcomes] == [("one", 0), ("two", 3), ("units", 0)]
    shown = capfd.readouterr().out
    assert all(f"says {name}" in shown for name in ("one", "two", "units"))


def test_the_gate_covers_what_ci_must() -> None:
    names = [step.name for step in (*gate.static_steps(ROOT), gate.unit_step(), *gate.service_steps())]
    assert names[:4] == ["lint", "format", "types", "import contracts"]
    assert names[-4:] == ["deployment check", "missing migrations", "tests with services", "browser tests"]
    unsafe = [step.name for step in gate.service_steps() if "DJANGO_ALLOW_ASYNC_UNSAFE" in step.environment]
    assert unsafe == ["browser tests"]


def test_bytecode_is_kept_beside_the_environment_where_python_may_not_write_its_own(tmp_path: Path) -> None:
    def compiled(environment: dict[str, str]) -> list[Path]:
        source = tmp_path / "source"
        source.mkdir(exist_ok=True)
        (source / "told.py").write_text("")
        variables = {"PATH": "", "PYTHONPATH": str(source), **environment}
        subprocess.run([sys.executable, "-c", "import told"], check=True, env=variables, cwd="/")
        return sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("told*.pyc"))

    forbidden = {"PYTHONDONTWRITEBYTECODE": "1"}
    assert compiled(forbidden) == []
    (kept,) = compiled(bytecode.kept(forbidden, tmp_path))
    assert kept.parts[:2] == (".venv", "bytecode")


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PYTHONDONTWRITEBYTECODE": ""},
        {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": "/elsewhere"},
    ],
)
def test_a_python_that_keeps_bytecode_is_left_alone(environment: dict[str, str]) -> None:
    assert bytecode.kept(environment, ROOT) == environment


def test_every_browser_test_is_among_those_of_the_gate() -> None:
    marked = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(
            r"^pytestmark = .*pytest\.mark\.e2e|^@pytest\.mark\.e2e", path.read_text("utf-8"), re.MULTILINE
        )
    ]
    assert marked
    assert [path for path in marked if not path.startswith(gate.BROWSER_TESTS)] == []


def _script(text: str) -> Step:
    return Step("a script", (sys.executable, "-c", text), {"TOLD": "aloud"})


def test_a_step_beside_others_keeps_its_words_and_its_status() -> None:
    step = _script("import os, sys; print(os.environ['TOLD']); sys.exit(3)")
    with gate.beside(step, os.environ, cwd=ROOT) as ended:
        found = ended(threading.Event().wait)
    assert (found.code, found.output) == (3, "aloud\n")
    assert found.seconds > 0


def test_a_step_beside_others_ends_with_them(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    step = _script(f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    with pytest.raises(KeyboardInterrupt), gate.beside(step, os.environ, cwd=ROOT):  # noqa: PT012
        eventually(lambda: pid_file.exists() and pid_file.read_text())
        raise KeyboardInterrupt
    assert not psutil.pid_exists(int(pid_file.read_text()))


def test_the_long_tail_is_left_to_test_all() -> None:
    """Nothing is left out of `test-all`, and `test` leaves out nothing but what is marked so."""

    def marks(steps: list[Step]) -> list[str]:
        return [step.argv[step.argv.index("-m", 3) + 1] for step in steps if "pytest" in step.argv]

    short = marks([gate.unit_step(), *gate.service_steps()])
    full = marks([gate.unit_step(everything=True), *gate.service_steps(everything=True)])
    assert full == ["not integration and not e2e", "not e2e and not bare", "e2e"]
    assert short == [f"{words} and not long and not faults" for words in full]


def test_what_check_leaves_out_test_runs() -> None:
    whole, quick = gate.unit_step(), gate.unit_step(quick=True)
    marks, *ignored = [word for word in quick.argv if word not in whole.argv]
    assert marks == "not integration and not e2e and not data and not long and not faults"
    left_out = [word.removeprefix("--ignore=") for word in ignored]
    assert left_out == list(gate.SLOW_UNIT_TESTS)
    assert all((ROOT / path).exists() for path in left_out)
    assert not any("--ignore" in word for word in whole.argv)


def test_a_room_is_an_app_or_a_folder_of_tests() -> None:
    assert gate.room_paths(ROOT, "review") == ["tests/workbench/review"]
    assert gate.room_paths(ROOT, "training") == ["tests/training"]
    with pytest.raises(StackError, match=r"no tests of 'attic'; there are: .*review"):
        gate.room_paths(ROOT, "attic")


@pytest.mark.parametrize(
    "argv", [[], ["everything"], ["check", "test"], ["test-all", "review"], ["test", "a", "b"]]
)
def test_wrong_use_of_the_gate_is_status_2(argv: list[str]) -> None:
    assert gate.main(argv) == 2
    assert bootstrap.main(argv) == 2


def test_the_environment_is_complete_only_with_the_same_locks_at_the_same_place(tmp_path: Path) -> None:
    for name in (bootstrap.UV_LOCK, *bootstrap.LOCKS.values()):
        (tmp_path / name).write_text(name)
    wanted = {
        "at": str(tmp_path / ".venv"),
        "uv": bootstrap._hash(tmp_path / bootstrap.UV_LOCK),
        "run": bootstrap._hash(tmp_path / "requirements.lock"),
    }
    dev = {"dev": bootstrap._hash(tmp_path / "requirements-dev.lock")}

    def covers(found: dict[str, str]) -> bool:
        return bootstrap._covers(found, wanted, "run", tmp_path)

    assert covers(wanted)
    assert covers({**wanted, "run": "older", **dev}), "the development environment can run too"
    assert not covers({})
    assert not covers({**wanted, "run": "older"})
    assert not covers({**wanted, "at": "/elsewhere/.venv", **dev})
    assert not covers({**wanted, "uv": "older", **dev})


def test_a_missing_lock_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bootstrap.main(["run"], tmp_path) == 1
    assert "requirements-uv.lock cannot be read" in capsys.readouterr().err


def test_manage_goes_on_in_the_environment_or_says_how_to_make_it(tmp_path: Path) -> None:
    (tmp_path / "manage.py").write_text((ROOT / "manage.py").read_text("utf-8"))

    def start() -> subprocess.CompletedProcess[str]:
        # -S: a Python without any installed package.
        argv = (sys.executable, "-S", "-E", str(tmp_path / "manage.py"), "check", "it")
        return subprocess.run(argv, check=False, capture_output=True, text=True)

    assert start().returncode == 1
    assert "make setup" in start().stderr
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "in the environment: $*"\n')
    python.chmod(0o755)
    assert start().stdout == f"in the environment: {tmp_path}/manage.py check it\n"
