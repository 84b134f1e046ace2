"""Who and what the acts of the demo's month speak of."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Any

from workbench.accounts.models import User
from workbench.documents.models import Collection, Document
from workbench.review.models import ItemState, QueueItem
from workbench.runs.models import ENDED, Run, RunStatus
from workbench.runs.services import question_ask

from .clock import DemoClock
from .month_questions import CLAIMS_MONTH, DEMO_MONTH, MonthQuestion

DEMO, CLAIMS = "demo", "demo-claims"
_QUESTIONS = {question.text: question for question in (*DEMO_MONTH, *CLAIMS_MONTH)}
_PATIENCE_SECONDS = 120.0


class NotDone(RuntimeError):
    """Something of the month did not come about."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The clock, and the address of the stand-in for a model."""

    clock: DemoClock
    grader: str

    def person(self, name: str) -> User:
        """One of the five and their admin, by the first part of their address."""
        return User.objects.get(email=f"{name}@demo.example")

    def collection(self, slug: str) -> Collection:
        """One of the two."""
        return Collection.objects.get(slug=slug)

    def document(self, name: str) -> Document:
        """A document by its file name."""
        return Document.objects.filter(name=name, collection__slug__in=[DEMO, CLAIMS]).earliest("pk")

    def ask(self, text: str, *, slug: str, by: str = "analyst", **options: Any) -> Run:
        """Asks and waits until the run has ended, whoever carries it out."""
        asked = question_ask(
            actor=self.person(by),
            collection=self.collection(slug),
            text=text,
            **{"strategy": "offline", **options},
        )
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (run := Run.objects.get(pk=asked.run.pk)).status not in ENDED:
            if time.monotonic() > deadline:
                raise NotDone(f"run {run.pk} has not ended")
            time.sleep(0.2)
        if run.status != RunStatus.DONE:
            raise NotDone(f"run {run.pk}: {run.failure_reason}")
        return run

    def runs(self, slug: str) -> list[Run]:
        """The runs of a collection that the month asked, in their order."""
        found = Run.objects.filter(
            collection__slug=slug, question__text__in=_QUESTIONS, status=RunStatus.DONE
        )
        return list(found.select_related("question", "collection").order_by("pk"))

    def waiting(self, run: Run) -> list[QueueItem]:
        """What of a run waits for a person."""
        items = QueueItem.objects.filter(run=run, state=ItemState.WAITING)
        return list(
            items.select_related("candidate__verdict", "candidate__text", "run__question").order_by("pk")
        )


def question_of(run: Run) -> MonthQuestion:
    """The question as the month has it, with what answers."""
    return _QUESTIONS[run.question.text]


def lot(*names: object) -> float:
    """A number of [0, 1) that follows from the names, so that every installation tells the same month."""
    text = ":".join(map(str, names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48
