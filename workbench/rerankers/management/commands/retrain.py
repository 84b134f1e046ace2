"""``manage.py retrain [--dry-run]``: trains a challenger from the labels and lets the gate decide."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from training.report import ModelReport
from workbench.accounts.selectors import system_user
from workbench.infra.commands import JsonCommand
from workbench.rerankers.models import GateDecision, ModelVersion, RunState, TrainingRun, Way
from workbench.rerankers.services import training_claimed_here
from workbench.rerankers.trainings import RULES, Judged, run_training, training_rehearse


class Command(JsonCommand):
    help = (
        "Trains a challenger from all labels. The gate deploys it only if its F1 on the gold holdout "
        "improves."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--dry-run", action="store_true", help="train and evaluate, but store and deploy nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.emit(_rehearsed() if options["dry_run"] else _trained(), human=_in_words)


def _rehearsed() -> dict[str, Any]:
    rehearsal = training_rehearse()
    judged, rows = rehearsal.judged, rehearsal.data.training
    return {
        "snapshot": rows.content_hash,
        "rows": len(rows.training),
        "holdout_rows": len(rehearsal.data.gold),
        "gold_rows": len(rehearsal.data.yardstick(judged.policy)[1]),
        "way": judged.judgement.way,
        "champion": _side(_champion_name(judged), judged.champion_report),
        "challenger": _side("not stored", judged.challenger_report) if judged.challenger_report else None,
        "decision": judged.judgement.outcome,
        "reasons": list(judged.judgement.reasons),
        "dry_run": True,
    }


def _champion_name(judged: Judged) -> str:
    return judged.compared_with.name if judged.compared_with else RULES


def _trained() -> dict[str, Any]:
    run = training_claimed_here(actor=system_user())
    run_training(run_id=run.pk)
    run = TrainingRun.objects.select_related("snapshot").get(pk=run.pk)
    if run.state != RunState.DONE:
        raise CommandError(run.failure_reason or f"The training is {run.get_state_display()}.")
    decision = GateDecision.objects.select_related("champion", "challenger", "gold").get(run=run)
    return {
        "snapshot": run.snapshot.content_hash if run.snapshot else None,
        "rows": run.snapshot.rows if run.snapshot else 0,
        "holdout_rows": decision.gold.rows if decision.gold and decision.way == Way.HOLDOUT else 0,
        "gold_rows": decision.gold.rows if decision.gold else 0,
        "way": decision.way,
        "champion": _stored(decision.champion, decision.champion_report),
        "challenger": _stored(decision.challenger, decision.challenger_report)
        if decision.challenger
        else None,
        "decision": decision.outcome,
        "reasons": decision.reasons,
        "dry_run": False,
    }


def _stored(version: ModelVersion | None, report: dict[str, Any] | None) -> dict[str, Any]:
    return _side(version.name if version else RULES, ModelReport.model_validate(report) if report else None)


def _side(name: str, report: ModelReport | None) -> dict[str, Any]:
    """Version and figures of one side on the gold rows. ``f1`` is null if nothing could be compared."""
    figures = dict(report.metrics) if report else {"f1": None}
    return {"version": name, **figures, "gold": report.rows_hash if report else None}


def _in_words(value: dict[str, Any]) -> str:
    snapshot = str(value["snapshot"])[:12]
    decision = f"would be {value['decision']}" if value["dry_run"] else value["decision"]
    return (
        f"{value['rows']} rows to train on, {value['gold_rows']} gold rows; snapshot {snapshot}\n"
        f"{decision}: {'; '.join(value['reasons'])}"
    )
