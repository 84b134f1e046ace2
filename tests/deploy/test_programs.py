"""Helm, the schemas of Kubernetes, Docker Compose, Caddy, zizmor and pre-commit read the files. `make deploy-test`."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.chart import CASES, CHART, REFUSED, headed, kept
from tests.workbench.stack.test_containers import interpolated, words
from workbench.stack.project import ROOT

helm = pytest.importorskip("helm_python", reason="make deploy-test installs it")
kubernetes = pytest.importorskip("kubernetes_validate")

PROGRAMS = Path(sys.executable).parent
KUBERNETES = ("1.28", "1.34")


def ran(*argv: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (str(PROGRAMS / argv[0]), *argv[1:]),
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("case", sorted(CASES))
def test_what_is_kept_is_what_helm_makes(case: str) -> None:
    from tests.deploy.__main__ import rendered  # imports Helm

    assert kept(case) == headed(rendered(case)), "run python -m tests.deploy"


@pytest.mark.parametrize("case", sorted(CASES))
def test_helm_finds_nothing_wrong(case: str) -> None:
    found = helm.chart.lint(str(CHART), CASES[case], strict=True)
    assert found["errors"] == []
    assert [message["error"] for message in found["messages"]] == ["icon is recommended"]


@pytest.mark.parametrize(("values", "named"), REFUSED)
def test_values_that_mean_nothing_are_refused(values: dict[str, Any], named: str) -> None:
    with helm.Chart.load(str(CHART)) as chart, pytest.raises(helm.errors.HelmValuesError, match=named):
        chart.render(values, name="wb")


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("case", sorted(CASES))
def test_kubernetes_would_take_it(case: str, version: str) -> None:
    for resource in filter(None, yaml.safe_load_all(kept(case))):
        kubernetes.validate(resource, version, strict=True)


def test_docker_compose_reads_its_file(tmp_path: Path) -> None:
    (tmp_path / "docker-compose.yml").write_bytes((ROOT / "docker-compose.yml").read_bytes())
    profiles = ("--profile", "tls", "--profile", "backup", "--profile", "restore")
    done = ran("docker-compose", *profiles, "config", "--quiet", cwd=tmp_path, ALLOWED_HOSTS="a.example.org")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def behind() -> Iterator[tuple[int, list[dict[str, str]]]]:
    """A web server that keeps the headers it is sent."""
    seen: list[dict[str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], seen
    server.shutdown()


def test_the_proxy_says_who_calls_and_believes_no_caller(
    tmp_path: Path, behind: tuple[int, list[dict[str, str]]]
) -> None:
    """Caddy, started by the lines of docker-compose.yml, but for its ports."""
    port, seen = behind
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own = free.getsockname()[1]
    (tmp_path / "caddy").symlink_to(PROGRAMS / "caddyserver")
    script = interpolated(words("proxy"), {})[-1].replace("web:8000", f"127.0.0.1:{port}")
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "SITE": f"http://127.0.0.1:{own}",
    }
    with subprocess.Popen(("sh", "-c", script), env=environment, stderr=subprocess.PIPE) as caddy:
        try:
            forged = {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "https"}
            request = urllib.request.Request(f"http://127.0.0.1:{own}/", headers=forged)
            assert answer(request, until=time.monotonic() + 30) == 204
        finally:
            caddy.terminate()
    assert seen[-1]["x-forwarded-for"] == "127.0.0.1"
    assert seen[-1]["x-forwarded-proto"] == "http"


def answer(request: urllib.request.Request, *, until: float) -> int:
    while True:
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                return int(response.status)
        except urllib.error.URLError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)  # until it listens


def test_the_workflows_are_sound() -> None:
    done = ran("zizmor", "--offline", "--no-progress", "--min-severity", "medium", str(ROOT / ".github"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_pre_commit_reads_its_file() -> None:
    done = ran("pre-commit", "validate-config", ".pre-commit-config.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
