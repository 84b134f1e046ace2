"""What every page carries: the ways to go, the version, whether work gets done and models answer, a session that
ends."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import HTMX, ClientAs
from tests.workbench.scene import Scene
from workbench.operations.control import llm_resume, llm_stop
from workbench.runs.gateway import endpoint_name
from workbench.runs.models import LLMCall, Question, Run
from workbench.version import version

WAYS = {
    "analyst": ["home", "documents:collections", "questions:ask", "questions:runs"],
    "reviewer": ["home", "documents:collections", "questions:ask", "questions:runs", "review:queue"],
    "annotator": ["home", "documents:collections", "questions:runs"],
    "admin": ["home", "documents:collections", "questions:ask", "questions:runs", "audit:trail"],
    "auditor": ["home", "documents:collections", "questions:runs", "audit:trail"],
}


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
    assert version() in page
    assert "All services answer" in page


def test_the_foot_says_when_no_worker_takes_up_work(cast: Cast, client_as: ClientAs) -> None:
    question = Question.objects.create(collection=cast.alpha, text="?", normalised="?", asked_by=cast.analyst)
    run = Run.objects.create(
        question=question, collection=cast.alpha, strategy="offline", requested_by=cast.analyst
    )
    Run.objects.filter(pk=run.pk).update(created_at=Now() - timedelta(minutes=5))
    assert "no worker has taken it up" in client_as(cast.analyst).get(reverse("home")).content.decode()


def failing_calls(cast: Cast, outcomes: list[str], *, minutes_ago: int = 1) -> None:
    """So many calls of the installation's endpoint, oldest first."""
    for outcome in outcomes:
        LLMCall.objects.create(
            collection=cast.alpha, stage="arbitrate", endpoint=endpoint_name(), model="m", prompt_name="arbiter",
            prompt_version="v1", prompt_hash="0" * 64, request_hash="0" * 64, attempt=1, outcome=outcome,
            created_at=Now() - timedelta(minutes=minutes_ago),
        )  # fmt: skip


def banner(client: Client, *, language: str = "en") -> str:
    """What a page says of the model, spaces joined; empty where it says nothing."""
    page = client.get(reverse("questions:runs"), headers={"Accept-Language": language}).content.decode()
    found = re.search(
        r'<div class="message message--warning message--standing" role="status">(.*?)</div>', page, re.S
    )
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split()) if found else ""


class TestDegraded:
    @pytest.fixture(autouse=True)
    def _with_a_model(self, settings: Any) -> None:
        settings.LLM_CONFIGURED = True

    @pytest.mark.parametrize(
        ("outcome", "words"),
        [
            ("timeout", "Its last calls took too long."),
            ("connection", "It cannot be reached."),
            ("server_error", "It reports faults of its own."),
        ],
    )
    def test_every_page_says_that_the_model_does_not_answer(
        self, outcome: str, words: str, cast: Cast, client_as: ClientAs
    ) -> None:
        failing_calls(cast, [outcome] * 5)
        said = banner(client_as(cast.analyst))
        assert said.startswith(f"The language model does not answer {words}")
        assert "Questions are still answered" in said

    def test_refusals_of_an_open_circuit_do_not_hide_it(self, cast: Cast, client_as: ClientAs) -> None:
        failing_calls(cast, ["connection"] * 5 + ["circuit_open"] * 20)
        assert banner(client_as(cast.analyst))

    @pytest.mark.parametrize(
        "outcomes",
        [[], ["timeout"] * 4, ["timeout"] * 5 + ["ok"], ["rate_limited"] * 5, ["wrong_schema"] * 5],
    )
    def test_nothing_is_said_of_an_endpoint_that_answers(
        self, outcomes: list[str], cast: Cast, client_as: ClientAs
    ) -> None:
        failing_calls(cast, outcomes)
        assert banner(client_as(cast.analyst)) == ""

    def test_nothing_is_said_of_what_failed_long_ago_or_where_there_is_no_model(
        self, cast: Cast, client_as: ClientAs, settings: Any
    ) -> None:
        failing_calls(cast, ["timeout"] * 5, minutes_ago=6)
        assert banner(client_as(cast.analyst)) == ""
        caches["process"].clear()
        failing_calls(cast, ["timeout"] * 5)
        settings.LLM_CONFIGURED = False
        assert banner(client_as(cast.analyst)) == ""

    def test_the_stop_switch_shows_at_once_and_so_does_its_end(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.analyst)
        assert banner(client) == ""
        llm_stop(actor=cast.staff, reason="the bill <b>")
        assert banner(client).startswith("Language models are stopped the bill &lt;b&gt;")
        llm_resume(actor=cast.staff, reason="paid")
        assert banner(client) == ""

    def test_in_spanish(self, cast: Cast, client_as: ClientAs) -> None:
        failing_calls(cast, ["timeout"] * 5)
        said = banner(client_as(cast.analyst), language="es")
        assert said.startswith("El modelo de lenguaje no responde")

    def test_the_ledger_is_asked_once_in_a_while(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.analyst)
        banner(client)
        with CaptureQueriesContext(connection) as captured:
            banner(client)
        assert not [query for query in captured.captured_queries if "llmcall" in query["sql"]]


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


def test_every_page_says_what_it_is_for(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.reviewer)
    queue, run = (client.get(path).content.decode() for path in ("/queue/", scene.run.get_absolute_url()))
    assert "Verdicts that people must decide, the most uncertain first" in queue
    assert "The answer with its citations comes first" in run
    assert "keys-dialog" in client.get("/notifications/").content.decode()
