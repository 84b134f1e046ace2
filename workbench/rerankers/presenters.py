"""What the models' pages show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workbench.accounts.models import User
from workbench.infra.choices import options_of
from workbench.infra.crumbs import crumbs
from workbench.infra.dates import day_in_words, days_between, month_in_words
from workbench.infra.plots import Chart, Series, bar_plot, chart, over
from workbench.labeling.models import Label
from workbench.review.feature_words import feature_words
from workbench.runs.models import RoleChoice
from workbench.runs.words import METHOD_LABELS

from . import selectors
from .cards import FIGURES, labels_seen, model_card, seed_of
from .champion import is_withdrawn, serving_now
from .data import outlook_of, training_plan
from .drift import Drift, DriftRow, drift_for
from .forms import ReasonForm, ScheduleForm
from .lineage import models_of_label
from .models import (
    AliasName,
    GateDecision,
    ModelVersion,
    Origin,
    Outcome,
    RunState,
    TrainingRun,
    architecture_words,
)
from .outlook import PACE_DAYS, blind_share_wanted, training_waits_for
from .services import may_move, may_train, next_due, standing_current
from .unmatched import unmatched_seen

#: As ``training.fitting`` has it; a page does not load scikit-learn for a word.
BASELINE = "logistic"
MOST_SHOWN = 24
LABELS_SHOWN = 50
MOST_IMPORTANT = 15
_STATE_WORDS = {
    RunState.DONE: "ready",
    RunState.FAILED: "failed",
    RunState.CANCELLED: "cancelled",
    RunState.QUEUED: "queued",
}


#: Metrics as people know them.
METRICS = {
    "f1": "F1",
    "precision": gettext_lazy("Precision"),
    "recall": gettext_lazy("Recall"),
    "roc_auc": "ROC AUC",
    "brier": gettext_lazy("Brier score"),
    "ece": gettext_lazy("Expected calibration error (ECE)"),
    "mrr": "MRR",
    "p_at_1": "P@1",
    "ndcg_at_5": "NDCG@5",
    "uncertain_share": gettext_lazy("Share left undecided"),
    "pairs": gettext_lazy("Pairs"),
}


def models_page(*, user: User, schedule_form: ScheduleForm | None = None) -> dict[str, Any]:
    """The champion, what the gate decided, who was champion when, trainings, and the schedule."""
    decisions = selectors.decisions_newest(limit=MOST_SHOWN)
    standing = standing_current()
    schedule = standing.schedule
    outlook, new_labels = outlook_of(standing), selectors.labels_since_last_training()
    serving = serving_now()
    champion = serving.champion
    versions = list(selectors.versions_all()[:MOST_SHOWN])
    trainings = list(TrainingRun.objects.select_related("requested_by", "decision")[:10])
    active = next((run for run in trainings if run.is_active), None)
    return {
        "champion": champion,
        "champion_card": _seed_card(champion),
        "champion_refused": serving.is_refused,
        "shadow": serving.shadow,
        "decisions": decisions,
        "f1_plot": _f1_plot(decisions),
        "versions": versions,
        "seed_waits": champion is None and any(version.origin == Origin.SEED for version in versions),
        "moves": list(selectors.moves_all().filter(alias=AliasName.CHAMPION)[:MOST_SHOWN]),
        "trainings": trainings,
        "active": active,
        "progress": training_progress(active) if active else None,
        "schedule": schedule,
        "schedule_form": schedule_form or ScheduleForm.of(schedule),
        "next_due": next_due(schedule),
        "new_labels": new_labels,
        "waiting_for": training_waits_for(
            new=new_labels,
            need=schedule.min_new_labels,
            gained=selectors.labels_of_last_days(PACE_DAYS),
        )
        if schedule.is_on
        else None,
        "blind_share": blind_share_wanted(outlook, share=selectors.blind_share_now()),
        "unmatched": standing.unmatched,
        "outlook": outlook,
        "may_train": may_train(user=user),
        "may_move": may_move(user=user),
    }


def _f1_plot(decisions: list[GateDecision]) -> Chart | None:
    """What the gate decided over the months: F1 of both sides on the gold of each comparison, the oldest first."""
    compared = [decision for decision in reversed(decisions) if decision.challenger_report]
    if not compared:
        return None
    names = [
        _("%(day)s, %(version)s %(outcome)s")
        % {
            "day": day_in_words(decision.created_at.date()),
            "version": decision.challenger,
            "outcome": decision.get_outcome_display(),
        }
        for decision in compared
    ]
    return chart(
        title=_("F1 at each decision"),
        x_label=_("Decision"),
        y_label=_("F1 on the gold set"),
        labels=names,
        tick_labels=[day_in_words(decision.created_at.date()) for decision in compared],
        series=[
            over(
                _("Challenger"),
                [_f1(decision.challenger_report) for decision in compared],
                marks=["chosen" if decision.outcome == Outcome.DEPLOYED else "" for decision in compared],
            ),
            over(_("Model in use"), [_f1(decision.champion_report) for decision in compared]),
        ],
        digits=4,
        top=1.0,
    )


def _f1(report: dict[str, Any] | None) -> float | None:
    return report["metrics"]["f1"] if report else None


def training_progress(run: TrainingRun) -> dict[str, Any]:
    """The stages of a training, for ``_progress.html``; it always ends."""
    done = {stage["stage"]: stage for stage in run.stages}
    order = [RunState.COLLECTING, RunState.TRAINING, RunState.JUDGING]
    stages = []
    for state in order:
        known = done.get(str(state))
        here = "done" if known else "running" if run.state == state else "waiting"
        if not run.is_active and not known:
            here = "failed" if run.state == RunState.FAILED else "skipped"
        detail = known["detail"] if known else run.detail if here == "running" else ""
        stages.append(
            {
                "label": state.label,
                "state": here,
                "elapsed_s": known["seconds"] if known else None,
                "detail": detail,
            }
        )
    end = run.finished_at or timezone.now()
    return {
        "dom_id": f"training-{run.pk}-progress",
        "title": _("Training %(number)d") % {"number": run.pk},
        "state": _STATE_WORDS.get(RunState(run.state), "running"),
        "elapsed_s": max(0.0, (end - run.created_at).total_seconds()),
        "stages": stages,
        "reason": run.failure_reason,
        "poll_url": reverse("models:progress", args=[run.pk]) if run.is_active else "",
    }


def training_page(*, run: TrainingRun, user: User) -> dict[str, Any]:
    """One training: its stages, what it read, what the gate said."""
    decision = GateDecision.objects.filter(run=run).select_related("challenger", "champion", "gold").first()
    return {
        "crumbs": _crumbs(str(run)),
        "run": run,
        "progress": training_progress(run),
        "decision": _decision(decision) if decision else None,
        "may_train": may_train(user=user),
    }


def _crumbs(label: str) -> list[dict[str, str]]:
    return crumbs((_("Models"), reverse("models:models")), here=label)


# --- a model's card ---------------------------------------------------------------------------------


def version_page(
    *, version: ModelVersion, user: User, reason_form: ReasonForm | None = None
) -> dict[str, Any]:
    """The model card: data, figures, limits, where it served, and every label in it that the person may see."""
    card = model_card(version=version, user=user)
    names = {alias.name for alias in version.aliases.all()}
    return {
        "crumbs": _crumbs(version.name),
        "version": version,
        "manifest": version.manifest,
        "is_champion": AliasName.CHAMPION in names,
        "is_shadow": AliasName.SHADOW in names,
        "seed": _seed_card(version),
        "decision": _decision(card.decisions[0]) if card.decisions else None,
        "decisions": card.decisions,
        "report_is_gold": card.is_gold,
        "figures": _figures(card.report),
        "plots": _plots(card.report),
        "confusion": _confusion(card.report),
        "by_collection": [{"name": row.collection.name, **row.figures} for row in card.by_collection],
        "compared": _compared(version),
        "counts": card.labels,
        "labels": list(labels_seen(version=version, user=user)[:LABELS_SHOWN]),
        "moves": list(version.moves.select_related("before", "moved_by")[:MOST_SHOWN]),
        "shadow_comparison": card.in_shadow,
        "may_move": may_move(user=user),
        "may_roll_back": version.passed_at is not None
        and not is_withdrawn(version)
        and AliasName.CHAMPION not in names,
        "reason_form": reason_form or ReasonForm(),
    }


def _compared(version: ModelVersion) -> list[dict[str, Any]]:
    """The architectures that were tried on the same rows, and what became of each."""
    return [
        row
        | {
            "name": architecture_words(name),
            "is_this": name == version.architecture,
            "is_baseline": name == BASELINE,
        }
        for name, row in (version.report or {}).get("compared", {}).items()
    ]


def _seed_card(version: ModelVersion | None) -> dict[str, Any] | None:
    """What is known of the shipped model, when this is it."""
    if version is None or version.origin != Origin.SEED:
        return None
    card = seed_of(version)
    if card is None:
        return {"licences": []}
    parts = [
        (_("Documents it had not seen"), card["held_out_documents"]),
        (_("Questions it had not seen"), card["held_out_questions"]),
    ]
    return card | {
        "parts": [
            {
                "title": title,
                "rows": [
                    {
                        "name": name,
                        "row": row,
                        "sides": [(side, row[side]) for side in ("model", "rules", "semantic")],
                    }
                    for name, row in part.items()
                ],
            }
            for title, part in parts
        ]
    }


def _decision(decision: GateDecision) -> dict[str, Any]:
    champion, challenger = decision.champion_report, decision.challenger_report
    return {
        "row": decision,
        "rows": [
            {
                "name": METRICS[name],
                "champion": champion["metrics"].get(name) if champion else None,
                "challenger": challenger["metrics"].get(name),
            }
            for name in FIGURES
        ]
        if challenger
        else [],
        "champion_name": decision.champion.name if decision.champion else _("the rules"),
        "same_rows": bool(champion and challenger and champion["rows_hash"] == challenger["rows_hash"]),
    }


def _figures(report: dict[str, Any] | None) -> list[dict[str, Any]]:
    metrics = (report or {}).get("metrics", {})
    return [
        {"name": METRICS[name], "value": metrics[name]} for name in FIGURES if metrics.get(name) is not None
    ]


def _plots(report: dict[str, Any] | None) -> dict[str, Any]:
    if not report or not report.get("metrics"):
        return {}
    importance = sorted(report.get("importance", {}).items(), key=lambda item: -item[1])[:MOST_IMPORTANT]
    return {
        "reliability": chart(
            title=_("Reliability"),
            x_label=_("predicted probability"),
            y_label=_("share that was evidence"),
            series=[
                Series(
                    _("share that was evidence"),
                    [(predicted, true) for predicted, true, _count in report["reliability"]],
                )
            ],
            digits=2,
            top=1.0,
            right=1.0,
            has_diagonal=True,
        ),
        "curve": chart(
            title=_("Precision and recall"),
            x_label=_("recall"),
            y_label=_("precision"),
            series=[Series(_("precision"), [tuple(point) for point in report["curve"]])],
            digits=2,
            top=1.0,
            right=1.0,
        ),
        "importance": bar_plot(
            title=_("Fall of ROC AUC when a feature is shuffled"),
            figures=[(feature_words(name), max(0.0, value), None, None) for name, value in importance],
        )
        if importance
        else None,
    }


def _confusion(report: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Per role, as people judged, how many pairs the model would reject, leave open and accept."""
    table = (report or {}).get("confusion", {})
    order = ("primary", "supporting", "tangential", "discarded")
    return [{"role": role, "counts": table[role]} for role in order if role in table]


