"""One training, from the labels to the gate's decision.

The worker claims the run by its state and a lease, works outside any transaction, and writes the outcome in one
transaction: model, decision, alias and audit events, or nothing. A worker that dies leaves the champion as it was; the
sweeper fails the run on record, and the next one may start.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import structlog
from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from arbitration.features import FEATURE_NAMES, FEATURE_VERSION
from arbitration.settings import EngineSettings
from training.artifacts import ArtifactRefused, Manifest, model_version
from training.crossfit import Recipe, cross_fitted
from training.fitting import BASELINE, Architecture, NotEnoughData, TrainingConfig
from training.gate import Contender, GatePolicy, Way, decide, gold_counts, gold_missing
from training.gate import GateDecision as Judgement
from training.report import ModelReport, model_report, permutation_importance
from training.run import TrainedModel, train_model
from training.scorer import RerankerScorer, open_scorer
from training.snapshot import Dataset
from workbench.audit.actions import Action
from workbench.audit.locks import LockSpace, advisory_lock
from workbench.audit.services import audit_record
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.leases import Heartbeat, LeaseLost, lease_claim, leased, new_owner
from workbench.runs.gateway import give_connection_back

from .aliases import champion_deploy
from .champion import ServedModel, champion_version, model_load
from .data import LearningData, gate_policy, gold_freeze, learning_data, rows_of, training_snapshot_freeze
from .failing import training_fail
from .lineage import labels_withdrawn
from .mlflow_log import is_configured
from .models import (
    ACTIVE_STATES,
    GateDecision,
    ModelVersion,
    Origin,
    RunState,
    Snapshot,
    TrainingRun,
    architecture_words,
)
from .store import artifact_get, artifact_put

logger = structlog.get_logger(__name__)

RULES = "the rules"


def run_training(*, run_id: int) -> None:
    """Carries out a queued training, unless somebody has it or it has ended."""
    owner = new_owner()
    if not lease_claim(TrainingRun.objects.filter(pk=run_id, state=RunState.QUEUED), owner=owner):
        return
    with leased(TrainingRun.objects.filter(pk=run_id), owner=owner) as heartbeat:
        attempt = _Attempt(run_id=run_id, owner=owner, heartbeat=heartbeat)
        try:
            attempt.carry_out()
        except LeaseLost:
            logger.warning("training.lease_lost", run_id=run_id)
        except (ArtifactRefused, ChampionMoved, LabelsWithdrawn) as error:
            attempt.fail(str(error))
        except Exception as error:
            # Nothing fails silently: whatever it was stands on the run, and the log has the rest.
            logger.exception("training.failed", run_id=run_id)
            attempt.fail(
                _("An error of the program stopped this training: %(kind)s. The log says more.")
                % {"kind": type(error).__name__}
            )
            raise


class ChampionMoved(Exception):
    """Somebody moved the alias while a challenger was compared with the former champion."""


class LabelsWithdrawn(Exception):
    """A collection ended its contribution while its labels were trained on."""


@dataclass(frozen=True, slots=True)
class Challenger:
    """A model to be judged: freshly trained (``model``), or trained before from the same rows (``version``), with its
    report on unseen questions."""

    model: TrainedModel | None
    version: ModelVersion | None
    report: dict[str, Any]

    @property
    def scorer(self) -> RerankerScorer:
        """The model, ready to score. Raises :class:`ArtifactRefused`."""
        if self.model is not None:
            return self.model.scorer
        assert self.version is not None
        return model_load(self.version).scorer

    @property
    def name(self) -> str:
        """The name it has, or will have."""
        return self.version.name if self.version else f"v{_next_number()}"


@dataclass(slots=True)
class _Attempt:
    """One worker at one run."""

    run_id: int
    owner: str
    heartbeat: Heartbeat
    stages: list[dict[str, Any]] = field(default_factory=list)

    def carry_out(self) -> None:
        with self._stage(RunState.COLLECTING):
            data = learning_data(beat=self._beat)
            policy = gate_policy()
            _way, rows = data.yardstick(policy)
            with transaction.atomic():
                snapshot, gold = training_snapshot_freeze(data), gold_freeze(data, rows)
                self._write(snapshot=snapshot)
            self._tell(_rows_in_words(data, rows))
        with self._stage(RunState.TRAINING):
            give_connection_back()
            challenger = self._challenger(data, snapshot)
        with self._stage(RunState.JUDGING):
            judged = judge(data, challenger, policy)
        self._conclude(challenger, judged, snapshot=snapshot, gold=gold)

    def _challenger(self, data: LearningData, snapshot: Snapshot) -> Challenger | NotEnoughData:
        """The trained model; the stored one where the same rows were trained on the same way before."""
        config = TrainingConfig.model_validate(TrainingRun.objects.get(pk=self.run_id).config)
        digest = model_version(snapshot_hash=snapshot.content_hash, config_digest=config.digest)
        known = ModelVersion.objects.filter(digest=digest, feature_version=FEATURE_VERSION).first()
        if known is not None:
            self._tell(_("The same labels were trained as %(version)s already.") % {"version": known})
            return Challenger(None, known, known.report)
        try:
            trained = train_model(
                data.training,
                config=config,
                embedding_space=snapshot.embedding_space,
                progress=lambda name, done, total: self._tell(_fold_in_words(name, done + 1, total)),
            )
        except NotEnoughData as error:
            self._tell(str(error))
            return error
        artifact_put(trained.artifact)
        open_scorer(artifact_get(digest))  # what was written is what can be read
        return Challenger(trained, None, validation_report(trained, data.training.training))

    def _conclude(
        self,
        challenger: Challenger | NotEnoughData,
        judged: Judged,
        *,
        snapshot: Snapshot,
        gold: Snapshot | None,
    ) -> None:
        with transaction.atomic():
            advisory_lock(LockSpace.TRAINING)
            advisory_lock(LockSpace.MODEL_ALIAS)
            self._close()
            _require_unchanged(judged, snapshots=[snapshot, gold])
            run = TrainingRun.objects.select_related("requested_by").get(pk=self.run_id)
            version = _version_of(challenger, snapshot)
            decision = _decision_create(run, version, judged, gold=gold)
            TrainingRun.objects.filter(pk=run.pk).update(challenger=version)
            audit_record(
                actor=run.requested_by,
                actor_kind="worker",
                action=Action.TRAINING_DECIDED,
                obj=run,
                after={
                    "version": version.name if version else None,
                    "snapshot": snapshot.content_hash,
                    "gold": judged.judgement.gold,
                    "outcome": decision.outcome,
                },
                reason="; ".join(judged.judgement.reasons)[:300],
            )
            if is_configured():
                dispatch_on_commit("models.log", run_id=run.pk)
            if decision.outcome == "deployed":
                champion_deploy(actor=run.requested_by, decision=decision)

    def _close(self) -> None:
        changed = TrainingRun.objects.filter(
            pk=self.run_id, lease_owner=self.owner, state__in=ACTIVE_STATES
        ).update(
            state=RunState.DONE,
            finished_at=Now(),
            stages=self.stages,
            detail="",
            lease_owner="",
            lease_until=None,
        )
        if changed != 1:
            raise LeaseLost

    def fail(self, reason: str) -> None:
        """Ends the run on record; the champion stays."""
        training_fail(run_id=self.run_id, owner=self.owner, reason=reason)

    def _write(self, **values: Any) -> None:
        mine = TrainingRun.objects.filter(pk=self.run_id, lease_owner=self.owner, state__in=ACTIVE_STATES)
        if mine.update(**values) != 1:
            raise LeaseLost

    @contextmanager
    def _stage(self, state: str) -> Iterator[None]:
        started = time.monotonic()
        self._write(state=state, detail="", **({} if self.stages else {"started_at": Now()}))
        yield
        self.heartbeat.check()
        detail = TrainingRun.objects.values_list("detail", flat=True).get(pk=self.run_id)
        self.stages.append(
            {"stage": str(state), "seconds": round(time.monotonic() - started, 2), "detail": detail}
        )
        self._write(stages=self.stages)

    def _tell(self, detail: str) -> None:
        self._write(detail=detail[:300])

    def _beat(self, done: int, total: int) -> None:
        if done % 25 == 0 or done == total:
            self._tell(_("candidate lists read: %(done)d of %(total)d") % {"done": done, "total": total})


def _fold_in_words(name: str, number: int, total: int) -> str:
    return _("%(architecture)s: part %(number)d of %(total)d") % {
        "architecture": architecture_words(name),
        "number": number,
        "total": total,
    }


def _rows_in_words(data: LearningData, gold: Dataset) -> str:
    return _("%(rows)d labels to train on, %(gold)d gold labels") % {
        "rows": len(data.training.training),
        "gold": len(gold),
    }


def validation_report(trained: TrainedModel, data: Dataset) -> dict[str, Any]:
    """Figures and curves on the training questions, each judged by a classifier that had not seen it."""
    chosen = trained.result.chosen
    report = model_report(data, chosen.unseen, threshold=chosen.threshold)
    compared = {
        candidate.architecture: {
            "f1": candidate.validation.f1,
            "roc_auc": candidate.validation.roc_auc,
            "mrr": candidate.validation.mrr,
            "ece": candidate.validation.ece,
            "seconds": round(candidate.seconds, 2),
        }
        for candidate in trained.result.candidates
    }
    return report.model_dump(mode="json") | {"compared": compared}


# --- a rehearsal ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a training would do now: nothing of it is stored but feature rows."""

    data: LearningData
    judged: Judged


