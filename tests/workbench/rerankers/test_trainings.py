"""From labels to the gate's decision, and what may never happen on the way."""

from __future__ import annotations

import numpy as np
import pytest

from tests.workbench.rerankers.makers import PAIRS, QUICK, THOROUGH, World, retrained, truths
from training.labels import LabelSource
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, WorkbenchError
from workbench.rerankers.aliases import alias_version
from workbench.rerankers.champion import (
    champion_model,
    champion_roll_back,
    is_servable,
    loaded_forget,
    model_load,
)
from workbench.rerankers.lineage import models_of_label, overturned_mark
from workbench.rerankers.models import (
    AliasMove,
    GateDecision,
    ModelVersion,
    RunState,
    Snapshot,
    SnapshotLabel,
    TrainingRun,
)
from workbench.rerankers.services import training_claimed_here, training_start, trainings_sweep
from workbench.rerankers.store import artifact_get, dataset_get


def noisy(count: int, *, share: float, seed: int = 1) -> list[int]:
    """Positions of pairs judged the wrong way round."""
    rng = np.random.default_rng(seed)
    return [int(n) for n in rng.permutation(count)[: int(count * share)]]


def test_the_first_model_replaces_the_rules_when_it_is_better(gold: World, system: User) -> None:
    gold.label(truths(range(60)))

    run = retrained(system)

    assert run.state == RunState.DONE, run.failure_reason
    decision = run.decision
    assert (decision.outcome, decision.is_first) == ("deployed", True)
    assert (
        decision.champion_report["rows_hash"] == decision.challenger_report["rows_hash"] == decision.gold_hash
    )
    assert decision.challenger_report["metrics"]["f1"] > decision.champion_report["metrics"]["f1"]
    assert "F1 rises" in decision.reasons[0]
    assert alias_version() == run.challenger
    assert AuditEvent.objects.filter(action="model.deployed", object_id=str(run.challenger.pk)).exists()


