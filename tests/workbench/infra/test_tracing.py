"""Spans: off without a collector; with the ids of log lines, without a word of documents, questions or statements."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from celery import shared_task
from django.db import connection
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.operations.test_metrics import an_attempt
from tests.workbench.scene import Scene
from workbench.infra import tracing
from workbench.runs.gateway import DatabaseLedger

memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")

ROOT = Path(__file__).resolve().parents[3]
SECRET = "gallstone"


@pytest.fixture
def spans() -> Iterator[Callable[[], list[Any]]]:
    """Gives the spans so far."""
    exporter = memory.InMemorySpanExporter()
    started = tracing.start_tracing(exporter=exporter)
    assert started is not None
    assert len(started.instruments) == 3
    yield lambda: list(exporter.get_finished_spans())
    started.stop()


def named(spans: list[Any], name: str) -> Any:
    found = [span for span in spans if span.name == name]
    assert found, [span.name for span in spans]
    return found[-1]


def test_a_request_is_found_by_the_id_it_was_answered_with(
    spans: Callable[[], list[Any]], cast: Cast, client_as: Callable[..., Client]
) -> None:
    response = client_as(cast.analyst).get("/documents/4711/")
    span = named(spans(), "GET documents/<int:pk>/")
    assert span.attributes["workbench.request_id"] == response["X-Request-Id"]
    assert span.attributes["workbench.view"] == "documents:document"
    assert span.attributes["http.status_code"] == 404


def test_no_word_of_anybody_leaves(
    spans: Callable[[], list[Any]], cast: Cast, scene: Scene, client_as: Callable[..., Client]
) -> None:
    client = client_as(cast.analyst)
    client.get(f"/runs/?q={SECRET}", headers={"tracestate": f"v={SECRET}", "User-Agent": SECRET})
    client.get(
        f"/no/such/{SECRET}",
        headers={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": f"v={SECRET}"},
    )
    client.post("/questions/", {"text": SECRET})
    with connection.copy().cursor() as cursor:  # a connection made after the instruments were put in
        cursor.execute("SELECT %s, 'gallstone'", [SECRET])
        cursor.connection.close()
    fails.apply(kwargs={"words": SECRET, "run_id": 5})
    DatabaseLedger(run=scene.run, collection=scene.run.collection).record(
        an_attempt(request_body={"user": SECRET}, response_body=SECRET)
    )
    found = spans()
    assert {"SELECT", "run/tests.fails", "llm call"} <= {span.name for span in found}
    sent = json.dumps([json.loads(span.to_json()) for span in found])
    for word in (SECRET, "sk-secret", "user:pass", cast.analyst.email, "sessionid"):
        assert word not in sent
    assert all(set(span.attributes) <= tracing.KEPT for span in found)
    assert all(not span.context.trace_state for span in found)


def test_a_task_carries_its_id_and_its_run_and_is_told_to_have_failed(spans: Callable[[], list[Any]]) -> None:
    task_id = fails.apply(kwargs={"words": "x", "run_id": 5}).id
    span = named(spans(), "run/tests.fails")
    assert span.attributes["workbench.task_id"] == task_id
    assert span.attributes["workbench.run_id"] == "5"
    assert span.status.status_code.name == "ERROR"
    assert span.status.description is None
    assert [dict(event.attributes) for event in span.events] == [{"exception.type": "ValueError"}]


def test_a_call_stands_beneath_the_task_that_made_it(spans: Callable[[], list[Any]], scene: Scene) -> None:
    context = structlog.contextvars.get_contextvars()
    asks.apply(kwargs={"run_id": scene.run.pk})
    task, call = named(spans(), "run/tests.asks"), named(spans(), "llm call")
    assert call.parent.span_id == task.context.span_id
    assert call.attributes["server.address"] == "models.example:8443"
    assert call.attributes["workbench.run_id"] == str(scene.run.pk)
    assert call.end_time - call.start_time == 1_500_000_000
    assert structlog.contextvars.get_contextvars() == context, "a task leaves nothing behind"


def test_log_lines_name_the_trace(spans: Callable[[], list[Any]]) -> None:
    lines: list[dict[str, Any]] = []
    notes.apply(kwargs={"lines": lines})
    span = named(spans(), "run/tests.notes")
    (line,) = lines
    assert line["trace_id"] == f"{span.context.trace_id:032x}"
    assert line["span_id"] == f"{span.context.span_id:016x}"


def test_outside_of_a_trace_and_while_it_is_off_they_name_none() -> None:
    assert tracing.add_trace_ids(None, "info", {"event": "x"}) == {"event": "x"}
    assert tracing.here() is None
    assert tracing.start_tracing() is None


_IMPORTED = """
import sys
import workbench.wsgi
from workbench.infra import tracing
# redis-py itself looks for other parts of it.
ours = ("opentelemetry.instrumentation", "opentelemetry.exporter", "opentelemetry.sdk.trace")
print(any(name.startswith(ours) for name in sys.modules), tracing._tracing is not None)
"""


@pytest.mark.parametrize(
    ("endpoint", "said"), [("", "False False"), ("http://127.0.0.1:9/", "True True")], ids=["off", "on"]
)
def test_nothing_of_it_is_imported_until_a_collector_is_named(endpoint: str, said: str) -> None:
    given = {"DJANGO_SETTINGS_MODULE": "workbench.settings.test", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTED], cwd=ROOT, env=os.environ | given, capture_output=True, check=False,
        timeout=240,
    )  # fmt: skip
    assert done.stdout.decode().strip() == said, done.stderr.decode()


@shared_task(name="tests.fails")
def fails(*, words: str, run_id: int) -> None:
    raise ValueError(f"cannot read: {words}")


@shared_task(name="tests.asks")
def asks(*, run_id: int) -> None:
    from workbench.runs.models import Run

    run = Run.objects.get(pk=run_id)
    DatabaseLedger(run=run, collection=run.collection).record(an_attempt(outcome="ok"))


@shared_task(name="tests.notes")
def notes(*, lines: list[dict[str, Any]]) -> None:
    lines.append(dict(tracing.add_trace_ids(None, "info", {"event": "x"})))
