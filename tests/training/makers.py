"""Small labelled data sets for the learning loop's tests: seeded, and learnable."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from arbitration.contracts import Role
from arbitration.features import FEATURE_NAMES
from training.fitting import TrainingConfig
from training.labels import LabelRow, LabelSource
from training.snapshot import Dataset, Example

SUBJECTS = (
    "fees",
    "audits",
    "leases",
    "pensions",
    "cargo",
    "notices",
    "permits",
    "loans",
    "wages",
    "patents",
)
QUICK = TrainingConfig(architectures=("mlp-64-32",), members=1, epochs=3)


def question(number: int) -> str:
    """Different questions, no two of them near-duplicates."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    return f"q{number} what w{number * 7} applies to {subject} under rule r{number * 13} of part p{number}"


def examples(count: int, *, pairs: int = 10, seed: int = 0, noise: float = 0.6) -> list[Example]:
    """``count`` questions with ``pairs`` candidates each, two of them evidence; the first feature tells them apart
    but for noise."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        for position in range(pairs):
            label = int(position < 2)
            features = rng.normal(0.0, 1.0, len(FEATURE_NAMES))
            features[0] = label + rng.normal(0.0, noise)
            made.append(
                Example(
                    label_id=f"{number:05d}-{position:03d}",
                    question=question(number),
                    role=Role.PRIMARY if label else Role.DISCARDED,
                    weight=1.0,
                    features=tuple(features),
                    collection="contracts" if number % 2 else "policies",
                )
            )
    return made


def dataset(count: int, **options: float) -> Dataset:
    """The examples as arrays."""
    return Dataset.of(examples(count, **options))  # type: ignore[arg-type]


def label(
    source: LabelSource,
    role: Role = Role.PRIMARY,
    *,
    judge: str = "ana",
    minute: int = 0,
    question: str = "Who pays?",
    candidate: str = "c1",
) -> LabelRow:
    """One judgment."""
    return LabelRow(
        label_id=f"{source}-{judge}-{minute}",
        question=question,
        candidate=candidate,
        role=role,
        source=source,
        judge=judge,
        created_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute),
    )


def ids(rows: Sequence[LabelRow]) -> list[str]:
    """The labels' ids."""
    return [row.label_id for row in rows]
