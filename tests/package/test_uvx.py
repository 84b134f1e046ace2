"""``uvx --from dist/*.whl arbiter-workbench run`` answers, from an empty folder and the wheel alone. It needs the
package index, as ``make setup`` does."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.package.installing import UV, Built, clean_environment
from tests.ports import own_port
from workbench.stack.ports import LOOPBACK

SECONDS = 900
ACCOUNT = re.compile(r"analyst\s+(\S+@\S+)\s+(\S+)")


@contextmanager
def running(built: Built, folder: Path, port: int) -> Iterator[str]:
    """The product, started as a stranger starts it. What it said until it was ready."""
    argv = (UV, "tool", "run", "--from", built.wheel, "arbiter-workbench", "run")
    with (folder.parent / "said.txt").open("w+") as said:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=clean_environment(PORT=str(port)),
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield _ready(process, Path(said.name))
        finally:
            os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
            process.wait(timeout=60)


def _ready(process: subprocess.Popen[bytes], said: Path) -> str:
    deadline = time.monotonic() + SECONDS
    while "Stop with Ctrl-C" not in (text := said.read_text()):
        assert process.poll() is None, text
        assert time.monotonic() < deadline, text
        time.sleep(0.5)
    return text


def test_an_empty_folder_and_the_wheel_are_enough(built: Built, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    port = own_port()
    address = f"http://{LOOPBACK}:{port}"
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    with running(built, folder, port) as said:
        assert browser.open(f"{address}/healthz").status == 200
        email, password = (ACCOUNT.search(said) or pytest.fail(said)).groups()
        page = _logged_in(browser, address, email, password)

    assert "Home" in page
    assert email in page or "Log out" in page or "Sign out" in page
    assert [path.name for path in folder.iterdir()] == ["arbiter-workbench-data"]
    assert json.loads((folder / "arbiter-workbench-data" / "secrets.json").read_text())


def _logged_in(browser: urllib.request.OpenerDirector, address: str, email: str, password: str) -> str:
    with browser.open(f"{address}/") as door:
        url, form = door.geturl(), door.read().decode()
    (token,) = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)[:1]
    fields = {"csrfmiddlewaretoken": token, "login": email, "password": password}
    request = urllib.request.Request(url, urllib.parse.urlencode(fields).encode(), {"Referer": url})
    with browser.open(request) as home:
        return str(home.read().decode())
