"""What is, read when it is asked: states of rows, queues of the broker, room on the disk.

Each query counts by states, reads an index or a small table, and is stopped after two seconds, so that asking for
figures never adds to the trouble that the figures show.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Min, QuerySet
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from workbench.audit.models import AuditEvent, AuditPending, AuditSeal, AuditVerification
from workbench.celery import app
from workbench.checklists.models import Cell
from workbench.documents.models import Document, DocumentStatus
from workbench.infra.replica import is_configured, replica_state
from workbench.rerankers.models import GateDecision, ModelAlias, Outcome, RunState, TrainingRun
from workbench.runs.gateway import endpoint_trouble, llm_control, spent_this_month
from workbench.runs.models import Run, RunStatus
from workbench.webhooks.models import Delivery, DeliveryState, Webhook, WebhookState

QUERY_MILLISECONDS = 2000
#: Runs that wait for a worker; the others that are not ended are held by one.
RUNS_WAITING = (RunStatus.QUEUED, RunStatus.DETECTED, RunStatus.ARBITRATED)


@contextmanager
def _bounded_queries() -> Iterator[None]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {QUERY_MILLISECONDS}")
        yield


def _gauge(name: str, meaning: str, values: dict[str, float], *, label: str) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family


def _single(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)


def _by_state(rows: QuerySet[Any], field: str, states: Iterable[str]) -> dict[str, float]:
    """How many rows are in each state, those in none included."""
    found = dict(rows.order_by().values_list(field).annotate(Count("pk")))
    return {str(state): found.get(state, 0) for state in states}


def _age(moment: datetime | None) -> float:
    """Seconds since; 0 for no moment."""
    return max((timezone.now() - moment).total_seconds(), 0.0) if moment else 0.0


def waiting() -> Iterable[Metric]:
    """Documents and runs by state, and how long the oldest has waited for a worker."""
    with _bounded_queries():
        documents = _by_state(Document.objects.all(), "status", DocumentStatus.values)
        runs = _by_state(Run.objects.all(), "status", RunStatus.values)
        cells = Cell.objects.filter(run__isnull=True, failure="")
        oldest = {
            "documents": _oldest(Document.objects.filter(status=DocumentStatus.QUEUED), "created_at"),
            "runs": _oldest(Run.objects.filter(status__in=RUNS_WAITING), "created_at"),
            "question_set_cells": _oldest(cells, "round__created_at"),
        }
        unasked = cells.count()
    return [
        _gauge("workbench_documents", "Documents by state.", documents, label="status"),
        _gauge("workbench_runs", "Runs by state.", runs, label="status"),
        _single("workbench_question_set_cells_waiting", "Questions of sets still to ask.", unasked),
        _gauge(
            "workbench_oldest_waiting_seconds",
            "Age of the oldest that waits for a worker.",
            oldest,
            label="kind",
        ),
    ]


def _oldest(rows: QuerySet[Any], field: str) -> float:
    return _age(rows.aggregate(oldest=Min(field))["oldest"])


def trail() -> Iterable[Metric]:
    """The audit trail: sealed, waiting for a seal, and when the chain was last verified."""
    with _bounded_queries():
        sealed = AuditSeal.objects.order_by("-position").values_list("position", flat=True).first() or 0
        unsealed = AuditPending.objects.count()
        first = AuditPending.objects.order_by("event_id").values("event_id")[:1]
        oldest = AuditEvent.objects.filter(pk__in=first).values_list("created_at", flat=True).first()
        verified = AuditVerification.objects.order_by("-id").first()
    yield CounterMetricFamily("workbench_audit_events_sealed", "Events in the hash chain.", value=sealed)
    yield _single("workbench_audit_events_unsealed", "Events that wait for their place in it.", unsealed)
    yield _single("workbench_audit_oldest_unsealed_seconds", "Age of the first that waits.", _age(oldest))
    if verified is not None:
        yield _single("workbench_audit_verified_ok", "1: the last verification found it whole.", verified.ok)
        yield _single(
            "workbench_audit_verified_age_seconds",
            "Time since verify_audit last read the whole chain.",
            _age(verified.created_at),
        )


def models() -> Iterable[Metric]:
    """What came of trainings: what the gate decided, states, which model serves."""
    with _bounded_queries():
        decisions = _by_state(GateDecision.objects.all(), "outcome", Outcome.values)
        trainings = _by_state(TrainingRun.objects.all(), "state", RunState.values)
        serving = dict(ModelAlias.objects.values_list("name", "version__number"))
    family = CounterMetricFamily("workbench_model_decisions", "Decisions of the gate.", labels=["outcome"])
    for outcome, number in decisions.items():
        family.add_metric([outcome], number)
    yield family
    yield _gauge("workbench_trainings", "Trainings by state.", trainings, label="state")
    yield _gauge("workbench_model_serving", "Number of the model in a place.", serving, label="place")


def webhooks() -> Iterable[Metric]:
    """Webhooks and their deliveries by state; old deliveries go after a while."""
    with _bounded_queries():
        deliveries = _by_state(Delivery.objects.all(), "state", DeliveryState.values)
        states = _by_state(Webhook.objects.all(), "state", WebhookState.values)
    return [
        _gauge("workbench_webhook_deliveries", "Deliveries by state.", deliveries, label="state"),
        _gauge("workbench_webhooks", "Webhooks by state.", states, label="state"),
    ]


def language_models() -> Iterable[Metric]:
    """The switch, the month's cost and its limit, and whether the endpoint keeps failing by the ledger of all."""
    with _bounded_queries():
        control, spent, trouble = llm_control(), spent_this_month(), endpoint_trouble()
    yield _single("workbench_llm_stopped", "1: an administrator stopped language models.", control.is_stopped)
    yield _single("workbench_llm_month_cost_usd", "Spent since the first of the month.", float(spent))
    if control.month_budget is not None:
        budget = float(control.month_budget)
        yield _single("workbench_llm_month_budget_usd", "The most a month may cost.", budget)
    yield _single("workbench_llm_endpoint_failing", "1: the last calls all failed.", trouble is not None)


