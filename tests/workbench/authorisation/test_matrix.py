"""Every address and method asked by everybody: it does something for exactly those whom its row names (``rows.py``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import Client, override_settings
from django.test.client import ClientHandler

from tests.workbench.addresses import ALL, OF_PACKAGES, Address, package_path, path_of
from tests.workbench.cast import Cast
from tests.workbench.scene import Scene, standing_scene
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.infra.model_endpoints import ModelEndpoint

from .parts import EVERYBODY, Row, address_known, singletons
from .rows import ASKS_AGAIN, DOES_NOT_ASK, OTHERS, ROWS

pytestmark = pytest.mark.django_db

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
#: Tables that hold nothing anybody decided.
PASSING = ("django_session", "api_idempotentrequest", 'api_apitoken" SET "last_used_at')


class Writes:
    """Counts the statements that change a table and are not taken back, while one request is served."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self._marks: dict[str, int] = {}

    def __call__(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        words = str(sql).split(None, 3)
        verb = words[0].upper() if words else ""
        if verb == "SAVEPOINT":
            self._marks[words[1]] = len(self.kept)
        elif verb == "ROLLBACK" and words[-1] in self._marks:
            del self.kept[self._marks[words[-1]] :]
        elif verb in {"INSERT", "UPDATE", "DELETE"} and not any(name in str(sql)[:80] for name in PASSING):
            self.kept.append(str(sql)[:120])
        return execute(sql, params, many, context)


@dataclass
class Stage:
    """One scene for the whole module; each request is taken back after it."""

    cast: Cast
    scene: Scene
    people: dict[str, User | None]
    sessions: dict[str, str] = field(default_factory=dict)
    #: One for all browsers: making the chain of middleware is a fifteenth of what a request takes.
    handler: ClientHandler = field(default_factory=lambda: ClientHandler(enforce_csrf_checks=False))
    #: What the last request did, for the message of a failure.
    written: list[str] = field(default_factory=list)

    def client(self, letter: str) -> Client:
        """A browser in which the person is signed in."""
        client = Client()
        client.handler = self.handler
        if letter in self.sessions:
            client.cookies[settings.SESSION_COOKIE_NAME] = self.sessions[letter]
        return client

    def ask(self, letter: str, row: Row, path: str) -> bool:
        """Whether the request does something for the person."""
        with transaction.atomic():
            person = self.people[letter]
            row.given(self.scene, person or self.cast.analyst)
            data = dict(row.data(self.scene))
            writes = Writes()
            with connection.execute_wrapper(writes):
                response = self.send(self.client(letter), row, path, data)
            assert response.status_code < 500, f"{row.method} {path}: {response.status_code}"
            self.written += [f"{letter}: {sql}" for sql in writes.kept]
            done = self._answered(response) if row.method == "GET" else bool(writes.kept)
            if response.streaming:
                list(response.streaming_content)  # closes the file
            transaction.set_rollback(True)
        return done

    def send(self, client: Client, row: Row, path: str, data: dict[str, Any]) -> Any:
        if row.method == "GET":
            return client.get(path, data)
        has_file = any(hasattr(value, "read") for value in data.values())
        if row.name.startswith("api:") and not has_file:
            return client.generic(row.method, path, json.dumps(data), content_type="application/json")
        return client.post(path, data)

    @staticmethod
    def _answered(response: Any) -> bool:
        if response.status_code in {301, 302}:
            return not response["Location"].startswith(("/accounts/login/", "/backdoor/login/"))
        return bool(response.status_code == 200)


@pytest.fixture(scope="module")
def stage(
    django_db_setup: None,
    django_db_blocker: Any,
    plain_templates: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stage]:
    with (
        django_db_blocker.unblock(),
        pytest.MonkeyPatch.context() as patch,
        standing_scene(tmp_path_factory.mktemp("stage")) as (cast, scene),
    ):
        patch.setattr("workbench.rerankers.champion.model_load", lambda version: None)
        # Outside of MODEL_NETWORKS: a test of it ends before anything is sent.
        away = ModelEndpoint("away", "http://192.0.2.1/v1", ("none",))
        patch.setattr(settings, "MODEL_ENDPOINTS", (away,))
        singletons()
        made = Stage(cast, scene, _people(cast))
        for letter, person in made.people.items():
            if person is not None:
                made.sessions[letter] = _session_of(person)
        yield made


def _session_of(person: User) -> str:
    client = Client()
    client.force_login(person)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


#: What who may look may do: say something, have a copy written of what they see, note that they saw it.
LOOKING_IS_ENOUGH = {"api:comment-list", "api:export-list", "api:notification-read"}
#: A GET that asks too.
TAKES_A_COLLECTION_AWAY = {"archives:fetch", "api:collection-archive-detail"}


def _people(cast: Cast) -> dict[str, User | None]:
    names = ["analyst", "reviewer", "annotator", "admin", "auditor"]
    own = dict(zip("ARNDU", (getattr(cast, name) for name in names), strict=True))
    others = dict(zip("arndu", (cast.outsiders[name] for name in names), strict=True))
    superuser = User.objects.create_superuser("root@example.org", "correct-horse-battery-staple")
    people: dict[str, User | None] = {**own, **others, "S": cast.staff, "!": superuser, "?": None}
    assert set(people) == set(EVERYBODY)
    return people


ADDRESS = {address.name: address for address in [*ALL, *OF_PACKAGES]}
#: Named once, where they stand: rows of our own first.
EVERY_ROW = [*ROWS, *OTHERS]


def filled(address: Address, scene: Scene) -> str:
    """The path of an address of our own or of another package."""
    return package_path(address) if address in OF_PACKAGES else path_of(address, scene)


@pytest.mark.parametrize("row", EVERY_ROW, ids=lambda row: f"{row.method} {row.name}")
def test_it_does_something_for_exactly_these(row: Row, stage: Stage) -> None:
    path = filled(ADDRESS[row.name], stage.scene)
    stage.written.clear()
    done = "".join(letter for letter in EVERYBODY if stage.ask(letter, row, path))
    expected = "".join(letter for letter in EVERYBODY if letter in row.who)
    assert done == expected, [said for said in stage.written if said[0] in set(done) ^ set(expected)]


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.method == "POST" or row.name in ASKS_AGAIN],
    ids=lambda row: f"{row.method} {row.name}",
)
def test_exactly_the_acts_of_administrators_ask_again(row: Row, stage: Stage) -> None:
    """A session that was opened longer ago is asked on a page, and told by the API; nothing is done meanwhile."""
    letter = next((who for who in row.who if who in "DRNS"), "R")
    writes = Writes()
    with override_settings(ASKS_AGAIN=True), transaction.atomic():
        path = path_of(ADDRESS[row.name], stage.scene)
        with connection.execute_wrapper(writes):
            response = stage.client(letter).generic(row.method, path)
        transaction.set_rollback(True)
    if row.name.startswith("api:"):
        asks = response.status_code == 403 and response.json()["code"] == "reauthentication_required"
    else:
        asks = response.get("Location", "").startswith("/accounts/reauthenticate/")
    reads = row.method == "GET" and row.name not in TAKES_A_COLLECTION_AWAY
    assert asks is (row.name in ASKS_AGAIN and not reads)
    assert not (asks and writes.kept)


