"""Events of a run, for the apps above, which label, queue and score it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.infra.events import Event

from .models import Candidate, Run, Verdict


@dataclass(frozen=True, slots=True)
class VerdictsWritten:
    """A run has verdicts. Published in the transaction that writes them."""

    run: Run
    verdicts: Sequence[Verdict]


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A run has its answer. Published in the transaction that ends it. The candidates include verdict and run."""

    run: Run
    candidates: Sequence[Candidate]


verdicts_written: Event[VerdictsWritten] = Event()
run_finished: Event[RunFinished] = Event()
