"""Figures for Prometheus: who reads them, what they say, and what never stands in them."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from celery import shared_task
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client import Metric
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from arbitration.adapters.breaker import CircuitBreaker
from arbitration.adapters.endpoints import LedgerEntry
from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.documents.models import Document
from workbench.infra import dispatch
from workbench.infra.metrics import counters, files
from workbench.operations.metrics import figures, page, worker_port
from workbench.runs.gateway import DatabaseLedger
from workbench.runs.models import Run, RunStatus
from workbench.settings import env

ROOT = Path(__file__).resolve().parents[3]
TOKEN = "a-token-that-only-the-scraper-knows"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def token(settings: Any) -> str:
    settings.METRICS_TOKEN = TOKEN
    return TOKEN


def sample(text: bytes | str, name: str, **labels: str) -> float | None:
    """The value of one line of the page; None where it is not there."""
    text = text.decode() if isinstance(text, bytes) else text
    for family in text_string_to_metric_families(text):
        for found in family.samples:
            if found.name == name and found.labels == labels:
                return found.value
    return None


def counted(name: str, **labels: str) -> float:
    """What this process counted so far."""
    return counters.REGISTRY.get_sample_value(name, labels) or 0.0


class TestWhoReadsThem:
    def test_nobody_until_they_are_set_up(self, cast: Cast, client_as: Callable[..., Client]) -> None:
        for person in (None, cast.analyst, cast.staff):
            assert client_as(person).get("/metrics", headers=BEARER).status_code == 404

    @pytest.mark.parametrize(
        "header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "Bearer "},
                   {"Authorization": f"Basic {TOKEN}"}, {"Authorization": "Bearer ünglaublich"}],
    )  # fmt: skip
    def test_without_the_token_nothing_is_shown_and_it_says_what_to_send(
        self, header: dict[str, str], token: str, db: None
    ) -> None:
        response = Client().get("/metrics", headers=header)
        assert response.status_code == 401
        assert response["WWW-Authenticate"] == 'Bearer realm="metrics"'
        assert b"METRICS_TOKEN" in response.content
        assert b"workbench_" not in response.content

    def test_an_administrators_session_is_no_token(
        self, token: str, cast: Cast, client_as: Callable[..., Client]
    ) -> None:
        assert client_as(cast.staff).get("/metrics").status_code == 401

    def test_with_the_token(self, token: str, db: None) -> None:
        response = Client().get("/metrics", headers=BEARER)
        assert response.status_code == 200
        assert response["Content-Type"].startswith("text/plain; version=0.0.4")
        assert response["Cache-Control"] == "private, no-store"
        assert response["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in response["Content-Security-Policy"]
        assert Client().post("/metrics", headers=BEARER).status_code == 405

    def test_from_a_network_that_is_named(self, settings: Any, db: None) -> None:
        settings.METRICS_NETWORKS = [ipaddress.ip_network("10.9.0.0/16")]
        assert Client(REMOTE_ADDR="10.9.1.2").get("/metrics").status_code == 200
        assert Client(REMOTE_ADDR="::ffff:10.9.1.2").get("/metrics").status_code == 200
        refused = Client(REMOTE_ADDR="10.8.1.2").get("/metrics")
        assert (refused.status_code, b"METRICS_NETWORKS" in refused.content) == (403, True)

    def test_both_are_demanded_where_both_are_set(self, settings: Any, token: str, db: None) -> None:
        settings.METRICS_NETWORKS = [ipaddress.ip_network("10.9.0.0/16")]
        inside = Client(REMOTE_ADDR="10.9.1.2")
        assert inside.get("/metrics").status_code == 401
        assert inside.get("/metrics", headers=BEARER).status_code == 200
        assert Client(REMOTE_ADDR="10.8.1.2").get("/metrics", headers=BEARER).status_code == 403

    def test_nobody_says_themselves_where_they_are(self, settings: Any, db: None) -> None:
        settings.METRICS_NETWORKS = [ipaddress.ip_network("10.9.0.0/16")]
        pretended = {"X-Forwarded-For": "10.9.1.2"}
        assert Client(REMOTE_ADDR="10.8.1.2").get("/metrics", headers=pretended).status_code == 403
        settings.ALLAUTH_TRUSTED_PROXY_COUNT = 2
        assert Client(REMOTE_ADDR="10.8.1.2").get("/metrics", headers=pretended).status_code == 403


class TestWhatTheySay:
    def test_states_and_ages(self, token: str, scene: Scene) -> None:
        Document.objects.filter(pk=scene.document.pk).update(status="queued")
        Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.DETECTED, finished_at=None)
        shown = Client().get("/metrics", headers=BEARER).content
        assert sample(shown, "workbench_documents", status="queued") == 1
        assert sample(shown, "workbench_documents", status="failed") == 0
        assert sample(shown, "workbench_runs", status="detected") == 1
        assert sample(shown, "workbench_oldest_waiting_seconds", kind="runs") > 0
        assert sample(shown, "workbench_oldest_waiting_seconds", kind="question_set_cells") == 0
        assert sample(shown, "workbench_model_decisions_total", outcome="refused") == 0
        assert sample(shown, "workbench_webhook_deliveries", state="waiting") == 0
        assert sample(shown, "workbench_disk_free_bytes") > 0
        assert sample(shown, "workbench_llm_endpoint_failing") == 0
        for kind in page_kinds():
            assert sample(shown, "workbench_metrics_failed", kind=kind) == 0, kind

    def test_the_queues_of_the_broker(self, token: str, db: None) -> None:
        from workbench.celery import app

        with app.connection_for_write() as broker:
            client = broker.default_channel.client
            before = client.llen("train")
            client.rpush("train", "{}")
            try:
                shown = Client().get("/metrics", headers=BEARER).content
            finally:
                client.lrem("train", 1, "{}")
        assert sample(shown, "workbench_queue_messages", queue="train") == before + 1
        assert sample(shown, "workbench_queue_messages", queue="ingest") is not None

    def test_the_trail_and_its_last_verification(self, token: str, scene: Scene) -> None:
        shown = Client().get("/metrics", headers=BEARER).content
        assert sample(shown, "workbench_audit_events_unsealed") > 0
        assert sample(shown, "workbench_audit_oldest_unsealed_seconds") > 0
        assert sample(shown, "workbench_audit_verified_age_seconds") is None, "nobody verified it yet"
        call_command("verify_audit", stdout=StringIO())
        shown = Client().get("/metrics", headers=BEARER).content
        assert sample(shown, "workbench_audit_verified_ok") == 1
        assert 0 <= sample(shown, "workbench_audit_verified_age_seconds") < 60

    def test_few_queries(self, token: str, scene: Scene) -> None:
        Client().get("/metrics", headers=BEARER)
        with CaptureQueriesContext(connection) as queries:
            Client().get("/metrics", headers=BEARER)
        asked = [q for q in queries if not q["sql"].startswith(("SAVEPOINT", "RELEASE", "SET LOCAL"))]
        assert len(asked) <= 20

    def test_what_fails_is_named_and_the_rest_is_shown(
        self, token: str, db: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken() -> Iterator[Metric]:
            with figures._bounded_queries(), connection.cursor() as cursor:
                cursor.execute("SELECT secret FROM no_such_table")
            yield from ()

        monkeypatch.setitem(figures.FIGURES, "trail", broken)
        response = Client().get("/metrics", headers=BEARER)
        assert response.status_code == 200
        assert sample(response.content, "workbench_metrics_failed", kind="trail") == 1
        assert sample(response.content, "workbench_metrics_failed", kind="waiting") == 0
        assert sample(response.content, "workbench_runs", status="queued") == 0
        assert b"no_such_table" not in response.content


def page_kinds() -> list[str]:
    return ["counters", *figures.FIGURES]


class TestWhatIsCounted:
    def test_requests_by_view_and_never_by_address(self, db: None) -> None:
        labels = {"view": "documents:document", "method": "GET", "status": "302"}
        before = counted("workbench_http_requests_total", **labels)
        Client().get("/documents/4711/?q=gallstone")
        assert counted("workbench_http_requests_total", **labels) == before + 1
        assert counted("workbench_http_request_seconds_count", view="documents:document", method="GET") > 0
        Client().generic("BREW", "/no/such/gallstone")
        assert counted("workbench_http_requests_total", view="none", method="other", status="404") > 0
        assert b"gallstone" not in page.written({"counters": counters.counted})
        labels_written = re.findall(rb'="([^"]*)"', page.written({"counters": counters.counted}))
        assert not [label for label in labels_written if b"4711" in label]

    def test_tasks_by_name_and_how_they_ended(self) -> None:
        labels = {"task": "tests.divide", "outcome": "success"}
        divide.apply(kwargs={"by": 1})
        divide.apply(kwargs={"by": 0})
        assert counted("workbench_tasks_started_total", task="tests.divide") == 2
        assert counted("workbench_tasks_total", **labels) == 1
        assert counted("workbench_tasks_total", **(labels | {"outcome": "failure"})) == 1
        assert counted("workbench_task_seconds_count", task="tests.divide") == 2

    def test_what_a_sweeper_sends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(divide, "apply_async", lambda **_: None)
        before = counted("workbench_sweeper_messages_total", task="tests.divide")
        dispatch.dispatch(divide, by=1)
        assert counted("workbench_sweeper_messages_total", task="tests.divide") == before
        sweep.apply()
        assert counted("workbench_sweeper_messages_total", task="tests.divide") == before + 1

    def test_calls_of_language_models(self, scene: Scene) -> None:
        breaker = CircuitBreaker(failures=1)
        ledger = DatabaseLedger(run=scene.run, collection=scene.run.collection, breaker=breaker)
        where = {"endpoint": "models.example:8443", "model": "m-counted"}
        ledger.record(
            an_attempt(
                model="m-counted", outcome="ok", input_tokens=100, cached_tokens=40, output_tokens=7, cost=0.5
            )
        )
        assert counted("workbench_llm_calls_total", **where, outcome="ok") == 1
        assert counted("workbench_llm_tokens_total", **where, kind="cached") == 40
        assert counted("workbench_llm_cost_usd_total", **where) == 0.5
        assert counted("workbench_llm_call_seconds_sum", **where) == 1.5
        assert counted("workbench_llm_circuit_open", **where) == 0
        breaker.report("timeout")
        ledger.record(an_attempt(model="m-counted", outcome="circuit_open"))
        assert counted("workbench_llm_circuit_open", **where) == 1
        assert counted("workbench_llm_call_seconds_count", **where) == 1, "it was never sent"

    def test_a_label_has_no_endless_values(self) -> None:
        for number in range(counters.MOST_VALUES["model"] + 5):
            counters.call_ended(
                endpoint="https://e.example/v1", model=f"made-up-{number}", outcome="ok", was_sent=True,
                seconds=1, tokens={}, cost=0,
            )  # fmt: skip
        assert counted("workbench_llm_calls_total", endpoint="e.example", model="other", outcome="ok") >= 5

    def test_counting_never_fails_the_work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(counters._requests, "labels", full)
        with capture_logs() as logged:
            counters.request_ended(view="home", method="GET", status=200, seconds=0.1)
        assert [(line["event"], line["figure"], line["error"]) for line in logged] == [
            ("metrics.not_counted", "request_ended", "OSError")
        ]


def test_nothing_of_people_and_documents_stands_in_them(
    token: str, scene: Scene, cast: Cast, client_as: Callable[..., Client]
) -> None:
    DatabaseLedger(run=scene.run, collection=scene.run.collection).record(an_attempt(outcome="ok"))
    client_as(cast.analyst).get(f"/runs/{scene.run.pk}/?who={cast.analyst.email}")
    client_as(cast.analyst).get("/documents/", {"q": scene.run.question.text})
    shown = Client().get("/metrics", headers=BEARER).content.decode()
    assert "workbench_llm_calls_total" in shown
    words = [
        TOKEN, scene.run.question.text, scene.document.name, cast.analyst.email, cast.analyst.name, "sk-secret",
        "twenty-four", cast.alpha.name, cast.alpha.slug, scene.document.sha256, "user:pass",
    ]  # fmt: skip
    for word in filter(None, words):
        assert word not in shown, word


@shared_task(name="tests.divide")
def divide(*, by: int) -> float:
    return 1 / by


@shared_task(name="tests.sweep")
def sweep() -> bool:
    return dispatch.dispatch(divide, by=1)


def an_attempt(**changes: Any) -> LedgerEntry:
    given: dict[str, Any] = {
        "request_hash": "0" * 64, "endpoint": "https://user:pass@models.example:8443/v1?key=sk-secret",
        "model": "m-1", "stage": "arbitrate", "prompt_name": "arbiter", "prompt_version": "1",
        "prompt_hash": "0" * 64, "parameters": {}, "request_body": {"user": "twenty-four months"},
        "response_body": None, "input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "cost": 0.0,
        "latency_ms": 1500.0, "attempt": 1, "outcome": "ok", "finish_reason": "stop", "status": 200,
    }  # fmt: skip
    return LedgerEntry(**(given | changes))


# --- several processes ------------------------------------------------------------------------------------------

#: Two children count, one of them ends; what the parent then shows, once before and once after a new start.
_SEVERAL = """
import json, os, signal
from django.conf import settings
from workbench.infra.metrics import counters, files
from prometheus_client import generate_latest, CollectorRegistry