# --- a dry run --------------------------------------------------------------------------------------


def plan_page(*, user: User) -> dict[str, Any]:
    """What a training would read and measure now, and whether the gate would have enough gold."""
    standing = standing_current()
    plan = training_plan(standing)
    return {
        "crumbs": _crumbs(_("Dry run")),
        "plan": plan,
        "schedule": standing.schedule,
        "enough_gold": plan.has_enough_gold,
        "outlook": plan.outlook,
        "unmatched": list(unmatched_seen(user=user)[:LABELS_SHOWN]) if plan.unmatched else [],
        "may_train": may_train(user=user),
    }


# --- drift and lineage ------------------------------------------------------------------------------


def drift_page(*, user: User) -> dict[str, Any]:
    """Override rates with their alert levels."""
    drift = drift_for(user=user)
    views = [
        (_("By month"), [replace(row, name=month_in_words(row.name)) for row in drift.by_month]),
        (_("By role the machine gave"), _in_words(drift.by_role, dict(options_of(RoleChoice)))),
        (_("By detector"), _in_words(drift.by_detector, METHOD_LABELS)),
        (_("By collection"), drift.by_collection),
    ]
    return {
        "crumbs": _crumbs(_("Drift")),
        "overall": drift.overall,
        "weeks": _drift_weeks(drift),
        "views": [
            {
                "title": title,
                "rows": rows,
                "plot": bar_plot(
                    title=title,
                    figures=[(r.name, r.figure.rate, r.figure.low, r.figure.high) for r in rows],
                    top=1.0,
                    is_share=True,
                ),
            }
            for title, rows in views
            if rows
        ],
    }


