"""What processes count. Counting never fails what is counted, and no label has endless values."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

import structlog

from . import files

IN_FOLDER = files.use_folder()  # before the library makes its first figure

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.multiprocess import MultiProcessCollector

logger = structlog.get_logger(__name__)

#: Different values that a label has at most in a process; further ones are counted as "other".
MOST_VALUES = {"view": 800, "task": 100, "endpoint": 20, "model": 20, "outcome": 40}
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
#: Upper bounds, in seconds.
REQUEST_SECONDS = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
TASK_SECONDS = (0.05, 0.25, 1, 2.5, 5, 10, 30, 60, 300, 1800)
CALL_SECONDS = (0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120)

REGISTRY = CollectorRegistry()

_requests = Counter(
    "workbench_http_requests", "Requests answered.", ["view", "method", "status"], registry=REGISTRY
)
_request_seconds = Histogram(
    "workbench_http_request_seconds",
    "Time until a request was answered.",
    ["view", "method"],
    buckets=REQUEST_SECONDS,
    registry=REGISTRY,
)
_tasks_started = Counter(
    "workbench_tasks_started",
    "Tasks begun; those begun and not ended run now, or lost their worker.",
    ["task"],
    registry=REGISTRY,
)
_tasks = Counter("workbench_tasks", "Tasks ended.", ["task", "outcome"], registry=REGISTRY)
_task_seconds = Histogram(
    "workbench_task_seconds",
    "Time a task took.",
    ["task"],
    buckets=TASK_SECONDS,
    registry=REGISTRY,
)
_swept = Counter(
    "workbench_sweeper_messages",
    "Messages that a sweeper sent, for work that nobody held.",
    ["task"],
    registry=REGISTRY,
)
_calls = Counter(
    "workbench_llm_calls",
    "Attempts at calls of language models, also those refused here.",
    ["endpoint", "model", "outcome"],
    registry=REGISTRY,
)
_call_seconds = Histogram(
    "workbench_llm_call_seconds",
    "Time an attempt that was sent took.",
    ["endpoint", "model"],
    buckets=CALL_SECONDS,
    registry=REGISTRY,
)
_tokens = Counter(
    "workbench_llm_tokens",
    "Tokens; input counts the cached ones too.",
    ["endpoint", "model", "kind"],
    registry=REGISTRY,
)
_cost = Counter(
    "workbench_llm_cost_usd", "Cost by the prices of the settings.", ["endpoint", "model"], registry=REGISTRY
)
_circuit = Gauge(
    "workbench_llm_circuit_open",
    "Processes that leave the endpoint alone for now, after failures in a row.",
    ["endpoint", "model"],
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
_replica = Counter(
    "workbench_replica_acts",
    "Reading acts that a standby could have answered, and whether it did.",
    ["outcome"],
    registry=REGISTRY,
)


def counted() -> Iterable[Metric]:
    """Everything counted so far: by all processes of this machine where they share a folder, else by this one."""
    if IN_FOLDER:
        return MultiProcessCollector.merge(files.counted_files())
    return REGISTRY.collect()


class _Known:
    """The values a label has had; only so many are told apart."""

    def __init__(self) -> None:
        self._values: dict[str, set[str]] = defaultdict(set)
        self._lock = threading.Lock()

    def bounded(self, label: str, value: str) -> str:
        known = self._values[label]
        if value in known:
            return value
        with self._lock:
            if len(known) >= MOST_VALUES[label]:
                return "other"
            known.add(value)
        return value


_known = _Known()


def _quietly(count: Callable[..., None]) -> Callable[..., None]:
    """Whatever goes wrong with counting (a full disk, say) is logged, and the work goes on."""

    @wraps(count)
    def counts(**figures: Any) -> None:
        try:
            count(**figures)
        except Exception as error:
            logger.warning("metrics.not_counted", figure=count.__name__, error=type(error).__name__)

    return counts


@_quietly
def request_ended(*, view: str, method: str, status: int, seconds: float) -> None:
    """A request was answered; ``view`` is the name in the map of addresses, "" where none was found."""
    view = _known.bounded("view", view or "none")
    method = method if method in METHODS else "other"
    _requests.labels(view, method, str(status)).inc()
    _request_seconds.labels(view, method).observe(seconds)


@_quietly
def task_started(*, task: str) -> None:
    """A worker began a task."""
    _tasks_started.labels(_known.bounded("task", task)).inc()


@_quietly
def task_ended(*, task: str, outcome: str, seconds: float | None) -> None:
    """A task ended; ``outcome`` is Celery's state in small letters."""
    task = _known.bounded("task", task)
    _tasks.labels(task, _known.bounded("outcome", outcome)).inc()
    if seconds is not None:
        _task_seconds.labels(task).observe(seconds)


@_quietly
def sweeper_sent(*, task: str) -> None:
    """A sweeper woke a worker for a row that nobody held."""
    _swept.labels(_known.bounded("task", task)).inc()


@_quietly
def call_ended(
    *,
    endpoint: str,
    model: str,
    outcome: str,
    was_sent: bool,
    seconds: float,
    tokens: dict[str, int],
    cost: float,
) -> None:
    """An attempt at a language model ended. ``endpoint`` is its address, of which only the host is shown."""
    endpoint, model = host_of(endpoint), _known.bounded("model", model)
    endpoint = _known.bounded("endpoint", endpoint)
    _calls.labels(endpoint, model, _known.bounded("outcome", outcome)).inc()
    if was_sent:
        _call_seconds.labels(endpoint, model).observe(seconds)
    for kind, number in tokens.items():
        if number:
            _tokens.labels(endpoint, model, kind).inc(number)
    if cost:
        _cost.labels(endpoint, model).inc(cost)


@_quietly
def circuit_is(*, endpoint: str, model: str, is_open: bool) -> None:
    """Whether this process leaves the endpoint alone."""
    labels = _known.bounded("endpoint", host_of(endpoint)), _known.bounded("model", model)
    _circuit.labels(*labels).set(int(is_open))


@_quietly
def replica_asked(*, outcome: str) -> None:
    """A reading act began: "read" for the standby, else why the primary answers."""
    _replica.labels(outcome).inc()


def host_of(address: str) -> str:
    """Host and port of an address: the rest may hold a key."""
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.hostname}{port}" if parts.hostname else "other"
    except ValueError:
        return "other"