class All:
    def describe(self): return []
    def collect(self): return counters.counted()

def shown():
    registry = CollectorRegistry(); registry.register(All())
    return generate_latest(registry).decode()

def child(read_end):
    counters.request_ended(view="home", method="GET", status=200, seconds=0.01)
    counters.circuit_is(endpoint="https://e.example/v1", model="m", is_open=True)
    os.write(told, b"x")
    os.read(read_end, 1)
    os._exit(0)

counters.request_ended(view="home", method="GET", status=200, seconds=0.01)
ready, told = os.pipe()
ends = [os.pipe(), os.pipe()]
pids = []
for read_end, _ in ends:
    pid = os.fork()
    if pid == 0: child(read_end)
    pids.append(pid)
os.read(ready, 1); os.read(ready, 1)
pages = [shown()]
os.kill(pids[0], signal.SIGKILL); os.waitpid(pids[0], 0)
pages.append(shown())
files.forget_the_dead()
pages.append(shown())
os.kill(pids[1], signal.SIGKILL); os.waitpid(pids[1], 0)
sizes = [os.stat(path).st_blocks * 512 for path in files.counted_files()]
print(json.dumps({"pages": pages, "sizes": sizes, "in_folder": counters.IN_FOLDER}))
"""


def test_processes_count_together_and_the_dead_are_forgotten(tmp_path: Path) -> None:
    given = {
        "DJANGO_SETTINGS_MODULE": "workbench.settings.test",
        "METRICS_TOKEN": TOKEN,
        "WORKBENCH_HOME": str(tmp_path),
    }
    environment = {k: v for k, v in os.environ.items() if k != "PROMETHEUS_MULTIPROC_DIR"} | given
    done = subprocess.run(
        [sys.executable, "-c", _SEVERAL],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told["in_folder"]
    labels = {"view": "home", "method": "GET", "status": "200"}
    both, one_killed, new_start = told["pages"]
    assert sample(both, "workbench_http_requests_total", **labels) == 3
    assert sample(both, "workbench_http_request_seconds_count", view="home", method="GET") == 3
    assert sample(both, "workbench_llm_circuit_open", endpoint="e.example", model="m") == 2
    assert sample(one_killed, "workbench_http_requests_total", **labels) == 3, "what it counted stays"
    assert sample(one_killed, "workbench_llm_circuit_open", endpoint="e.example", model="m") == 1
    assert sample(new_start, "workbench_http_requests_total", **labels) == 2, "a service starts anew"
    assert all(size >= files.FIRST_BYTES for size in told["sizes"]), (
        "a full disk would kill the process later"
    )
    assert (tmp_path / "run" / "metrics").stat().st_mode & 0o077 == 0


def test_a_number_that_belongs_to_another_process_now_is_no_sign_of_life(
    settings: Any, tmp_path: Path
) -> None:
    settings.METRICS_FOLDER = str(tmp_path)
    ours, former = (tmp_path / f"counter_{name}.db" for name in (files.this_process(), f"{os.getpid()}-1"))
    for path in (ours, former, tmp_path / "notes.txt"):
        path.write_bytes(b"")
    files.forget_the_dead()
    assert [path.exists() for path in (ours, former, tmp_path / "notes.txt")] == [True, False, True]


# --- the port of a worker -----------------------------------------------------------------------------------------


@pytest.fixture
def port(token: str) -> Iterator[int]:
    server = worker_port.open_port("127.0.0.1", 0)
    assert server is not None
    yield server.server_address[1]
    server.shutdown()
    worker_port.leave_port()


def ask(port: int, path: str = "/metrics", **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_a_worker_shows_its_own_to_the_same(port: int) -> None:
    status, shown = ask(port, **BEARER)
    assert status == 200
    assert sample(shown, "workbench_disk_free_bytes") > 0
    assert sample(shown, "workbench_metrics_failed", kind="counters") == 0
    assert b"workbench_runs" not in shown, "the database is the web process's to ask"
    assert ask(port)[0] == 401
    assert ask(port, "/metrics/../etc/passwd", **BEARER)[0] == 404


def test_a_taken_port_stops_no_worker(port: int) -> None:
    assert worker_port.open_port("127.0.0.1", port) is None


# --- alerts -------------------------------------------------------------------------------------------------------


def test_alerts_charts_and_the_manual_name_figures_that_exist(token: str, scene: Scene) -> None:
    DatabaseLedger(run=scene.run, collection=scene.run.collection).record(an_attempt())
    call_command("verify_audit", stdout=StringIO())
    shown = Client().get("/metrics", headers=BEARER).content.decode()
    known = set(re.findall(r"^# TYPE (\S+)", shown, re.M))
    # The broken circuit is shown by processes that made a call through one; nothing was swept yet.
    known |= {"workbench_llm_circuit_open", "workbench_sweeper_messages_total"}
    # There is no standby here.
    known |= {"workbench_replica_usable", "workbench_replica_lag_seconds", "workbench_replica_acts_total"}
    manual = (ROOT / "docs" / "operating.md").read_text("utf-8")
    documented = set(re.findall(r"\bworkbench_[a-z_]+", "\n".join(re.findall(r"`([^`\n]+)`", manual))))
    named = {name for expression in (*alerts(), *charts()) for name, _ in selected(parsed(expression))}
    named |= documented - {"workbench_app", "workbench_owner"}
    named = {name.removesuffix("_bucket") for name in named} - {"up"}
    assert len(named) > 30
    assert named <= known


def test_alerts_and_charts_sort_by_labels_that_the_figures_have(token: str, scene: Scene) -> None:
    DatabaseLedger(run=scene.run, collection=scene.run.collection).record(an_attempt())
    call_command("verify_audit", stdout=StringIO())
    shown = Client().get("/metrics", headers=BEARER).content.decode()
    labels: dict[str, set[str]] = {"up": set()}
    for family in text_string_to_metric_families(shown):
        for found in family.samples:
            labels.setdefault(found.name.removesuffix("_total"), set()).update(found.labels)
    for figure in vars(counters).values():
        if isinstance(figure, MetricWrapperBase):  # counted nowhere yet, or only by other processes
            labels[figure._name] = labels[f"{figure._name}_bucket"] = {*figure._labelnames, "le"}
    for expression in (*alerts(), *charts()):
        figures_of = dict(selected(parsed(expression)))
        found = set().union(*(labels[name.removesuffix("_total")] for name in figures_of))
        for name, matched in figures_of.items():
            assert matched - {"job"} <= labels[name.removesuffix("_total")], expression
        assert set(re.findall(r"[a-z_]+", " ".join(re.findall(r"by \(([^)]*)\)", expression)))) <= found, (
            expression
        )


def alerts() -> list[str]:
    rules = yaml.safe_load((ROOT / "docs" / "prometheus-rules.yml").read_text("utf-8"))
    return [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def charts() -> list[str]:
    """The expressions of the dashboard."""
    return [target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", ())]


def dashboard() -> dict[str, Any]:
    return json.loads((ROOT / "docs" / "grafana-dashboard.json").read_text("utf-8"))


def parsed(expression: str) -> Any:
    """Read as Prometheus reads it; a variable of Grafana stands for a time."""
    return promql_parser.parse(expression.replace("$__rate_interval", "5m"))


def selected(node: Any) -> Iterator[tuple[str, set[str]]]:
    """The figures that an expression reads, with the labels that it chooses by."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node.name, {matcher.name for matcher in node.matchers.matchers}
    for part in ("lhs", "rhs", "expr", "param", "vector_selector"):
        if (inner := getattr(node, part, None)) is not None:
            yield from selected(inner)
    for argument in getattr(node, "args", ()):
        yield from selected(argument)


