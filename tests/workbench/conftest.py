"""Fixtures for tests that use the database: the cast of users, and clients logged in as them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.standing import STANDING, begins_with_the_scene
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


@pytest.fixture(scope="module")
def plain_templates(django_test_environment: None) -> Iterator[None]:
    """Templates are drawn as they are for people, for walks over hundreds of pages. Django's test runner has each of
    them announce its context, for ``response.context``: a tenth of a page's time."""
    from django.template.base import Template

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "_render", lambda self, context: self.nodelist.render(context))
        yield


@pytest.fixture(autouse=True)
def _fresh_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing an earlier test of this process had cached, since limits of attempts are counted across tests, nor its
    language. And what the shell keeps for ten seconds is kept as long as a test: it would run out in the middle of a
    count of queries."""
    from django.core.cache import caches
    from django.utils import translation

    translation.deactivate()
    for cache in caches.all():
        cache.clear()
    monkeypatch.setattr(caches["process"], "get_backend_timeout", lambda *_, **__: None)


@pytest.fixture
def _scene_stands(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> None:
    if begins_with_the_scene(request.node):
        with django_db_blocker.unblock():
            STANDING.ensure()


@pytest.fixture
def _django_db_helper(_scene_stands: None, _django_db_helper: None) -> None:
    """The scene stands before a test's own transaction begins."""


@pytest.fixture
def _standing(db: None, tmp_path: Path) -> tuple[Cast, Scene] | None:
    return STANDING.copy(tmp_path)


@pytest.fixture
def cast(_standing: tuple[Cast, Scene] | None) -> Cast:
    """Collections alpha and beta with a member of each role, and staff (``cast.py``)."""
    from tests.workbench.cast import create_cast

    return _standing[0] if _standing else create_cast()


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
    from tests.workbench.scene import work_here

    for name, value in work_here(monkeypatch, tmp_path).items():
        setattr(settings, name, value)


@pytest.fixture
def scene(_standing: tuple[Cast, Scene] | None, cast: Cast, here: None) -> Scene:
    """A finished run of alpha with a decision on it, a comparison and a round of a question set."""
    from tests.workbench.scene import make_scene

    return _standing[1] if _standing else make_scene(cast)
