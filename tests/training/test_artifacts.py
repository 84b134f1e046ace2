from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier

from arbitration.features import FEATURE_NAMES, FEATURE_VERSION
from tests.training.makers import QUICK, dataset, examples, question
from training import artifacts
from training.artifacts import Artifact, ArtifactRefused, read_artifact, unpack, write_artifact
from training.run import LabelledPool, TrainedModel, train_model, train_on_pools
from training.scorer import open_scorer
from training.snapshot import QuestionSides, build_snapshot


@pytest.fixture(scope="module")
def trained() -> TrainedModel:
    made = examples(60)
    sides = QuestionSides.of(example.question for example in made)
    snapshot = build_snapshot(made, sides=sides, feature_version=FEATURE_VERSION)
    return train_model(snapshot, config=QUICK, embedding_space="mini@1/384")


def changed(artifact: Artifact, **fields: object) -> Artifact:
    return Artifact(artifact.manifest.model_copy(update=fields), artifact.model)


def with_model(artifact: Artifact, parts: object) -> Artifact:
    blob = skops.io.dumps(parts)
    return Artifact(artifact.manifest.model_copy(update={"sha256": hashlib.sha256(blob).hexdigest()}), blob)


def test_a_model_comes_back_from_disk_as_it_was(trained: TrainedModel, tmp_path: Path) -> None:
    write_artifact(tmp_path / "m", trained.artifact)

    scorer = open_scorer(read_artifact(tmp_path / "m"))

    rows = dataset(5, seed=4).features
    np.testing.assert_array_equal(scorer.probabilities(rows), trained.scorer.probabilities(rows))
    assert scorer.version == trained.artifact.manifest.version
    assert scorer.threshold == trained.result.chosen.threshold
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["manifest.json", "model.skops"]


def test_the_manifest_says_what_the_model_is(trained: TrainedModel) -> None:
    manifest = trained.artifact.manifest

    assert manifest.feature_names == FEATURE_NAMES
    assert manifest.embedding_space == "mini@1/384"
    assert manifest.config["architectures"] == ["mlp-64-32"]
    assert set(manifest.libraries) == {"scikit-learn", "numpy", "skops"}
    assert len(manifest.questions) > 40


def test_the_same_training_has_the_same_name(trained: TrainedModel) -> None:
    made = examples(60)
    sides = QuestionSides.of(example.question for example in made)
    again = train_model(build_snapshot(made, sides=sides, feature_version=FEATURE_VERSION), config=QUICK)

    assert again.artifact.manifest.version == trained.artifact.manifest.version


def test_a_broken_checksum_is_refused(trained: TrainedModel) -> None:
    with pytest.raises(ArtifactRefused, match="checksum"):
        unpack(Artifact(trained.artifact.manifest, trained.artifact.model[:-1] + b"x"))


def test_another_scikit_learn_is_refused(trained: TrainedModel) -> None:
    with pytest.raises(ArtifactRefused, match=r"scikit-learn 1\.0\.0"):
        unpack(changed(trained.artifact, libraries={"scikit-learn": "1.0.0"}))


def test_an_unknown_format_is_refused(trained: TrainedModel) -> None:
    with pytest.raises(ArtifactRefused, match="format 99"):
        unpack(changed(trained.artifact, format=99))


@pytest.mark.parametrize("fields", [{"feature_version": 1}, {"feature_names": FEATURE_NAMES[:15]}])
def test_features_this_code_does_not_compute_are_refused(
    trained: TrainedModel, fields: dict[str, object]
) -> None:
    with pytest.raises(ArtifactRefused, match="feature"):
        open_scorer(changed(trained.artifact, **fields))


@pytest.mark.parametrize(
    "parts",
    [
        {"scaler": 1, "classifiers": [], "calibrator": 2},
        ["something", "else"],
        {"scaler": None},
    ],
)
def test_other_contents_are_refused(trained: TrainedModel, parts: object) -> None:
    with pytest.raises(ArtifactRefused, match=r"does not hold|another kind"):
        unpack(with_model(trained.artifact, parts))


def test_types_outside_the_list_in_the_code_are_refused(trained: TrainedModel) -> None:
    foreign = RandomForestClassifier(n_estimators=1).fit([[0.0], [1.0]], [0, 1])

    with pytest.raises(ArtifactRefused):
        unpack(with_model(trained.artifact, {"scaler": foreign, "classifiers": [], "calibrator": foreign}))
    with pytest.raises(ArtifactRefused):
        unpack(with_model(trained.artifact, {"scaler": os.system, "classifiers": [], "calibrator": 1}))


@pytest.mark.parametrize("missing", ["manifest.json", "model.skops"])
def test_half_an_artifact_is_none(trained: TrainedModel, tmp_path: Path, missing: str) -> None:
    write_artifact(tmp_path, trained.artifact)
    (tmp_path / missing).unlink()

    with pytest.raises(ArtifactRefused, match="no whole model artifact"):
        read_artifact(tmp_path)


def test_a_write_that_breaks_off_leaves_the_old_artifact(
    trained: TrainedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_artifact(tmp_path, trained.artifact)

    def full(handle: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(artifacts.os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_artifact(tmp_path, changed(trained.artifact, version="new"))

    assert read_artifact(tmp_path).manifest == trained.artifact.manifest
    assert len(list(tmp_path.iterdir())) == 2


def test_pools_of_a_labelled_set_train_a_scratch_model() -> None:
    data = dataset(30)
    pools = [
        LabelledPool(
            question(n), data.features[10 * n : 10 * n + 10], [True, True] + [False] * 8, document=f"d{n}"
        )
        for n in range(30)
    ]

    model = train_on_pools(pools, config=QUICK)

    assert model.result.chosen.validation.questions == 30
    assert model.scorer.probabilities(data.features).shape == (300,)