def test_the_dashboard_can_be_taken_in_as_it_is() -> None:
    found = dashboard()
    variables = {variable["name"] for variable in found["templating"]["list"]}
    panels = [panel for panel in found["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in found["panels"]}) == len(found["panels"])
    for panel in panels:
        assert panel["datasource"]["uid"] == "${datasource}", "no data source of ours"
        assert panel["title"]
        assert panel["targets"]
        for target in panel["targets"]:
            named = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"}
            assert named <= variables
            # What stands under a line is a label that the expression keeps.
            kept = " ".join(re.findall(r"by \(([^)]*)\)", target["expr"]))
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= set(re.findall(r"\w+", kept))
    taken = [
        (x, y)
        for panel in found["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken)), "no panel lies on another"


# --- settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "found"), [("", None), ("0.0.0.0:9808", ("0.0.0.0", 9808)), ("[::1]:9808", ("::1", 9808))]
)
def test_an_address_and_a_port(raw: str, found: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METRICS_WORKER_ADDRESS", raw)
    assert env.address("METRICS_WORKER_ADDRESS") == found


@pytest.mark.parametrize("raw", ["9808", "host:", ":9808", "host:0", "host:99999", "host:port"])
def test_what_is_none_stops_the_start(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METRICS_WORKER_ADDRESS", raw)
    with pytest.raises(ImproperlyConfigured, match="METRICS_WORKER_ADDRESS"):
        env.address("METRICS_WORKER_ADDRESS")


def test_a_token_that_is_guessed_quickly_stops_the_start(settings: Any) -> None:
    settings.METRICS_TOKEN = "metrics"
    assert "ops.E010" in [message.id for message in run_checks()]
    settings.METRICS_TOKEN = TOKEN
    assert "ops.E010" not in [message.id for message in run_checks()]