def test_an_act_of_those_who_manage_asks_again_or_says_why_not() -> None:
    managed = {row.name for row in ROWS if row.method == "POST" and row.who and set(row.who) <= set("DdS!")}
    assert managed - ASKS_AGAIN - set(DOES_NOT_ASK) == set()
    assert set(DOES_NOT_ASK) & ASKS_AGAIN == set()
    assert set(DOES_NOT_ASK) <= managed


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.method == "POST" and row.name.startswith("api:")],
    ids=lambda row: row.name,
)
def test_a_token_that_may_only_look_changes_nothing(row: Row, stage: Stage) -> None:
    """Whatever its owner may do: each act is asked of somebody who may do it, by a program that may not."""
    letter = next(iter(sorted(row.who, key="DRNASU".find, reverse=True)), "D")
    owner = stage.people[letter] or stage.cast.admin
    writes = Writes()
    with transaction.atomic():
        row.given(stage.scene, owner)
        _token, key = token_create(actor=owner, name="looks", scopes=[Permission.VIEW], days=1)
        data = dict(row.data(stage.scene))
        path = path_of(ADDRESS[row.name], stage.scene)
        with connection.execute_wrapper(writes):
            response = stage.send(Client(headers={"Authorization": f"Bearer {key}"}), row, path, data)
        transaction.set_rollback(True)
    assert response.status_code < 500
    assert response.status_code != 401, "the token was not even looked at"
    assert bool(writes.kept) is (row.name in LOOKING_IS_ENOUGH), (response.status_code, writes.kept)


def test_every_address_has_a_row_and_every_row_an_address() -> None:
    assert {row.name for row in ROWS} == {address.name for address in ALL}
    assert {row.name for row in OTHERS} == {address.name for address in OF_PACKAGES}
    assert len({(row.name, row.method) for row in EVERY_ROW}) == len(EVERY_ROW), "a row stands twice"


@pytest.mark.parametrize("address", [*ALL, *OF_PACKAGES], ids=lambda address: address.name)
def test_no_method_works_without_a_row(address: Address, stage: Stage) -> None:
    known = {row.method for row in EVERY_ROW if row.name == address.name}
    path = filled(address, stage.scene)
    for method in sorted(set(METHODS) - known):
        writes = Writes()
        with transaction.atomic():
            address_known(stage.scene, stage.people["!"])
            with connection.execute_wrapper(writes):
                response = stage.client("!").generic(method, path)
            transaction.set_rollback(True)
        assert not writes.kept, f"{method} {path}"
        if address in OF_PACKAGES:  # these show a page whatever the method
            continue
        assert response.status_code in {404, 405}, f"{method} {path}: {response.status_code}; give it a row"