def _drift_weeks(drift: Drift) -> Chart | None:
    """The override rate week by week, with its interval; a week without decisions is a gap."""
    known = {date.fromisoformat(row.name): row.figure for row in drift.by_week}
    if not known:
        return None
    weeks = days_between(min(known), max(known), step=7)
    figures = [known.get(week) for week in weeks]
    rates = [None if one is None else 100 * one.rate for one in figures]
    band = [None if one is None else (100 * one.low, 100 * one.high) for one in figures]
    return chart(
        title=_("Override rate by week"),
        x_label=_("Week of"),
        y_label=_("% of decided verdicts"),
        labels=[day_in_words(week) for week in weeks],
        series=[over(_("Override rate"), rates, band=band)],
        unit=" %",
    )


def _in_words(rows: Iterable[DriftRow], words: Mapping[str, Any]) -> list[DriftRow]:
    """The rows under names that people read instead of codes."""
    return [replace(row, name=str(words.get(row.name, row.name))) for row in rows]


def label_page(*, label: Label) -> dict[str, Any]:
    return {
        "crumbs": _crumbs(_("Label %(number)d") % {"number": label.pk}),
        "label": label,
        "models": list(models_of_label(label=label)),
        "overturned": label.snapshots.filter(overturned_at__isnull=False)
        .select_related("overturned_by")
        .first(),
    }
