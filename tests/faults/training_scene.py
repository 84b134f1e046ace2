"""What the fault tests of trainings do inside the running product, besides ``tests.integration.learning_scene``."""

from __future__ import annotations

from tests.integration.learning_scene import due, labels, say, start
from tests.workbench.rerankers.makers import QUICK
from workbench.rerankers.trainings import training_rehearse

__all__ = ["due", "labels", "rehearse", "start"]


def rehearse() -> None:
    """What an undisturbed training of the labels as they stand would freeze and decide."""
    found = training_rehearse(config=QUICK)
    judgement = found.judged.judgement
    say([found.data.training.content_hash, judgement.gold, judgement.outcome, list(judgement.reasons)])
