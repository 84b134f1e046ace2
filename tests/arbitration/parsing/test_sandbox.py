"""What the kernel refuses the parser's process; each case really tries it, in a child that the product started."""

from __future__ import annotations

import logging
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbitration.errors import ParseFailure
from arbitration.parsing import isolation, landlock, system_calls, unknown_calls
from arbitration.parsing.isolation import closed_doors, parse_isolated
from arbitration.parsing.own_account import leave_root
from arbitration.parsing.sandbox import foreseen_doors
from arbitration.parsing.seccomp import PROCESSORS

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in PROCESSORS,
    reason="seccomp filters are written for Linux on x86-64 and ARM64",
)
needs_landlock = pytest.mark.skipif(landlock.version() < 1, reason="this kernel has no Landlock")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

_IMPORTS = (
    "import ctypes, json, os, resource, signal, socket, sys, threading\n"
    "from arbitration.parsing import landlock, own_account, seccomp, system_calls\n"
    "from arbitration.parsing.__main__ import shut_in\n"
    "from arbitration.parsing.limits import ParseLimits\n"
    "request = json.loads(sys.stdin.buffer.read())\n"
)
_SHUT_IN = (
    "doors = shut_in(request, ParseLimits(**request['limits']))\n"
    "def say(text):\n"
    "    print(json.dumps({'code': str(text), 'message': 'm'})); sys.stdout.flush(); os._exit(3)\n"
    "def refused(act, *arguments):\n"
    "    try: act(*arguments)\n"
    "    except OSError as error: say(type(error).__name__)\n"
    "    say('allowed')\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "tables = (system_calls.ALLOWED, system_calls.BOUNDED, system_calls.REFUSED, system_calls.FATAL)\n"
    "numbers = {name: pair for table in tables for name, pair in table.items()}\n"
    "column = 1 if os.uname().machine == 'aarch64' else 0\n"
    "def call(name, *arguments):\n"
    "    if libc.syscall(numbers[name][column], *arguments) < 0: raise OSError(ctypes.get_errno(), name)\n"
)


def _code(monkeypatch: pytest.MonkeyPatch, path: Path, act: str, *, before: str = "") -> str:
    """What the child says after it was shut in and did that; ``before`` is done first, to play another system."""
    script = _IMPORTS + before + "\n" + _SHUT_IN + act
    monkeypatch.setattr(isolation, "_CHILD", (sys.executable, "-E", "-s", "-B", "-c", script))
    with pytest.raises(ParseFailure) as failure:
        parse_isolated(path=path, filename="a.txt")
    return failure.value.code


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """The parser's input, readable to its owner only."""
    path = tmp_path / "there"
    path.write_text("kept")
    path.chmod(0o600)
    return path


