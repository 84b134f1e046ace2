"""The whole product, really running: for integration and browser tests.

``python -m workbench.stack run`` in a home of its own on free ports, with a fake language model beside it. Leases
are short, so that a test sees a dead worker's run taken over in seconds; the product's own are in
``workbench/settings/celery.py``.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import certifi
import httpx2 as httpx
import psutil
import psycopg
from psycopg.types.json import Jsonb

from tests.fake_llm.server import FakeLLM
from tests.ports import own_port
from workbench.stack import state as stack_state
from workbench.stack.home import Home

ROOT = Path(__file__).resolve().parent.parent
PASSWORD = "only-for-tests-of-the-demo"
#: Names the folder in which ``make test`` keeps a home that products of its tests are copies of.
PREPARED = "WORKBENCH_PREPARED_HOME"
Seen = TypeVar("Seen")


def eventually(look: Callable[[], Seen], *, seconds: float = 240.0, what: str = "") -> Seen:
    """What ``look`` returns once that is true; fails when it never is."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < deadline, f"not seen within {seconds} s: {what or look}"
        threading.Event().wait(0.1)
    return seen


@dataclass
class RunningProduct:
    """A running product: its address, its home, its fake model."""

    address: str
    home: Home
    environment: dict[str, str]
    fake: FakeLLM
    process: subprocess.Popen[bytes]
    _connected: psycopg.Connection[tuple[Any, ...]] | None = field(default=None, init=False, repr=False)

    def client(self, role: str, *, house: str = "demo") -> httpx.Client:
        """A browser session of a user of the demo, or of another house (analyst, reviewer, annotator, admin, auditor),
        for the API."""
        client = httpx.Client(base_url=self.address, follow_redirects=True, timeout=120)
        page = client.get("/accounts/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token, "the login page has no form"
        client.post(
            "/accounts/login/",
            data={
                "login": f"{role}@{house}.example",
                "password": PASSWORD,
                "csrfmiddlewaretoken": token[1],
            },
            headers={"Referer": self.address},
        )
        assert "sessionid" in client.cookies, f"{role} could not log in"
        client.headers.update({"X-CSRFToken": client.cookies["csrftoken"], "Referer": self.address})
        return client

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of the database, as its superuser. One connection serves until the database goes away."""
        try:
            return self._connection().execute(query, values).fetchall()
        except psycopg.OperationalError:
            self.disconnect()
            return self._connection().execute(query, values).fetchall()

    def _connection(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connected is None:
            self._connected = psycopg.connect(self.database_url(), autocommit=True)
        return self._connected

    def disconnect(self) -> None:
        """Gives the connection back."""
        if self._connected is not None:
            self._connected.close()
            self._connected = None

    def allow_own_model(self) -> None:
        """Collections that allow the model of the product this one is a copy of allow this one's instead."""
        self._connection().execute(
            "UPDATE documents_collection SET allowed_endpoints = %s WHERE allowed_endpoints <> '[]'",
            [Jsonb([self.environment["OPENAI_BASE_URL"]])],
        )

    def database_url(self) -> str:
        """The database, as its superuser."""
        state = stack_state.read(self.home.stack_state)
        assert state is not None
        assert state.ports is not None
        secrets = self.home.secrets()
        return (
            f"postgresql://postgres:{secrets.superuser_password}@127.0.0.1:{state.ports.postgres}/workbench"
        )

    def pid(self, child: str) -> int:
        """The process id of a child of the supervisor: web, questions, worker, beat, postgres, valkey."""
        state = stack_state.read(self.home.stack_state)
        assert state is not None
        return next(record.pid for record in state.children if record.name == child)

    def kill(self, child: str) -> int:
        """SIGKILL to a child and everything below it, as a machine that dies; returns the old process id."""
        pid = self.pid(child)
        process = psutil.Process(pid)
        for victim in [process, *process.children(recursive=True)]:
            with_suppressed(victim)
        return pid

    def kill_workers(self) -> None:
        """SIGKILL to everything that does work: for questions, and for all else."""
        for child in ("questions", "worker"):
            self.kill(child)

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A ``manage.py`` command against this product."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


def with_suppressed(process: psutil.Process) -> None:
    """Kills a process that may be gone already."""
    try:
        process.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return


@contextmanager
def running_product(extra: Mapping[str, str] | None = None) -> Iterator[RunningProduct]:
    """Starts the product and stops it at the end."""
    with tempfile.TemporaryDirectory(prefix="workbench-test-") as folder:
        if prepared := os.environ.get(PREPARED):
            subprocess.run(["cp", "-a", f"{_prepared_home(Path(prepared))}/.", folder], check=True)
        with _running(folder, extra or {}) as product:
            if prepared:
                product.allow_own_model()
            yield product


def _prepared_home(folder: Path) -> Path:
    """A home with its database migrated, static files collected and the demo documents read, which every product of
    ``make test`` begins with as a copy. The first that asks makes it while the others wait."""
    home, done = folder / "home", folder / "done"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            with _running(str(home), {}) as product:
                await_demo(product)
            (home / "ports.json").unlink()  # each copy finds ports of its own
            done.touch()
    return home


def await_demo(product: RunningProduct) -> None:
    """Waits until the demo documents are ready."""
    eventually(lambda: _demo_is_ready(product), seconds=600, what="the demo documents are ready")


def _demo_is_ready(product: RunningProduct) -> bool:
    rows = product.rows("SELECT status, failure_reason FROM documents_document")
    failed = [reason for status, reason in rows if status == "failed"]
    assert not failed, failed
    return bool(rows) and all(status == "ready" for status, _ in rows)


@contextmanager
def _running(folder: str, extra: Mapping[str, str]) -> Iterator[RunningProduct]:
    with FakeLLM() as fake:
        port = own_port()
        environment = {
            **{name: value for name, value in os.environ.items() if name not in FOREIGN},
            "WORKBENCH_HOME": folder,
            "PORT": str(port),
            "WORKBENCH_LEASE_SECONDS": "6",
            "WORKBENCH_HEARTBEAT_SECONDS": "1",
            "WORKBENCH_DEMO_PASSWORD": PASSWORD,
            "WORKBENCH_DEMO_MONTH": "0",  # tests/e2e/test_demo_month.py has it
            "REAUTHENTICATION_SECONDS": "86400",  # one login serves a whole run of tests
            "OPENAI_BASE_URL": fake.base_url,
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_MODEL": "fake-model",
            "DEFAULT_STRATEGY": "offline",
            "SOURCE_FOLDERS": str(Path(folder) / "arriving"),
            "SOURCE_NETWORKS": "127.0.0.0/8",
            # What the product trusts: a test adds the certificate of a server of its own.
            "SSL_CERT_FILE": shutil.copy(certifi.where(), Path(folder) / "trusted.pem"),
            **extra,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "workbench.stack", "run"],
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        product = RunningProduct(f"http://127.0.0.1:{port}", Home(Path(folder)), environment, fake, process)
        try:
            with httpx.Client(
                base_url=product.address, timeout=20
            ) as client:  # one: making it costs more than asking
                eventually(lambda: _answers(product, client), seconds=600, what="the product answers")
            yield product
        finally:
            product.disconnect()
            process.terminate()
            try:
                process.wait(timeout=240)
            except subprocess.TimeoutExpired:
                process.kill()


#: What an outer stack (make test) or a developer's shell may have set.
FOREIGN = frozenset(
    {
        "DATABASE_URL",
        "BROKER_URL",
        "TEST_DATABASE_URL",
        "DATABASE_OWNER_URL",
        "DJANGO_SETTINGS_MODULE",
        "HOST",
        "SECRET_KEY",
        "WORKBENCH_MEDIA_ROOT",
        "WORKBENCH_STATIC_ROOT",
    }
)


def _answers(product: RunningProduct, client: httpx.Client) -> bool:
    assert product.process.poll() is None, "the product stopped while starting"
    try:
        return client.get("/readyz").status_code == 200
    except httpx.HTTPError:
        return False
