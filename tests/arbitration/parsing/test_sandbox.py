"""What the kernel refuses the parser's process; each case really tries it."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from arbitration.errors import ParseFailure
from arbitration.parsing import isolation
from arbitration.parsing.isolation import parse_isolated
from arbitration.parsing.sandbox import _CALLS

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in _CALLS,
    reason="seccomp filters are written for Linux on x86-64 and ARM64",
)
_BEGIN = (
    "import ctypes, json, os, socket, sys, threading\n"
    "from arbitration.parsing.sandbox import close_doors\n"
    "assert close_doors()\n"
    "def say(text):\n"
    "    print(json.dumps({'code': text, 'message': 'm'})); sys.stdout.flush(); os._exit(3)\n"
    "def refused(act, *arguments):\n"
    "    try: act(*arguments)\n"
    "    except OSError as error: say(type(error).__name__)\n"
    "    say('allowed')\n"
)


def _code(monkeypatch: pytest.MonkeyPatch, path: Path, act: str) -> str:
    monkeypatch.setattr(isolation, "_CHILD", (sys.executable, "-c", _BEGIN + act))
    with pytest.raises(ParseFailure) as failure:
        parse_isolated(path=path, filename="a.txt")
    return failure.value.code


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_NETLINK"])
def test_the_network_ends_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, family: str) -> None:
    assert _code(monkeypatch, tmp_path, f"socket.socket(socket.{family}, socket.SOCK_DGRAM)") == "misbehaved"


@pytest.mark.parametrize(
    "act",
    [
        "socket.socket, socket.AF_UNIX",
        "open, '{there}', 'w'",
        "open, '{there}', 'r+'",
        "open, '{new}', 'xb'",
        "os.mkdir, '{new}'",
        "os.unlink, '{there}'",
        "os.rename, '{there}', '{new}'",
        "os.symlink, '{there}', '{new}'",
        "os.chmod, '{there}', 0o777",
        "os.truncate, '{there}', 0",
        "os.fork,",
        "os.execv, '/bin/true', ['true']",
        "os.posix_spawn, '/bin/true', ['true'], dict()",
        "os.kill, 1, 0",
    ],
)
def test_what_changes_anything_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, act: str) -> None:
    there, new = tmp_path / "there", tmp_path / "new"
    there.write_text("kept")
    arguments = act.format(there=there, new=new)
    assert _code(monkeypatch, tmp_path, f"refused({arguments})") == "PermissionError"
    assert there.read_text() == "kept"
    assert os.listdir(tmp_path) == ["there"]


def test_reading_and_threads_still_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("kept")
    act = (
        f"seen = []\nthread = threading.Thread(target=lambda: seen.append(open({str(there)!r}).read()))\n"
        "thread.start(); thread.join(); say(seen[0])"
    )
    assert _code(monkeypatch, tmp_path, act) == "kept"