def test_better_labels_make_a_better_model_and_worse_ones_do_not(gold: World, system: User) -> None:
    pairs = truths(range(80), noise=0.25)
    labels = gold.label(pairs, flip=noisy(len(pairs), share=0.25))
    first = retrained(system, THOROUGH)
    assert first.decision.outcome == "deployed", first.decision.reasons
    rows = dataset_get(first.decision.gold_hash)
    former = champion_model().probabilities(rows.features)

    gold.label(pairs, source=LabelSource.ADJUDICATED)
    second = retrained(system, THOROUGH)
    assert second.decision.outcome == "deployed", second.decision.reasons
    assert alias_version() == second.challenger

    shuffled = noisy(len(pairs), share=1.0, seed=3)[: len(pairs) // 2]
    gold.label(pairs, source=LabelSource.ADJUDICATED, flip=shuffled)
    third = retrained(system, THOROUGH)
    assert third.decision.outcome == "kept"
    assert "falls" in third.decision.reasons[0]
    assert alias_version() == second.challenger

    champion_roll_back(actor=system, version=first.challenger, reason="The second one disappoints.")
    loaded_forget()
    assert np.array_equal(champion_model().probabilities(rows.features), former)
    assert champion_model().version == f"v{first.challenger.number}"
    assert [move.kind for move in AliasMove.objects.all()] == ["rolled_back", "deployed", "deployed"]
    assert len(labels) == len(pairs)


def test_a_tie_keeps_the_champion(gold: World, system: User) -> None:
    gold.label(truths(range(60)))
    first = retrained(system)

    second = retrained(system)

    assert second.challenger == first.challenger  # the same labels are the same model
    assert second.decision.outcome == "kept"
    assert "tie" in second.decision.reasons[0]
    assert ModelVersion.objects.count() == 1


def test_too_little_gold_deploys_nothing(world: World, system: User) -> None:
    world.gold(truths(range(1000, 1005)))
    world.label(truths(range(60)))

    run = retrained(system)

    assert run.decision.outcome == "refused"
    assert "not enough gold" in run.decision.reasons[0]
    assert alias_version() is None
    assert run.challenger is not None


def test_too_few_labels_are_a_refusal_on_record(gold: World, system: User) -> None:
    gold.label(truths(range(1)))

    run = retrained(system)

    assert (run.state, run.decision.outcome) == (RunState.DONE, "refused")
    assert "at least 10" in run.decision.reasons[0]
    assert run.decision.challenger is None


def test_holdout_questions_never_train_and_model_labels_are_no_yardstick(gold: World, system: User) -> None:
    gold.label(truths(range(60)))
    gold.label(truths(range(1000, 1040)), source=LabelSource.LLM)

    run = retrained(system)

    trained = set(run.snapshot.labels.values_list("label__question", flat=True))
    measured = set(run.decision.gold.labels.values_list("label__question", flat=True))
    assert trained.isdisjoint(measured)
    assert trained.isdisjoint({pair.question for pair in truths(range(1000, 1040))})
    assert set(run.decision.gold.labels.values_list("label__source", flat=True)) == {"annotator"}
    assert run.snapshot.held_out >= 40 * PAIRS


def test_a_gold_set_of_questions_that_trained_before_is_no_yardstick(gold: World, system: User) -> None:
    gold.label(truths(range(60)))
    first = retrained(system)
    trained = sorted(set(first.snapshot.labels.values_list("label__question", flat=True)))

    gold.gold([pair for pair in truths(range(60)) if pair.question in trained[:10]])
    second = retrained(system)

    assert second.decision.gold_hash == first.decision.gold_hash
    assert not set(second.snapshot.labels.values_list("label__question", flat=True)) & set(trained[:10])


def test_two_at_once_one_runs_and_one_says_so(gold: World, system: User) -> None:
    training_claimed_here(actor=system)

    with pytest.raises(Conflict, match="running already"):
        training_start(actor=system)


def test_a_training_whose_worker_is_gone_fails_on_record_and_the_next_one_runs(
    gold: World, system: User
) -> None:
    gold.label(truths(range(60)))
    deployed = retrained(system).challenger
    dead = training_claimed_here(actor=system)
    TrainingRun.objects.filter(pk=dead.pk).update(state=RunState.TRAINING, lease_owner="a dead worker")

    trainings_sweep()

    dead.refresh_from_db()
    assert dead.state == RunState.FAILED
    assert "worker" in dead.failure_reason
    assert alias_version() == deployed
    assert AuditEvent.objects.filter(action="training.failed", object_id=str(dead.pk)).exists()
    assert retrained(system).state == RunState.DONE


def test_a_queued_training_whose_message_was_lost_is_sent_again(gold: World, cast, system: User) -> None:
    run = training_start(actor=cast.admin)

    assert trainings_sweep() == [run.pk]


def test_the_same_rows_are_one_snapshot_and_can_be_read_back(gold: World, system: User) -> None:
    gold.label(truths(range(60)))
    first, second = retrained(system), retrained(system)

    assert first.snapshot == second.snapshot
    assert Snapshot.objects.filter(kind="training").count() == 1
    assert first.challenger.manifest["snapshot_hash"] == first.snapshot.content_hash


@pytest.mark.parametrize("damage", ["model.skops", "manifest.json"])
def test_a_damaged_champion_is_refused_and_the_loaded_one_keeps_serving(
    damage: str, gold: World, system: User, tmp_path
) -> None:
    gold.label(truths(range(60)))
    first = retrained(system).challenger
    served = champion_model()
    assert is_servable(first)
    (tmp_path / "files" / "models" / first.digest / damage).write_bytes(b"something else")

    assert champion_model() is served
    assert not is_servable(first)
    loaded_forget()
    assert champion_model() is None  # a new process has nothing to keep: the rules serve


def test_a_foreign_artifact_under_our_name_is_refused(gold: World, system: User, tmp_path) -> None:
    gold.label(truths(range(60)))
    first = retrained(system).challenger
    gold.label(truths(range(60, 90)))
    retrained(system)
    other = ModelVersion.objects.exclude(pk=first.pk).get()
    folder = tmp_path / "files" / "models"
    for name in ("model.skops", "manifest.json"):
        (folder / first.digest / name).write_bytes((folder / other.digest / name).read_bytes())
    loaded_forget()

    with pytest.raises(Exception, match="another model"):
        model_load(first)
    if alias_version() == other:
        with pytest.raises(WorkbenchError, match="cannot be loaded"):
            champion_roll_back(actor=system, version=first, reason="back")


def test_only_a_version_that_passed_can_be_rolled_back_to(gold: World, system: User) -> None:
    pairs = truths(range(60))
    gold.label(pairs)
    deployed = retrained(system).challenger
    gold.label(pairs, source=LabelSource.ADJUDICATED, flip=range(0, len(pairs), 2))
    refused = retrained(system)
    assert refused.decision.outcome == "kept"

    with pytest.raises(WorkbenchError, match="never passed"):
        champion_roll_back(actor=system, version=refused.challenger, reason="please")
    with pytest.raises(Conflict, match="serves already"):
        champion_roll_back(actor=system, version=deployed, reason="again")


def test_a_label_overturned_later_marks_the_models_that_used_it(gold: World, system: User) -> None:
    pairs = truths(range(60))
    labels = gold.label(pairs)
    model = retrained(system).challenger
    overturned_mark()
    used = SnapshotLabel.objects.filter(snapshot=model.snapshot).first()
    position = [label.pk for label in labels].index(used.label_id)

    gold.label([pairs[position]], source=LabelSource.ADJUDICATED, flip=[0])

    assert overturned_mark() == 1
    used.refresh_from_db()
    assert used.overturned_by.source == "adjudicated"
    assert list(models_of_label(label=used.label)) == [model]
    assert overturned_mark() == 0


def test_a_challenger_compared_with_a_former_champion_is_not_deployed(
    gold: World, system: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench.rerankers import trainings

    pairs = truths(range(80), noise=0.25)
    gold.label(pairs, flip=noisy(len(pairs), share=0.25))
    first = retrained(system, THOROUGH).challenger
    gold.label(pairs[: len(pairs) // 2], source=LabelSource.ADJUDICATED)
    second = retrained(system, THOROUGH)
    gold.label(pairs, source=LabelSource.ADJUDICATED)
    judge = trainings.judge

    def judge_while_somebody_rolls_back(*args: object) -> object:
        judged = judge(*args)
        champion_roll_back(actor=system, version=first, reason="at that very moment")
        return judged

    monkeypatch.setattr(trainings, "judge", judge_while_somebody_rolls_back)
    assert second.decision.outcome == "deployed", "labels half mended make a better model"
    run = retrained(system, THOROUGH)

    assert run.state == RunState.FAILED
    assert "changed while this training ran" in run.failure_reason
    assert alias_version() == first
    assert not GateDecision.objects.filter(run=run).exists()


def test_what_was_trained_can_be_trained_again_to_the_same_figures(gold: World, system: User) -> None:
    from training.run import train_model
    from training.snapshot import Snapshot as Rows

    gold.label(truths(range(60)))
    run = retrained(system)
    digest = artifact_get(run.challenger.digest).manifest
    frozen = next(
        dataset_get(name)
        for name in [run.decision.gold_hash, *_stored(run)]
        if name != run.decision.gold_hash
    )

    again = train_model(Rows(frozen, run.snapshot.feature_version, 0, 0), config=QUICK)

    assert again.artifact.manifest.version == digest.version
    assert again.artifact.manifest.metrics == digest.metrics


def _stored(run: TrainingRun) -> list[str]:
    from django.core.files.storage import default_storage

    _folders, files = default_storage.listdir("snapshots")
    return [name.removesuffix(".npz") for name in files]
