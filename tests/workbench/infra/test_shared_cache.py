"""Limits hold over all web processes, and a silent broker neither lifts them nor breaks a request."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache, caches
from django.test import Client
from django.urls import reverse

from tests.conftest import ROOT
from tests.workbench.cast import PASSWORD, Cast
from workbench.accounts.models import User
from workbench.infra import shared_cache
from workbench.infra.shared_cache import count_hit
from workbench.settings.celery import CELERY_BROKER_URL

ClientAs = Callable[[User | None], Client]
SHARED = "workbench.infra.shared_cache.SharedCache"
#: Nobody listens there.
SILENT = "redis://127.0.0.1:1/0"
COUNTS = """
import sys
from django.conf import settings
settings.configure(CACHES={"default": {"BACKEND": %r, "LOCATION": %r, "KEY_PREFIX": "test-counts"}})
from workbench.infra.shared_cache import count_hit
sys.stdin.readline()
print(*(count_hit("door", seconds=60) for _ in range(40)))
"""


def shared(location: str, prefix: str = "test") -> dict[str, Any]:
    """The caches of production with another address."""
    per_process = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "process"}
    return {
        "default": {"BACKEND": SHARED, "LOCATION": location, "KEY_PREFIX": prefix},
        "process": per_process,
    }


@pytest.fixture(autouse=True)
def _not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_cache._Silence, "until", 0.0)


@pytest.fixture
def broker(settings: Any) -> Iterator[str]:
    """The broker that the tests run beside."""
    settings.CACHES = shared(CELERY_BROKER_URL)
    cache.clear()
    yield CELERY_BROKER_URL
    cache.clear()


def test_two_processes_count_together(settings: Any) -> None:
    settings.CACHES = shared(CELERY_BROKER_URL, "test-counts")
    cache.clear()
    code = COUNTS % (SHARED, CELERY_BROKER_URL)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": ""},
        )
        for _ in range(2)
    ]
    said = [process.communicate("\n", timeout=240)[0] for process in processes]
    assert sorted(int(n) for line in said for n in line.split()) == list(range(1, 81))
    cache.clear()


def test_what_is_counted_lies_in_the_broker_as_json(broker: str) -> None:
    import redis

    client = redis.Redis.from_url(broker)
    client.set("somebody-elses", "message")
    cache.set("history", [1.5, 2.5], 60)
    assert client.get("test:1:history") == b"[1.5, 2.5]"
    assert cache.get("history") == [1.5, 2.5]
    assert cache.add("lock", True, 10)
    assert not cache.add("lock", True, 10)
    with pytest.raises(TypeError):
        cache.set("object", object(), 60)
    cache.clear()
    assert cache.get("history") is None
    assert client.get("somebody-elses") == b"message", "messages of the workers stay"
    client.delete("somebody-elses")


def test_a_silent_broker_is_asked_once_and_this_process_goes_on_counting(settings: Any) -> None:
    settings.CACHES = shared(SILENT)
    asked: list[float] = []
    there = shared_cache.RedisCacheClient.get_client

    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(1)
        return there(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_cache._Client, "get_client", ask)
        assert [count_hit("door", seconds=60) for _ in range(3)] == [1, 2, 3]
    assert len(asked) == 1
    caches["default"].own.clear()


def test_guesses_are_limited_while_the_broker_is_silent(
    cast: Cast, client_as: ClientAs, settings: Any
) -> None:
    settings.CACHES = shared(SILENT)
    client = client_as(None)
    login = reverse("account_login")
    for _ in range(10):
        assert client.post(login, {"login": cast.analyst.email, "password": "wrong"}).status_code == 200
    assert client.post(login, {"login": cast.analyst.email, "password": PASSWORD}).status_code == 200
    assert "_auth_user_id" not in client.session
    caches["default"].own.clear()


@pytest.mark.parametrize("location", [CELERY_BROKER_URL, SILENT], ids=["shared", "silent"])
def test_a_program_gone_wild_is_slowed_down(
    location: str, cast: Cast, client_as: ClientAs, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CACHES = shared(location)
    cache.clear()
    settings.API_REQUESTS_PER_MINUTE = 3
    monkeypatch.setattr("workbench.api.throttling.time", SimpleNamespace(time=lambda: 1_800_000_010.0))
    client, other = client_as(cast.analyst), client_as(cast.reviewer)
    assert [client.get("/api/v1/collections/").status_code for _ in range(4)] == [200, 200, 200, 429]
    refused = client.get("/api/v1/collections/")
    assert refused["Content-Type"] == "application/problem+json"
    assert refused.json()["code"] == "throttled"
    assert int(refused["Retry-After"]) == 50
    assert other.get("/api/v1/collections/").status_code == 200
    assert client.get("/").status_code == 200, "pages are not counted"
    cache.clear()
