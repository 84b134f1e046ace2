from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from arbitration.features import FEATURE_NAMES
from arbitration.triage import (
    OPEN_GATES,
    VOYAGE_3_LARGE,
    GateInput,
    GateProfile,
    LabelledGateInput,
    blended,
    calibrate_gates,
    gate_zones,
    total_score,
    triage,
    verified_score,
    verifier_accepts,
)

CALIBRATED = VOYAGE_3_LARGE.model_copy(update={"evidence_lost": 0.004})


def test_the_published_profile() -> None:
    figures = VOYAGE_3_LARGE.model_dump(exclude={"name", "embedding_space", "evidence_lost"})

    assert figures == {
        "minimum": 0.65,
        "verify": 0.70,
        "accept": 0.85,
        "gap": 0.20,
        "keyword": 0.70,
        "query": 0.65,
        "alias": 0.85,
        "confident": 0.85,
        "bias": {},
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"minimum": 0.9, "accept": 0.8, "verify": 0.7},
        {"verify": 0.9, "accept": 0.8},
        {"accept": 1.2},
        {"gap": -0.1},
        {"bias": {"Fees": 2.0}},
    ],
)
def test_gates_that_contradict_each_other_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GateProfile(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (GateInput(0.6, keyword=0.0), 0.6),
        (GateInput(0.6, keyword=0.9), 0.9),
        (GateInput(0.6, keyword=0.69), 0.6),
        (GateInput(0.6, keyword=0.70, bias=-0.05), 0.65),
        (GateInput(0.8, keyword=0.75, bias=0.1), 0.9),
    ],
)
def test_total_is_the_greater_score_plus_bias(candidate: GateInput, expected: float) -> None:
    assert total_score(candidate, VOYAGE_3_LARGE) == pytest.approx(expected)


def test_zones_at_their_borders() -> None:
    candidates = [GateInput(s) for s in (0.85, 0.849, 0.70, 0.699)]

    assert gate_zones(candidates, VOYAGE_3_LARGE) == ["accept", "verify", "verify", "reject"]


def test_accepting_needs_the_minimum_of_meaning_too() -> None:
    by_keyword = GateInput(0.64, keyword=0.9)

    assert gate_zones([by_keyword], VOYAGE_3_LARGE) == ["verify"]
    assert gate_zones([GateInput(0.65, keyword=0.9)], VOYAGE_3_LARGE) == ["accept"]


def test_what_is_more_than_the_gap_below_the_top_is_dropped() -> None:
    wide = VOYAGE_3_LARGE.model_copy(update={"verify": 0.5, "minimum": 0.5})

    assert gate_zones([GateInput(0.95), GateInput(0.76), GateInput(0.74)], wide) == [
        "accept",
        "verify",
        "reject",
    ]


def test_open_gates_verify_everything() -> None:
    candidates = [GateInput(0.99, keyword=1.0), GateInput(0.0), GateInput(0.4)]

    assert gate_zones(candidates, OPEN_GATES) == ["verify"] * 3


@pytest.mark.parametrize(
    ("zone", "probability", "route", "by"),
    [
        ("accept", 0.95, "accept", "gate"),
        ("accept", 0.41, "accept", "gate"),
        ("accept", 0.40, "judge", "reranker"),
        ("verify", 0.60, "accept", "reranker"),
        ("verify", 0.59, "judge", "reranker"),
        ("verify", 0.41, "judge", "reranker"),
        ("verify", 0.40, "reject", "reranker"),
        ("reject", 0.60, "accept", "reranker"),
        ("reject", 0.59, "reject", "gate"),
        ("reject", 0.10, "reject", "gate"),
    ],
)
def test_routes(zone: str, probability: float, route: str, by: str) -> None:
    triaged = triage(zone=zone, probability=probability, named=0.0, profile=CALIBRATED)  # type: ignore[arg-type]

    assert (triaged.route, triaged.by) == (route, by)


def test_a_named_section_goes_straight_through() -> None:
    assert triage(zone="reject", probability=0.01, named=0.85, profile=CALIBRATED).by == "pattern"
    assert triage(zone="reject", probability=0.01, named=0.84, profile=CALIBRATED).route == "reject"