def training_rehearse(*, config: TrainingConfig | None = None) -> Rehearsal:
    """Trains and judges without model, decision or deployment."""
    data, policy = learning_data(), gate_policy()
    try:
        trained = train_model(data.training, config=config)
    except NotEnoughData as error:
        return Rehearsal(data, judge(data, error, policy))
    return Rehearsal(data, judge(data, Challenger(trained, None, {}), policy))


# --- the gate ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judged:
    """The gate's word, with the reports of both sides on the gold rows."""

    judgement: Judgement
    champion_version: ModelVersion | None  # what the alias named when the comparison was made
    compared_with: ModelVersion | None  # None where the rules were the bar
    champion_report: ModelReport | None
    challenger_report: ModelReport | None
    policy: GatePolicy


def judge(data: LearningData, challenger: Challenger | NotEnoughData, policy: GatePolicy) -> Judged:
    """Scores both sides on the same gold rows and lets the gate decide; too few labels are refused here."""
    way, gold = data.yardstick(policy)
    served, named = _bar()

    def refused(reason: str) -> Judged:
        said = Judgement("refused", (reason,), gold.digest, None, None, None, served is None, way)
        return Judged(said, named, named if served else None, None, None, policy)

    if isinstance(challenger, NotEnoughData):
        return refused(str(challenger))
    missing = gold_missing(gold_counts(gold), policy, way)
    if missing:  # nothing is trained anew for a comparison that cannot be made
        return refused(missing[0])
    try:
        new = _challenger_contender(data, challenger, way, gold)
        old = _champion_contender(data, served, named, way, gold)
    except NotEnoughData as error:
        return refused(str(error))
    judgement = decide(
        gold=gold,
        challenger=new,
        champion=old,
        serving_feature_version=FEATURE_VERSION,
        is_first=served is None,
        policy=policy,
        way=way,
    )
    compared = judgement.challenger is not None
    probabilities = challenger.scorer.probabilities
    importance = permutation_importance(gold, probabilities, FEATURE_NAMES) if compared else None
    return Judged(
        judgement=judgement,
        champion_version=named,
        compared_with=named if served is not None else None,
        champion_report=_report(gold, old) if compared else None,
        challenger_report=_report(gold, new, importance) if compared else None,
        policy=policy,
    )