def queues() -> Iterable[Metric]:
    """Messages that wait in each queue of the broker, and those a worker holds."""
    names = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    with app.connection_for_read() as broker:
        channel: Any = broker.default_channel  # that of the Redis transport
        depths = {
            name: channel.client.llen(name) for name in sorted({*names, settings.CELERY_TASK_DEFAULT_QUEUE})
        }
        held = channel.client.hlen(channel.unacked_key)
    yield _gauge("workbench_queue_messages", "Messages that wait for a worker.", depths, label="queue")
    yield _single("workbench_queue_held_messages", "Messages that workers hold.", held)


def disk() -> Iterable[Metric]:
    """Room where WORKBENCH_HOME lies."""
    usage = shutil.disk_usage(Path(settings.WORKBENCH_HOME))
    yield _single("workbench_disk_free_bytes", "Free room where WORKBENCH_HOME lies.", usage.free)
    yield _single("workbench_disk_bytes", "All room there.", usage.total)


def replica() -> Iterable[Metric]:
    """The standby that reading acts may use, where there is one."""
    if not is_configured():
        return
    state = replica_state()
    yield _single("workbench_replica_usable", "1: reading acts may use the standby.", not state.reason)
    if state.lag_seconds is not None:
        yield _single("workbench_replica_lag_seconds", "How far it is behind.", state.lag_seconds)


#: What the web process shows besides what was counted.
FIGURES: dict[str, Callable[[], Iterable[Metric]]] = {
    "waiting": waiting,
    "trail": trail,
    "models": models,
    "webhooks": webhooks,
    "language_models": language_models,
    "queues": queues,
    "disk": disk,
    "replica": replica,
}
