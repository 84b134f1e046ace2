"""What the tests of pages share: a larger run, and pages read as people read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.workbench.cast import Cast
from tests.workbench.scene import Scene, make_document, make_run
from workbench.accounts import middleware as accounts_middleware
from workbench.accounts.models import User
from workbench.review.enqueue import queue_fill
from workbench.runs.models import Candidate, CandidateText, Run, Verdict

ClientAs = Callable[[User | None], Client]

#: Nothing in the documents of the scene holds a word of it.
ABSENT_QUESTION = "What does the policy say about cryptocurrency custody?"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def not_found_run(cast: Cast, here: None) -> Run:
    """A finished run that proved the absence of what was asked for."""
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    return make_run(asker=cast.analyst, document=document, text=ABSENT_QUESTION)


@pytest.fixture
def undecided(scene: Scene) -> Candidate:
    """A candidate with a machine's role that nobody decided."""
    return scene.run.candidates.filter(verdict__role__isnull=False, reviews__isnull=True)[0]


def role_other_than(role: str | None) -> str:
    """A role that overrides the given one."""
    return "discarded" if role != "discarded" else "supporting"


def grow(run: Run, *, to: int) -> None:
    """Copies candidates with text, verdict and queue item until the run has that many."""
    models = list(run.candidates.select_related("text", "verdict").order_by("position"))
    for number in range(len(models), to):
        source = models[number % len(models)]
        copy = Candidate.objects.get(pk=source.pk)
        copy.pk, copy.position = None, number
        copy.candidate_id = f"p1_l{number + 100}_l{number + 101}"
        copy.save(force_insert=True)
        text = {name: getattr(source.text, name) for name in ("snippet", "anchor", "context")}
        CandidateText.objects.create(candidate=copy, **text)
        verdict = Verdict.objects.get(pk=source.verdict.pk)
        verdict.pk, verdict.candidate, verdict.order = None, copy, number
        verdict.save(force_insert=True)
    queue_fill(run=run, candidates=list(run.candidates.select_related("verdict", "run")))


@pytest.fixture(autouse=True)
def _no_note_of_the_last_act(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a minute a page also writes when its person did something last. Which page that is depends on how fast the
    machine is, and here pages are counted."""
    monkeypatch.setattr(accounts_middleware, "_WRITTEN_EVERY", 24 * 3600)


def queries_of(client: Client, address: str, **options: Any) -> int:
    """Queries of one page, which must answer with 200; the second of two, as caches of the process are warm then."""
    client.get(address, **options)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address, **options).status_code == 200
    return len(captured)