def test_gates_without_calibration_reject_nothing() -> None:
    assert not VOYAGE_3_LARGE.may_reject
    assert triage(zone="reject", probability=0.5, named=0, profile=VOYAGE_3_LARGE).route == "judge"
    lossy = VOYAGE_3_LARGE.model_copy(update={"evidence_lost": 0.01})
    assert triage(zone="reject", probability=0.5, named=0, profile=lossy).route == "judge"


@given(st.sampled_from(["accept", "verify", "reject"]), st.floats(0, 1))
def test_what_the_reranker_accepts_is_never_removed(zone: str, probability: float) -> None:
    routed = triage(zone=zone, probability=probability, named=0.0, profile=CALIBRATED)  # type: ignore[arg-type]

    assert (routed.route == "accept") >= (probability >= 0.6)


def test_blend() -> None:
    rows = np.zeros((1, len(FEATURE_NAMES)))
    rows[0, FEATURE_NAMES.index("semantic_score")] = 0.5
    assert blended(rows, np.array([0.9]), weight=0.4) == pytest.approx([0.4 * 0.5 + 0.6 * 0.9])
    assert blended(rows, np.array([0.9]), weight=0.0) == pytest.approx([0.9])


def test_the_verifiers_score() -> None:
    assert [verifier_accepts(score) for score in (4, 5)] == [False, True]
    assert verified_score(0.6, 0) == pytest.approx(0.3)
    assert verified_score(0.6, 9) == pytest.approx(0.9)
    assert verified_score(0.9, 9) == 1.0


# --- calibration ------------------------------------------------------------------------------------


def labelled(seed: int, questions: int = 100) -> list[LabelledGateInput]:
    """Two pieces of evidence around .6 and eight other candidates around .3 for each question."""
    rng = np.random.default_rng(seed)
    samples = []
    for number in range(questions):
        for position in range(10):
            is_evidence = position < 2
            semantic = float(np.clip(rng.normal(0.6 if is_evidence else 0.3, 0.08), -1, 1))
            samples.append(LabelledGateInput(f"q{number}", GateInput(semantic), is_evidence))
    return samples


def test_calibration_rejects_much_and_loses_less_than_one_percent() -> None:
    result = calibrate_gates(labelled(1), base=GateProfile(), name="test", embedding_space="space")

    assert result.evidence_lost < 0.01
    assert result.rejected_share > 0.5
    assert result.accepted_precision is not None
    assert result.accepted_precision >= 0.9
    assert result.profile.may_reject
    assert (result.profile.name, result.profile.embedding_space) == ("test", "space")
    assert (result.questions, result.evidence) == (100, 200)


@given(st.integers(0, 1000), st.integers(1, 30))
def test_calibrated_gates_keep_their_promise(seed: int, questions: int) -> None:
    samples = labelled(seed, questions)

    result = calibrate_gates(samples, base=GateProfile(), name="test", embedding_space="space")

    zones = {
        question: gate_zones([s.candidate for s in samples if s.question == question], result.profile)
        for question in {s.question for s in samples}
    }
    lost = sum(
        zone == "reject"
        for question, zoned in zones.items()
        for zone, sample in zip(zoned, (s for s in samples if s.question == question), strict=True)
        if sample.is_evidence
    )
    assert lost / (2 * questions) == pytest.approx(result.evidence_lost)
    assert result.evidence_lost < 0.01


def test_too_little_evidence_keeps_the_accept_gate_shut() -> None:
    result = calibrate_gates(labelled(1, questions=5), base=GateProfile(), name="t", embedding_space="s")

    assert result.profile.accept == 1.0
    assert result.accepted_share == 0.0


def test_a_shut_gate_accepts_nothing_for_its_keywords_alone() -> None:
    said = [LabelledGateInput(f"q{n}", GateInput(0.4, keyword=1.0), n % 4 == 0) for n in range(100)]

    result = calibrate_gates(said, base=GateProfile(), name="t", embedding_space="s")

    assert gate_zones([GateInput(0.9, keyword=1.0)], result.profile) == ["verify"]
    assert result.accepted_share == 0.0


def test_no_evidence_no_calibration() -> None:
    nothing = [LabelledGateInput("q", GateInput(0.5), is_evidence=False)]

    with pytest.raises(ValueError, match="no labelled evidence"):
        calibrate_gates(nothing, base=GateProfile(), name="t", embedding_space="s")