@pytest.fixture
def sibling() -> Iterator[subprocess.Popen[bytes]]:
    """Another process of the product."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    assert process.poll() is None, "the sibling was ended"
    process.kill()
    process.wait()


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_NETLINK"])
def test_the_network_ends_the_process(monkeypatch: pytest.MonkeyPatch, there: Path, family: str) -> None:
    assert _code(monkeypatch, there, f"socket.socket(socket.{family}, socket.SOCK_DGRAM)") == "misbehaved"


@pytest.mark.parametrize(
    "act",
    [
        "socket.socket, socket.AF_UNIX",
        "socket.socketpair,",
        "open, '{there}', 'w'",
        "open, '{there}', 'r+'",
        "open, '{new}', 'xb'",
        "os.mkdir, '{new}'",
        "os.unlink, '{there}'",
        "os.rename, '{there}', '{new}'",
        "os.symlink, '{there}', '{new}'",
        "os.chmod, '{there}', 0o777",
        "os.fchmod, request['source'], 0o777",
        "os.truncate, '{there}', 0",
        "os.fork,",
        "os.execv, '/bin/true', ['true']",
        "os.posix_spawn, '/bin/true', ['true'], dict()",
        "os.setpriority, os.PRIO_PGRP, 0, 5",
        "call, 'prctl', 4, 1, 0, 0, 0",
        "call, 'fcntl', 0, 8, os.getppid()",
        "call, 'sendmsg', 0, None, 0",
        "call, 'prlimit64', 0, resource.RLIMIT_NOFILE, ctypes.create_string_buffer(16), None",
        "call, 'setitimer', 0, ctypes.create_string_buffer(32), None",
        "os.setuid, 0",
    ],
)
def test_what_changes_anything_is_refused(monkeypatch: pytest.MonkeyPatch, there: Path, act: str) -> None:
    arguments = act.format(there=there, new=there.parent / "new")
    assert _code(monkeypatch, there, f"refused({arguments})") == "PermissionError"
    assert there.read_text() == "kept"
    assert there.stat().st_mode & 0o777 == 0o600
    assert os.listdir(there.parent) == ["there"]


@pytest.mark.parametrize(
    "act",
    [
        "os.kill({sibling}, signal.SIGTERM)",
        "os.kill({parent}, signal.SIGTERM)",
        "os.kill(-1, signal.SIGTERM)",
        "os.kill(0, signal.SIGTERM)",
        "call('tgkill', {sibling}, {sibling}, signal.SIGTERM)",
        "call('rt_sigqueueinfo', {sibling}, signal.SIGTERM, ctypes.create_string_buffer(128))",
        "os.pidfd_open({sibling})",
        "call('pidfd_send_signal', 0, signal.SIGTERM, None, 0)",
        "call('pidfd_getfd', 0, 0, 0)",
        "call('process_vm_readv', {parent}, bytes(16), 1, bytes(16), 1, 0)",
        "call('process_vm_writev', {parent}, bytes(16), 1, bytes(16), 1, 0)",
        "call('ptrace', 16, {parent}, 0, 0)",
        "resource.prlimit({parent}, resource.RLIMIT_NOFILE)",
        "resource.prlimit({sibling}, resource.RLIMIT_CPU, (1, 1))",
        "call('io_uring_setup', 8, ctypes.create_string_buffer(128))",
        "call('unshare', 0x10000000)",
        "call('open_by_handle_at', 0, ctypes.create_string_buffer(64), 0)",
    ],
)
def test_reaching_for_other_processes_ends_this_one(
    monkeypatch: pytest.MonkeyPatch, there: Path, sibling: subprocess.Popen[bytes], act: str
) -> None:
    filled = act.format(sibling=sibling.pid, parent=os.getpid())
    assert _code(monkeypatch, there, f"{filled}\nsay('allowed')") == "misbehaved"


@needs_landlock
@pytest.mark.parametrize(
    "place",
    [
        "{there}",
        "{home}/secrets.json",
        "{home}/files/original.pdf",
        "{home}/valkey/valkey.conf",
        "/proc/{parent}/environ",
        "/proc/{parent}/mem",
        "/proc/self/environ",
        "/proc/{parent}/fd/0",
        "/etc/passwd",
    ],
)
def test_no_file_but_its_input_is_read(
    monkeypatch: pytest.MonkeyPatch, there: Path, tmp_path_factory: pytest.TempPathFactory, place: str
) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in ("secrets.json", "files/original.pdf", "valkey/valkey.conf"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text("secret")
        (home / name).chmod(0o644)
    name = place.format(there=there, home=home, parent=os.getpid())
    assert os.path.exists(name)
    assert _code(monkeypatch, there, f"refused(open, {name!r}, 'rb')") == "PermissionError"
    assert _code(monkeypatch, there, f"refused(os.listdir, {os.path.dirname(name)!r})") == "PermissionError"


def test_no_folder_of_an_installation_is_among_the_libraries() -> None:
    root = Path(__file__).resolve().parents[3]
    script = "from arbitration.parsing.sandbox import library_places; print(*library_places(), sep=chr(10))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True, cwd=root
    )
    places = [Path(line) for line in done.stdout.splitlines()]
    assert root / "arbitration" in places
    for home in (root / "var", Path("/var/lib/workbench"), Path("/etc"), Path("/proc")):
        assert not [place for place in places if home == place or home.is_relative_to(place)]


def test_its_input_libraries_and_threads_still_work(monkeypatch: pytest.MonkeyPatch, there: Path) -> None:
    act = (
        "seen = []\n"
        "def work():\n"
        "    import wave\n"
        "    seen.append(os.fdopen(request['source']).read() + ' ' + wave.__name__)\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start(); thread.join(); say(seen[0])"
    )
    assert _code(monkeypatch, there, act) == "kept wave"


def test_aborting_is_a_crash_and_no_attack(monkeypatch: pytest.MonkeyPatch, there: Path) -> None:
    assert _code(monkeypatch, there, "os.abort()") == "crashed"


@as_root
def test_root_becomes_nobody(monkeypatch: pytest.MonkeyPatch, there: Path) -> None:
    act = "say([os.getresuid(), os.getresgid(), os.getgroups()])"
    users, groups, more = eval(_code(monkeypatch, there, act))
    assert len(set(users)) == 1
    assert users == groups
    assert users[0] > 65_000
    assert more == []


@as_root
def test_of_roots_rights_at_most_that_to_read_is_left(monkeypatch: pytest.MonkeyPatch, there: Path) -> None:
    act = (
        "header = ctypes.create_string_buffer((0x20080522).to_bytes(4, 'little') + bytes(4), 8)\n"
        "data = (ctypes.c_uint32 * 6)()\n"
        "call('capget', header, data); say(list(data))"
    )
    rights = eval(_code(monkeypatch, there, act))
    assert rights in ([0] * 6, [4, 4, 0, 0, 0, 0])


def test_what_a_system_lacks_is_said_and_the_rest_holds(monkeypatch: pytest.MonkeyPatch, there: Path) -> None:
    said = "say(''.join('+-'[not door] for door in (doors.calls, doors.files, doors.account)))"
    whole = "+" + "-+"[landlock.version() > 0] + "+"
    assert _code(monkeypatch, there, said) == whole
    assert _code(monkeypatch, there, said, before="landlock.version = lambda: 0") == "+-+"
    other_processor = "seccomp.PROCESSORS.clear()"
    assert _code(monkeypatch, there, said, before=other_processor) == "-" + whole[1:]


def test_the_product_can_ask_what_holds() -> None:
    doors = closed_doors()
    assert doors.calls
    assert doors.files == (landlock.version() > 0)
    assert doors.account


def test_who_is_not_root_stays_who_he_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "setresuid", lambda *_: pytest.fail("must not be asked"))
    assert leave_root([])


def test_an_unknown_call_costs_nothing_and_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, there: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(unknown_calls, "_logged", set())
    act = "seen = []\nfor _ in range(40): libc.syscall(9999); seen.append(ctypes.get_errno())\nsay(set(seen))"
    with caplog.at_level(logging.WARNING):
        assert _code(monkeypatch, there, act) == "{38}"
        assert _code(monkeypatch, there, act) == "{38}"
    assert [record.message.rsplit(": ", 1)[1] for record in caplog.records] == ["number 9999"]


def test_a_kernel_that_cannot_ask_says_so_itself(monkeypatch: pytest.MonkeyPatch, there: Path) -> None:
    act = "libc.syscall(9999); say(ctypes.get_errno())"
    assert _code(monkeypatch, there, act, before="seccomp._has_action = lambda *_: False") == "38"


def test_no_call_is_on_two_lists() -> None:
    tables = (
        system_calls.ALLOWED,
        system_calls.BOUNDED,
        system_calls.REFUSED,
        system_calls.TOO_NEW,
        system_calls.FATAL,
    )
    for column in (0, 1):
        numbers = [pair[column] for table in tables for pair in table.values() if pair[column] is not None]
        assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize(
    ("header", "pattern", "column"),
    [
        ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", r"__NR_(\w+)\s+(\d+)\s*$", 0),
        ("/usr/include/asm-generic/unistd.h", r"__NR(?:3264)?_(\w+)\s+(\d+)\s*$", 1),
    ],
)
def test_the_numbers_are_those_of_the_kernel(header: str, pattern: str, column: int) -> None:
    if not os.path.exists(header):
        pytest.skip("the headers of the kernel are not installed")
    known = dict(re.findall(r"#define\s+" + pattern, Path(header).read_text(), re.M))
    known |= {"newfstatat": known.get("newfstatat", known.get("fstatat", ""))}
    compared = 0
    for table in (system_calls.ALLOWED, system_calls.BOUNDED, system_calls.REFUSED, system_calls.FATAL):
        for name, pair in table.items():
            if name in known and pair[column] is not None:
                assert int(known[name]) == pair[column], name
                compared += 1
    assert compared > 150


def test_what_is_foreseen_is_what_a_parser_finds() -> None:
    assert foreseen_doors() == closed_doors()
