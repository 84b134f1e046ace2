"""The prompts by the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from arbitration.prompting import PromptTemplate, load_prompt, parse_prompt, prompt_names
from tests.workbench.cast import Cast
from tests.workbench.operations.test_operations import call
from tests.workbench.pages.conftest import queries_of
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.operations import prompts
from workbench.runs.models import LLMCall

ClientAs = Callable[[User | None], Client]
PROMPTS = "/api/v1/prompts/"
FILE = (
    "---\nname: arbiter\nversion: {0}\npurpose: x\nplaceholders: q\n---\n"
    "## System\nOne.\n{1}\n## User\n{{{{ q }}}}\n"
)


@pytest.fixture
def two_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release in which a prompt was written anew."""
    texts = {1: parse_prompt(FILE.format(1, "Old line.")), 2: parse_prompt(FILE.format(2, "New line."))}

    def load(name: str, *, version: int) -> PromptTemplate:
        return texts[version]

    monkeypatch.setattr(prompts, "load_prompt", load)
    monkeypatch.setattr(prompts, "versions_of", lambda name: [1, 2])


def test_every_prompt_is_listed_in_its_newest_version(cast: Cast, client_as: ClientAs) -> None:
    rows = client_as(cast.auditor).get(PROMPTS).json()
    assert [row["name"] for row in rows] == prompt_names()
    arbiter = next(row for row in rows if row["name"] == "arbiter")
    assert arbiter["used_in"] == ["arbitration.strategies.arbiter"]
    assert arbiter["version"] == arbiter["versions"][-1]
    assert arbiter["hash"] == load_prompt("arbiter").hash


def test_one_word_for_word_with_its_calls(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    prompt = load_prompt("arbiter")
    call(scene.run, prompt_hash=prompt.hash)
    of_no_run = call(scene.run, prompt_hash=prompt.hash)
    LLMCall.objects.filter(pk=of_no_run.pk).update(run=None)
    call(scene.run, prompt_hash="1" * 64)  # another text of the same name
    shown = client_as(cast.auditor).get(f"{PROMPTS}arbiter/").json()
    assert (shown["system"], shown["user"]) == (prompt.system, prompt.user)
    assert shown["placeholders"] == sorted(prompt.placeholders)
    assert [shown["against"], shown["version"]] == shown["versions"][-2:], "against the version before"
    assert {line["kind"] for line in shown["diff"]} >= {"added", "removed"}
    assert shown["calls"] == [
        {"strategy": scene.run.strategy, "stage": "arbitrate", "calls": 1},
        {"strategy": None, "stage": "arbitrate", "calls": 1},
    ]
    assert client_as(cast.outsider).get(f"{PROMPTS}arbiter/").json()["calls"] == []


@pytest.mark.parametrize(
    ("query", "version", "against", "changed"),
    [
        ({}, 2, 1, [("removed", "Old line."), ("added", "New line.")]),
        ({"version": 1}, 1, None, []),
        ({"version": 1, "against": 2}, 1, 2, [("removed", "New line."), ("added", "Old line.")]),
    ],
)
def test_what_changed_between_two_versions(
    query: dict[str, int],
    version: int,
    against: int | None,
    changed: list[tuple[str, str]],
    cast: Cast,
    client_as: ClientAs,
    two_versions: None,
) -> None:
    shown = client_as(cast.auditor).get(f"{PROMPTS}arbiter/", query).json()
    assert (shown["version"], shown["versions"], shown["against"]) == (version, [1, 2], against)
    assert [(line["kind"], line["text"]) for line in shown["diff"] if line["kind"] != "same"] == changed
    page = client_as(cast.auditor).get("/prompts/", {"name": "arbiter", **query})
    assert (page.context["version"], page.context["against"]) == (version, against), "as the page shows it"


@pytest.mark.parametrize(
    ("path", "status"),
    [("nonesuch/", 404), ("..%2fx/", 404), ("arbiter/?version=99", 404), ("arbiter/?against=99", 404),
     ("arbiter/?version=two", 400), ("arbiter/?against=-1", 400)],
)  # fmt: skip
def test_what_is_not_there(path: str, status: int, cast: Cast, client_as: ClientAs) -> None:
    answer = client_as(cast.auditor).get(f"{PROMPTS}{path}")
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator"])
def test_only_those_who_operate_read_them(name: str, cast: Cast, client_as: ClientAs) -> None:
    for path in (PROMPTS, f"{PROMPTS}arbiter/", f"{PROMPTS}nonesuch/"):
        assert client_as(getattr(cast, name)).get(path).status_code == 403


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_nobody_changes_them(method: str, cast: Cast, client_as: ClientAs) -> None:
    for path in (PROMPTS, f"{PROMPTS}arbiter/"):
        assert getattr(client_as(cast.staff), method)(path).status_code == 405


def test_a_token_reads_them_with_that_scope_alone(cast: Cast, client: Client) -> None:
    for scope, status in ((Permission.VIEW, 403), (Permission.AUDIT, 200)):
        _token, key = token_create(actor=cast.auditor, name="collector", scopes=[scope], days=1)
        bearer: dict[str, Any] = {"Authorization": f"Bearer {key}"}
        assert client.get(PROMPTS, headers=bearer).status_code == status
        assert client.get(f"{PROMPTS}arbiter/", headers=bearer).status_code == status


def test_few_queries(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    assert queries_of(client_as(cast.auditor), PROMPTS) <= 10
    assert queries_of(client_as(cast.auditor), f"{PROMPTS}arbiter/") <= 10
