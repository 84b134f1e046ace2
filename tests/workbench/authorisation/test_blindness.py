"""What a second reviewer may not know before deciding, asked of every address of the product.

Worlds that differ in the hidden roles alone (``hidden.py``) are walked by the same person with a session and with a
token of each scope. Each answer must be the same in all of them, and hold no word of the machine's reason nor of the
first reviewer. New addresses are walked because they stand in the URL map.
"""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
from django.test import Client, override_settings

from tests.workbench.addresses import ALL, MADE, Address, path_of
from tests.workbench.scene import Scene, work_here
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create

from .hidden import MARKS, WORLDS, Hidden, World, hidden_candidates, hidden_world, timeless
from .parts import singletons

pytestmark = pytest.mark.django_db

#: Addresses that are not walked here, each with the reason.
NOT_WALKED = {
    **dict.fromkeys(
        (
            "api:signature-detail",
            *("exports:shared", "exports:link-revoke", "api:report-link-detail", "api:report-link-revoke"),
        ),
        "its object is made by signing, after which nothing of the run is hidden",
    ),
}
#: Asked with these as well: what an address tells depends on more than itself.
_RUN_TABS = ["", "?all=1", *(f"?tab={tab}" for tab in ("provenance", "calls", "comments", "history", "json"))]
_ROLES = ("primary", "supporting", "tangential", "discarded", "undecided")
_FILTERS = [
    "?show=all",
    *(f"?show=all&role={role}" for role in _ROLES),
    *(f"?show=all&why={why}" for why in (*_ROLES, "uncertain", "disagreement", "needs_person", "random")),
    *(f"?show=all&decided_by={kind}" for kind in ("rule", "mlp", "llm")),
    *(f"?show=all&detector={name}" for name in ("bm25", "cooccurrence", "embedding")),
    *(f"?stage={stage}" for stage in ("first", "second")),
]
VARIANTS: dict[str, list[str]] = {
    "questions:run": [*_RUN_TABS, *(f"?rest={role}" for role in (*_ROLES, "hidden"))],
    "review:queue": ["", *_FILTERS[:7]],
    "review:bulk": ["", *_FILTERS[:3]],
    "api:queue-list": ["", *_FILTERS],
    "api:queue-bulk": ["", *_FILTERS[:3]],
    "api:run-list": ["", "?status=done", "?review_state=open", "?ordering=review_state", "?asked_by=me"],
    "api:candidate-list": ["", "?run={run}", "?run={run}&page_size=2", "?ordering=document"],
    "api:review-list": ["", "?run={run}", "?action=override", "?ordering=action", "?since=2020-01-01"],
    "api:comment-list": ["", "?run={run}"],
    "api:run-as-of": ["?at=2100-01-01T00:00:00Z"],
    "review:as-of": ["", "?at=2100-01-01T00:00:00Z"],
    "question_sets:round": ["", "?show=to_review", "?show=decided", "?show=disputed"],
    "questions:runs": ["", "?q=records", "?status=done"],
}
#: Addresses of one candidate, one item, one decision: asked of each there is.
_OF_CANDIDATE = ("questions:evidence", "review:receipt", "review:receipt-json", "api:candidate-")
_OF_ITEM = ("review:item", "review:hand-over", "api:queue-detail")
_OF_REVIEW = ("api:review-detail",)

Answers = Mapping[str, tuple[int, str]]
Paths = Mapping[str, list[str]]  # by the name of the address


def _all_paths(hidden: Hidden, *, most: int | None) -> Paths:
    return {
        address.name: _paths(address, hidden, most=most) for address in ALL if address.name not in NOT_WALKED
    }


def _paths(address: Address, hidden: Hidden, *, most: int | None) -> list[str]:
    try:
        paths = _paths_in(address, hidden.scene, most=most)
    except (AssertionError, LookupError) as error:
        raise AssertionError(f"{address.name}: {error}; fill it in tests/workbench/addresses.py") from error
    if address.name not in MADE:
        with suppress(AssertionError, AttributeError):  # of something that a stopped run has not
            paths += _paths_in(address, hidden.stopped_scene, most=most)
    return list(dict.fromkeys(paths))


def _paths_in(address: Address, scene: Scene, *, most: int | None) -> list[str]:
    known, path = address.name, path_of(address, scene)
    of_each: list[int] = []
    if known.startswith(_OF_CANDIDATE):
        of_each = [candidate.pk for candidate in hidden_candidates(scene)]
    elif known in _OF_ITEM:
        of_each = list(scene.run.queue_items.order_by("pk").values_list("pk", flat=True))
    elif known in _OF_REVIEW:
        of_each = list(scene.run.reviews.order_by("pk").values_list("pk", flat=True))
    if of_each and "pk" in address.arguments:
        (asked,) = {part for part in path.split("/") if part.isdecimal()}
        paths = [path.replace(f"/{asked}", f"/{key}", 1) for key in of_each[:most]]
    else:
        paths = [path]
    return [
        f"{path}{variant.format(run=scene.run.pk)}"
        for path in paths
        for variant in VARIANTS.get(known, [""])[:most]
    ]


def _ask(client: Client, path: str, *, htmx: bool = False) -> tuple[int, str]:
    headers = {"HX-Request": "true"} if htmx else {}
    headers |= {"Accept": "text/event-stream"} if path.endswith("/events/") else {}
    response = client.get(path, headers=headers)
    chunks = response.streaming_content if response.streaming else [response.content]
    body = b"".join(chunks).decode("utf-8", "replace")
    told = {name: response[name] for name in ("Location", "ETag", "Last-Modified") if name in response}
    if told.get("ETag") == f'"{hashlib.sha256(body.encode()).hexdigest()[:32]}"':
        told["ETag"] = "of what is shown"  # and so of nothing that is hidden
    return response.status_code, timeless(f"{told}\n{body}")


