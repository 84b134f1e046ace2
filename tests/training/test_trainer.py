from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arbitration.features import FEATURE_NAMES
from tests.training.makers import QUICK, dataset, examples
from training.fitting import ARCHITECTURES, BASELINE, NotEnoughData, TrainingConfig, fit, grouped_splits
from training.metrics import f1_score
from training.reranker import TIE_BREAK, Reranker
from training.snapshot import Dataset
from training.trainer import TrainingResult, choose_blend_weight, train


def test_a_question_is_on_one_side_of_every_split() -> None:
    data = dataset(30)

    splits = grouped_splits(data, TrainingConfig(folds=3))

    groups = np.array(data.groups)
    for training, validation in splits:
        assert set(groups[training]).isdisjoint(groups[validation])
    assert sorted(np.concatenate([validation for _, validation in splits])) == list(range(len(data)))


def test_folds_hold_about_the_same_number_of_positives() -> None:
    data = dataset(30)

    counts = [
        data.labels[validation].sum() for _, validation in grouped_splits(data, TrainingConfig(folds=3))
    ]

    assert max(counts) - min(counts) <= 2


@pytest.mark.parametrize(("questions", "message"), [(2, "at least 10"), (0, "0 positive")])
def test_too_few_pairs_are_refused(questions: int, message: str) -> None:
    with pytest.raises(NotEnoughData, match=message):
        train(dataset(questions), QUICK)


def test_positives_of_too_few_questions_are_refused() -> None:
    with pytest.raises(NotEnoughData, match="too few questions"):
        train(Dataset.of(examples(2, pairs=10)), TrainingConfig(min_positives=2, folds=3))


@pytest.fixture(scope="module")
def trained() -> TrainingResult:
    """Every architecture on the same pairs."""
    return train(dataset(60, noise=0.2), TrainingConfig(epochs=20, batch_size=50))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_each_architecture_learns_what_can_be_learned(architecture: str, trained: TrainingResult) -> None:
    candidate = next(one for one in trained.candidates if one.architecture == architecture)

    unseen = dataset(40, seed=9, noise=0.2)
    probabilities = Reranker(candidate.model).probabilities(unseen.features)
    assert f1_score(unseen.labels, probabilities >= candidate.threshold) > 0.7
    assert candidate.validation.roc_auc is not None
    assert candidate.validation.roc_auc > 0.8


def test_the_network_with_the_best_validation_f1_is_the_challenger() -> None:
    result = train(dataset(40), TrainingConfig(epochs=4))

    assert [candidate.architecture for candidate in result.candidates] == list(ARCHITECTURES)
    networks = [candidate for candidate in result.candidates if candidate.architecture != BASELINE]
    assert result.chosen.validation.f1 == max(candidate.validation.f1 for candidate in networks)


def test_the_linear_baseline_never_serves_however_good_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def crippled(architecture: str, *arguments: Any) -> Any:
        made = fit(architecture, *arguments)  # type: ignore[arg-type]
        return made if architecture == BASELINE else (made[0], np.full_like(made[1], 0.5))

    monkeypatch.setattr("training.trainer.fit", crippled)
    result = train(dataset(40, noise=0.2), TrainingConfig(epochs=3, members=1))

    baseline = result.candidates[0]
    assert baseline.architecture == BASELINE
    assert baseline.validation.f1 > result.chosen.validation.f1
    assert result.chosen.architecture != BASELINE
    with pytest.raises(ValueError, match="at least one network"):
        TrainingConfig(architectures=(BASELINE,))


@pytest.mark.parametrize(("rows", "batch"), [(20, 20), (100, 32), (2000, 125), (20_000, 1024)])
def test_few_rows_make_small_batches(rows: int, batch: int) -> None:
    assert TrainingConfig().batch_for(rows) == batch


def test_the_same_data_and_configuration_give_the_same_model() -> None:
    config = TrainingConfig(architectures=("mlp-64-32",), epochs=2)
    one, two = (train(dataset(30), config).chosen for _ in range(2))

    rows = dataset(5, seed=3).features
    np.testing.assert_array_equal(
        Reranker(one.model).probabilities(rows), Reranker(two.model).probabilities(rows)
    )
    assert (one.threshold, one.validation) == (two.threshold, two.validation)


def test_weights_count() -> None:
    """Rows of no weight change nothing: mislabelled ones are as good as absent. A network draws other batches with
    them, so it only comes near."""
    config = TrainingConfig(architectures=(BASELINE, "mlp-64-32"), members=1, epochs=3)
    good, bad = examples(40), examples(40, seed=5)

    def said_beside(weight: float | None) -> list[np.ndarray]:
        wrong = [
            replace(e, label_id=f"x{e.label_id}", role=g.role, weight=weight or 0.0)
            for e, g in zip(bad, reversed(good), strict=True)
        ]
        rows = [*good, *wrong] if weight else good
        candidates = train(Dataset.of(rows), config).candidates
        return [Reranker(one.model).raw(dataset(10, seed=2).features) for one in candidates]

    alone, beside_nothing, beside_noise = said_beside(None), said_beside(1e-9), said_beside(1.0)
    np.testing.assert_allclose(beside_nothing[0], alone[0], atol=0.05)
    far, near = (np.abs(said[1] - alone[1]).mean() for said in (beside_noise, beside_nothing))
    assert near < far / 2


def test_the_arrays_say_what_scikit_learn_says() -> None:
    data = dataset(40)
    for architecture in ARCHITECTURES:
        config = TrainingConfig(epochs=3, members=2)
        model, _ = fit(architecture, data, grouped_splits(data, config), config)
        scaled = model.scaler.transform(data.features)
        raw = np.mean([c.predict_proba(scaled)[:, 1] for c in model.classifiers], axis=0)

        reranker = Reranker(model)

        np.testing.assert_allclose(reranker.raw(data.features), raw, atol=1e-5)
        expected = (1 - TIE_BREAK) * model.calibrator.predict(raw) + TIE_BREAK * raw
        np.testing.assert_allclose(reranker.calibrated(raw), expected, atol=1e-9)


def test_calibration_keeps_the_order_and_leaves_no_ties() -> None:
    data = dataset(40)
    reranker = Reranker(train(data, QUICK).chosen.model)
    raw = np.sort(reranker.raw(data.features))

    calibrated = reranker.calibrated(raw)

    assert (np.diff(calibrated)[np.diff(raw) > 0] > 0).all()
    assert ((calibrated >= 0) & (calibrated <= 1)).all()


def test_another_number_of_features_is_refused() -> None:
    reranker = Reranker(train(dataset(20), QUICK).chosen.model)

    with pytest.raises(ValueError, match=f"expected {len(FEATURE_NAMES)} features"):
        reranker.probabilities(np.zeros((2, 15)))


def test_the_blend_weight_is_the_one_that_ranks_best() -> None:
    data = dataset(60, noise=0.1)
    noise = np.random.default_rng(0).random(len(data))

    assert choose_blend_weight(data, data.labels.astype(float)) == 0.0
    assert choose_blend_weight(data, noise) > 0.0


@pytest.mark.parametrize(
    ("rows", "epochs"), [(100, 32), (20_000, 30), (40_000, 15), (139_400, 8), (1_000_000, 8)]
)
def test_few_rows_are_passed_over_more_often(rows: int, epochs: int) -> None:
    assert TrainingConfig().epochs_for(rows) == epochs
    assert TrainingConfig(epochs=50).epochs_for(rows) == 50
