"""What every page carries: the ways to go, the version, whether work gets done, and a session that ends."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db.models.functions import Now
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import HTMX, ClientAs
from tests.workbench.scene import Scene
from workbench.ops.context_processors import app_version
from workbench.questions.models import Question, Run

WAYS = {
    "analyst": ["home", "documents:collections", "questions:ask", "questions:runs"],
    "reviewer": ["home", "documents:collections", "questions:ask", "questions:runs", "review:queue"],
    "annotator": ["home", "documents:collections", "questions:runs"],
    "admin": ["home", "documents:collections", "questions:ask", "questions:runs", "audit:trail"],
    "auditor": ["home", "documents:collections", "questions:runs", "audit:trail"],
}


@pytest.fixture(autouse=True)
def _fresh_cache() -> None:
    cache.clear()


@pytest.mark.parametrize("name", WAYS)
def test_each_person_sees_the_ways_open_to_them(name: str, cast: Cast, client_as: ClientAs) -> None:
    nav = list(client_as(cast.members[name]).get(reverse("home")).context["nav"])
    urls = [entry["url"] for entry in nav]
    assert [url for url in urls if url in {reverse(way) for way in WAYS["admin"] + WAYS["reviewer"]}] == [
        reverse(way) for way in WAYS[name]
    ]
    keys = [entry["key"] for entry in nav if entry.get("key")]
    assert all(re.fullmatch("g [a-z]", key) for key in keys)
    assert len(set(keys)) == len(keys)


def test_the_foot_names_the_version_and_says_that_work_gets_done(cast: Cast, client_as: ClientAs) -> None:
    page = client_as(cast.analyst).get(reverse("home")).content.decode()
    assert app_version() in page
    assert "All services answer" in page


def test_the_foot_says_when_no_worker_takes_up_work(cast: Cast, client_as: ClientAs) -> None:
    question = Question.objects.create(collection=cast.alpha, text="?", normalised="?", asked_by=cast.analyst)
    run = Run.objects.create(
        question=question, collection=cast.alpha, strategy="offline", requested_by=cast.analyst
    )
    Run.objects.filter(pk=run.pk).update(created_at=Now() - timedelta(minutes=5))
    assert "no worker has taken it up" in client_as(cast.analyst).get(reverse("home")).content.decode()


@pytest.mark.parametrize(
    ("page", "back"),
    [
        ("http://testserver/queue/?show=all", "%2Fqueue%2F%3Fshow%3Dall"),
        ("https://elsewhere.example/queue/", None),
    ],
)
def test_an_ended_session_leads_through_the_door_and_back(
    page: str, back: str | None, client_as: ClientAs
) -> None:
    answer = client_as(None).get(reverse("review:queue"), headers=HTMX | {"HX-Current-URL": page})
    assert answer.status_code == 204
    login = reverse("account_login")
    assert answer["HX-Redirect"] == (f"{login}?next={back}" if back else login)


def test_pages_travel_compressed_and_files_as_they_are(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client, accepts = client_as(cast.analyst), {"Accept-Encoding": "gzip"}
    page = client.get(reverse("home"), headers=accepts)
    assert page["Content-Encoding"] == "gzip"
    original = client.get(reverse("documents:original", args=[scene.document.pk]), headers=accepts)
    assert "Content-Encoding" not in original


def test_the_style_guide_is_for_development(cast: Cast, client_as: ClientAs, settings: Any) -> None:
    client = client_as(cast.analyst)
    assert client.get(reverse("styleguide")).status_code == 404
    settings.DEBUG = True
    assert "How long are access records kept?" in client.get(reverse("styleguide")).content.decode()
