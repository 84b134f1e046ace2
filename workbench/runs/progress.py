"""The stages of a run on its page, during and after the run."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from .models import Run, RunStatus
from .selectors import run_spent
from .words import spent_words

STAGE_LABELS = {
    "parse": gettext_lazy("Question parsed"),
    "dispatch": gettext_lazy("Detectors chosen"),
    "detect": gettext_lazy("Detectors run"),
    "aggregate": gettext_lazy("Candidates built"),
    "triage": gettext_lazy("Clear cases settled"),
    "arbitrate": gettext_lazy("Verdicts given"),
    "check": gettext_lazy("Quotes checked"),
    "answer": gettext_lazy("Answer written"),
}


def run_progress(*, run: Run) -> dict[str, Any]:
    """The stages of a run for ``_progress.html``, with their times and the cost of models so far."""
    states = {RunStatus.DONE: "ready", RunStatus.FAILED: "failed", RunStatus.CANCELLED: "cancelled"}
    state = states.get(RunStatus(run.status), "queued" if run.status == RunStatus.QUEUED else "running")
    stages = [
        {
            "label": STAGE_LABELS.get(stage["stage"], stage["stage"]),
            "state": "done",
            "elapsed_s": stage.get("ms", 0) / 1000,
            "detail": stage.get("detail", ""),
        }
        for stage in run.stages
    ]
    if state == "running":
        label = run.get_status_display()
        stages.append({"label": label, "state": "running", "elapsed_s": _seconds_of_the_current_stage(run)})
    return {
        "dom_id": "run-progress",
        "title": _("Progress"),
        "state": state,
        "elapsed_s": _seconds_of(run),
        "spent": _spent_so_far(run),
        "stages": stages,
        "reason": run.failure_reason,
        "cancel_url": None if run.is_ended else reverse("questions:cancel", args=[run.pk]),
    }


def _spent_so_far(run: Run) -> str:
    """The model cost so far, for the progress; nothing before a model has answered. A finished run has its figures on
    its own row."""
    calls, usd, unpriced = (0, Decimal(0), 0) if run.status == RunStatus.DONE else run_spent(run=run)
    return ", ".join(spent_words(calls, usd, unpriced)) if calls else ""


def _seconds_of(run: Run) -> float:
    """The duration of the run so far, including waiting. For a finished run, the duration of its stages."""
    if run.elapsed_ms is not None:
        return run.elapsed_ms / 1000
    return max(0.0, ((run.finished_at or timezone.now()) - run.created_at).total_seconds())


def _seconds_of_the_current_stage(run: Run) -> float | None:
    """Seconds since the previous stage ended; None for runs of older versions, which did not record that."""
    since = run.stages[-1].get("ended_at") if run.stages else run.created_at.isoformat()
    return max(0.0, (timezone.now() - datetime.fromisoformat(since)).total_seconds()) if since else None