def _challenger_contender(data: LearningData, challenger: Challenger, way: Way, gold: Dataset) -> Contender:
    scorer = challenger.scorer
    if way == "holdout":
        return Contender(
            challenger.name, scorer.feature_version, scorer.threshold, scorer.probabilities(gold.features)
        )
    return cross_fitted(
        _recipe(scorer.manifest, data.training.training),
        gold,
        version=challenger.name,
        feature_version=scorer.feature_version,
    )


def _recipe(manifest: Manifest, rows: Dataset) -> Recipe:
    architecture = cast(Architecture, manifest.architecture)
    return Recipe(rows, architecture, TrainingConfig.model_validate(manifest.config))


def _bar() -> tuple[ServedModel | None, ModelVersion | None]:
    """The champion as loaded, and the version the alias names; the rules are the bar where it cannot serve."""
    named = champion_version()
    if named is None:
        return None, None
    try:
        return model_load(named), named
    except ArtifactRefused as error:
        logger.error("gate.champion_refused", version=named.name, reason=str(error))
        return None, named


def _champion_contender(
    data: LearningData, served: ServedModel | None, named: ModelVersion | None, way: Way, gold: Dataset
) -> Contender:
    """What the challenger must beat. A champion that cannot be made again without a question (its rows are of an
    earlier release, or lost) is scored as it is: that it learned of the question favours it, never the challenger."""
    if served is None:
        return Contender(RULES, None, EngineSettings().rules_accept, data.estimates_of(gold))
    recipe = _champion_recipe(data, served, named) if way == "cross_validation" else None
    if recipe is None:
        return Contender.of(served, gold)
    return cross_fitted(recipe, gold, version=served.version, feature_version=served.feature_version)


