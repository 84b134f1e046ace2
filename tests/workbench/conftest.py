"""Fixtures for tests that use the database: the cast of users, and clients logged in as them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.workbench.database import let_tests_empty_the_trail

if TYPE_CHECKING:
    from django.test import Client

    from tests.workbench.cast import Cast
    from tests.workbench.scene import Scene
    from workbench.accounts.models import User


@pytest.fixture(scope="session", autouse=True)
def _trail_can_be_emptied() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        let_tests_empty_the_trail(patch)
        yield


@pytest.fixture
def cast(db: None) -> Cast:
    """Collections alpha and beta with a member of each role, and staff (``cast.py``)."""
    from tests.workbench.cast import create_cast

    return create_cast()


@pytest.fixture
def client_as(db: None) -> Callable[[User | None], Client]:
    """``client_as(cast.analyst)`` is a browser session of that user; ``client_as(None)`` of a stranger."""
    from django.test import Client

    def make(user: User | None) -> Client:
        client = Client()
        if user is not None:
            client.force_login(user)
        return client

    return make


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    """Everything in this process and this transaction: a small embedder, detectors one after another, files and
    index in a temporary folder, no broker."""
    from tests.workbench.scene import HashEmbedder
    from workbench.questions import execution, strategies

    engine_settings = strategies.engine_settings

    def in_this_thread(**arguments: Any) -> Any:
        return engine_settings(**arguments).model_copy(update={"concurrent": False})

    monkeypatch.setattr(execution, "current_embedder", HashEmbedder)
    monkeypatch.setattr("workbench.questions.services.engine_settings", in_this_thread)
    monkeypatch.setattr("workbench.ops.dispatch.dispatch", lambda *args, **kwargs: True)
    monkeypatch.setattr("workbench.ops.leases.Heartbeat._renew", lambda self: None)
    settings.WORKBENCH_HOME = tmp_path
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path / "files")},
        }
    }


@pytest.fixture
def scene(cast: Cast, here: None) -> Scene:
    """A finished run of alpha with a decision on it, a comparison and a round of a question set."""
    from tests.workbench.scene import Scene, make_document, make_run
    from workbench.question_sets.services import question_set_create, round_fill, round_start
    from workbench.questions.comparison import comparison_start
    from workbench.review.services import candidate_approve
    from workbench.vocabulary.models import DictionaryEntry

    document = make_document(collection=cast.alpha, owner=cast.analyst)
    run = make_run(asker=cast.analyst, document=document)
    decided = run.candidates.filter(verdict__role__isnull=False).first()
    candidate_approve(actor=cast.reviewer, candidate=decided)
    comparison = comparison_start(
        actor=cast.analyst,
        collection=cast.alpha,
        document=document,
        text=run.question.text,
        strategies=["offline", "bm25"],
    )
    question_set = question_set_create(
        actor=cast.analyst, collection=cast.alpha, name="Records", questions=[run.question.text]
    )
    round_ = round_start(
        actor=cast.analyst, question_set=question_set, documents=[document], strategy="offline"
    )
    round_fill(round_id=round_.pk)
    entry = DictionaryEntry.objects.create(
        collection=cast.alpha, term="log", variant="access records", proposed_by=cast.admin
    )
    return Scene(document=document, run=run, comparison=comparison, round=round_, entry=entry)