class Asker:
    """One person with a session, or with a token."""

    def __init__(self, name: str, client: Client, *, is_program: bool = False) -> None:
        self.name, self.client, self.is_program = name, client, is_program

    def walk(self, paths: Paths) -> Answers:
        """What every address answers, by its name and path."""
        answers: dict[str, tuple[int, str]] = {}
        for name, known in paths.items():
            for path in known:
                answers[f"{name} {path}"] = _ask(self.client, path)
                if name == "questions:run":
                    answers[f"{name} {path} htmx"] = _ask(self.client, path, htmx=True)
        return answers


def _session(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def _token(person: User, scopes: list[Permission]) -> Client:
    _row, key = token_create(actor=person, name="walks", scopes=scopes, days=1)
    return Client(headers={"Authorization": f"Bearer {key}"})


def _askers(hidden: Hidden, world: World) -> Iterator[Asker]:
    reviewer, everywhere = hidden.cast.second_reviewer, hidden.everywhere
    yield Asker("reviewer, session", _session(reviewer))
    yield Asker("every role, session", _session(everywhere))
    if world not in WORLDS[:2]:
        return
    for scope in Permission:
        yield _program(f"reviewer, token {scope}", reviewer, [scope])
    yield _program("every role, token view", everywhere, [Permission.VIEW])
    yield _program("every role, token of all", everywhere, list(Permission))


def _program(name: str, owner: User, scopes: list[Permission]) -> Asker:
    return Asker(name, _token(owner, scopes), is_program=True)


def _told(hidden: Hidden, world: World) -> dict[str, Answers]:
    """What each asker was told. Programs ask the API, about two objects and two filters of each address; what takes no
    GET says so to the first person and is spared the others."""
    for_people, for_programs = _all_paths(hidden, most=None), _all_paths(hidden, most=2)
    told: dict[str, Answers] = {}
    closed: set[str] = set()
    for asker in _askers(hidden, world):
        paths = for_programs if asker.is_program else for_people
        told[asker.name] = asker.walk(
            {
                name: known
                for name, known in paths.items()
                if name not in closed and (name.startswith("api:") or not asker.is_program)
            }
        )
        closed = closed or {
            key.partition(" ")[0] for key, (status, _) in told[asker.name].items() if status == 405
        }
    return told


PEOPLE = ["reviewer, session", "every role, session"]
PROGRAMS = [
    *(f"reviewer, token {scope}" for scope in Permission),
    "every role, token view",
    "every role, token of all",
]


@pytest.fixture(scope="module")
def walked(
    django_db_setup: None,
    django_db_blocker: Any,
    plain_templates: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, dict[str, Answers]]:
    """What each asker was told, by world and asker."""
    told: dict[str, dict[str, Answers]] = {}
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("workbench.rerankers.champion.model_load", lambda version: None)
        here = work_here(patch, tmp_path_factory.mktemp("hidden"))
        with override_settings(API_REQUESTS_PER_MINUTE=0, **here):
            for world in WORLDS:
                with hidden_world(world, patch) as hidden:
                    singletons()
                    told[world.name] = _told(hidden, world)
    return told


@pytest.mark.parametrize(
    ("asker", "world"),
    [
        *((asker, world.name) for asker in PEOPLE for world in WORLDS[1:]),
        *((asker, WORLDS[1].name) for asker in PROGRAMS),
    ],
)
def test_what_is_hidden_changes_no_answer(
    walked: dict[str, dict[str, Answers]], asker: str, world: str
) -> None:
    here, there = walked[WORLDS[0].name][asker], walked[world][asker]
    assert list(here) == list(there), "the worlds hold different objects"
    parted = [path for path in here if here[path] != there[path]]
    assert not parted, "\n".join(_difference(path, here[path], there[path]) for path in parted[:25])


@pytest.mark.parametrize("asker", [*PEOPLE, *PROGRAMS])
def test_no_answer_holds_a_hidden_word(walked: dict[str, dict[str, Answers]], asker: str) -> None:
    said = [
        f"{world}: {path} holds {mark}"
        for world, answers in walked.items()
        for path, (_status, body) in answers.get(asker, {}).items()
        for mark in MARKS
        if mark in body
    ]
    assert not said, "\n".join(said[:40])


def test_the_walk_reaches_the_pages_that_matter(walked: dict[str, dict[str, Answers]]) -> None:
    """A walk that is refused everywhere would find nothing."""
    answers = walked[WORLDS[0].name]["reviewer, session"]
    status = Counter(status for status, _body in answers.values())
    assert status[200] > 60, status
    assert max(status) < 500, [path for path, (code, _body) in answers.items() if code >= 500]
    run_page, _stopped = (body for path, (_status, body) in answers.items() if path.endswith("?all=1"))
    assert "To be decided" in run_page
    _done, stopped = (body for path, (_status, body) in answers.items() if path.endswith("?tab=provenance"))
    assert "This run did not finish." in stopped


def test_exceptions_are_addresses() -> None:
    assert set(NOT_WALKED) <= {address.name for address in ALL}
    assert set(VARIANTS) <= {address.name for address in ALL}


def _difference(path: str, here: tuple[int, str], there: tuple[int, str]) -> str:
    lines = difflib.unified_diff(here[1].splitlines(), there[1].splitlines(), n=0, lineterm="")
    changed = [line[:300] for line in list(lines)[2:] if not line.startswith("@@")]
    return f"{path}: {here[0]} {there[0]}\n    " + "\n    ".join(changed[:8])