def _champion_recipe(data: LearningData, served: ServedModel, named: ModelVersion | None) -> Recipe | None:
    if named is None or named.snapshot is None or served.architecture == BASELINE:
        return None
    rows = rows_of(named.snapshot, sides=data.sides)
    return None if rows is None else _recipe(served.scorer.manifest, rows)


def _report(gold: Dataset, side: Contender, importance: dict[str, float] | None = None) -> ModelReport:
    return model_report(
        gold, side.probabilities, threshold=side.threshold, importance=importance, weights=gold.weights
    )


def _next_number() -> int:
    return int(ModelVersion.objects.aggregate(last=Max("number"))["last"] or 0) + 1


def _require_unchanged(judged: Judged, *, snapshots: Sequence[Snapshot | None]) -> None:
    """Raises where the decision would speak of another champion, or of labels that may not be used any more."""
    if champion_version() != judged.champion_version:
        raise ChampionMoved(
            _(
                "The champion was changed while this training ran, so it was compared with another model. "
                "Start it again."
            )
        )
    if labels_withdrawn(snapshots=snapshots).exists():
        raise LabelsWithdrawn(
            _(
                "A collection decided to keep its labels while this training ran on them. "
                "Nothing was deployed; start it again."
            )
        )


def _version_of(challenger: Challenger | NotEnoughData, snapshot: Snapshot) -> ModelVersion | None:
    """The challenger's row, made where it is new; None where there is no challenger."""
    if isinstance(challenger, NotEnoughData):
        return None
    if challenger.version is not None:
        return challenger.version
    assert challenger.model is not None
    manifest = challenger.model.artifact.manifest
    return ModelVersion.objects.create(
        number=_next_number(),
        digest=manifest.version,
        origin=Origin.TRAINED,
        architecture=manifest.architecture,
        feature_version=manifest.feature_version,
        threshold=manifest.threshold,
        snapshot=snapshot,
        manifest=manifest.model_dump(mode="json"),
        report=challenger.report,
    )


def _decision_create(
    run: TrainingRun, version: ModelVersion | None, judged: Judged, *, gold: Snapshot | None
) -> GateDecision:
    judgement = judged.judgement
    return GateDecision.objects.create(
        run=run,
        challenger=version,
        champion=judged.compared_with,
        outcome=judgement.outcome,
        reasons=list(judgement.reasons),
        gold=gold,
        gold_hash=judgement.gold,
        way=judgement.way,
        is_first=judgement.is_first,
        champion_report=judged.champion_report.model_dump(mode="json") if judged.champion_report else None,
        challenger_report=judged.challenger_report.model_dump(mode="json")
        if judged.challenger_report
        else None,
        gain=asdict(judgement.gain) if judgement.gain else None,
        policy=judged.policy.model_dump(mode="json"),
    )
