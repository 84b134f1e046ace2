"""Guessing passwords: slowed for strangers, and nobody is locked out by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from tests.workbench.cast import PASSWORD, Cast
from workbench.accounts import door
from workbench.accounts.models import User
from workbench.people import services

ClientAs = Callable[[User | None], Client]
HERE, ELSEWHERE, HOME = "192.0.2.1", "198.51.100.7", "203.0.113.9"


@pytest.fixture(autouse=True)
def _nothing_counted(settings: Any) -> Iterator[None]:
    memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "door"}
    settings.CACHES = settings.CACHES | {"default": memory}
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Whom a worker was asked to tell."""
    people: list[int] = []
    monkeypatch.setattr(door, "dispatch_on_commit", lambda task, *, user_id: people.append(user_id))
    return people


def log_in(client: Client, user: User, password: str, *, address: str = HERE) -> Any:
    data = {"login": user.email, "password": password}
    return client.post(reverse("account_login"), data, REMOTE_ADDR=address)


def fails(client: Client, user: User, times: int, *, address: str) -> Any:
    return [log_in(client, user, f"wrong {n}", address=address) for n in range(times)][-1]


def is_in(answer: Any) -> bool:
    return bool(answer.status_code == 302)


@pytest.mark.usefixtures("told")
def test_a_stranger_locks_out_nobody_but_themselves(cast: Cast, client_as: ClientAs) -> None:
    stranger = client_as(None)
    refused = fails(stranger, cast.analyst, 12, address=ELSEWHERE)
    assert "use a browser you have signed in with before" in refused.content.decode()
    assert not is_in(log_in(stranger, cast.analyst, PASSWORD, address=ELSEWHERE))
    # Neither the account, from where its owner is, nor the address, for its other people.
    assert is_in(log_in(client_as(None), cast.analyst, PASSWORD, address=HERE))
    assert is_in(log_in(client_as(None), cast.reviewer, PASSWORD, address=ELSEWHERE))


@pytest.mark.usefixtures("told")
def test_a_known_browser_gets_in_whatever_strangers_do(
    cast: Cast, client_as: ClientAs, settings: Any
) -> None:
    settings.LOGIN_FAILURES = settings.LOGIN_FAILURES | {"account": "3/60m/key", "address": "3/10m/key"}
    known = client_as(None)
    assert is_in(log_in(known, cast.analyst, PASSWORD))
    known.post(reverse("account_logout"))
    for address in (HERE, ELSEWHERE):
        fails(client_as(None), cast.analyst, 5, address=address)
    assert not is_in(log_in(client_as(None), cast.analyst, PASSWORD, address=HOME))
    assert is_in(log_in(known, cast.analyst, PASSWORD, address=HERE))


@pytest.mark.usefixtures("told")
def test_a_known_browser_may_not_guess_for_ever(cast: Cast, client_as: ClientAs) -> None:
    known = client_as(None)
    log_in(known, cast.analyst, PASSWORD)
    known.post(reverse("account_logout"))
    for address in (HERE, ELSEWHERE):
        fails(known, cast.analyst, 5, address=address)
    assert not is_in(log_in(known, cast.analyst, PASSWORD, address=HOME))


@pytest.mark.usefixtures("told")
def test_the_cookie_is_good_for_its_own_account(cast: Cast, client_as: ClientAs, settings: Any) -> None:
    settings.LOGIN_FAILURES = settings.LOGIN_FAILURES | {"account": "3/60m/key"}
    colleague = client_as(None)
    log_in(colleague, cast.reviewer, PASSWORD)
    colleague.post(reverse("account_logout"))
    fails(colleague, cast.analyst, 4, address=HERE)
    assert not is_in(log_in(colleague, cast.analyst, PASSWORD, address=HERE))
    assert is_in(log_in(colleague, cast.reviewer, PASSWORD, address=HERE))


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("value", ["", "made-up", "e30:1:1", "W10:x"])
def test_a_made_up_cookie_is_none(cast: Cast, client_as: ClientAs, settings: Any, value: str) -> None:
    settings.LOGIN_FAILURES = settings.LOGIN_FAILURES | {"account": "3/60m/key"}
    stranger = client_as(None)
    stranger.cookies[door.COOKIE] = value
    fails(stranger, cast.analyst, 4, address=HERE)
    assert not is_in(log_in(stranger, cast.analyst, PASSWORD, address=ELSEWHERE))


@pytest.mark.usefixtures("told")
def test_many_accounts_from_one_address(cast: Cast, client_as: ClientAs, settings: Any) -> None:
    settings.LOGIN_FAILURES = settings.LOGIN_FAILURES | {"address": "6/10m/key"}
    stranger = client_as(None)
    for user in (cast.analyst, cast.reviewer):
        fails(stranger, user, 3, address=ELSEWHERE)
    assert not is_in(log_in(stranger, cast.admin, PASSWORD, address=ELSEWHERE))
    assert is_in(log_in(client_as(None), cast.admin, PASSWORD, address=HERE))


@pytest.mark.usefixtures("told")
def test_logins_that_succeed_count_for_nothing(cast: Cast, client_as: ClientAs, settings: Any) -> None:
    settings.LOGIN_FAILURES = {
        name: f"2/{rate.split('/')[1]}/key" for name, rate in settings.LOGIN_FAILURES.items()
    }
    for _ in range(5):
        assert is_in(log_in(client_as(None), cast.analyst, PASSWORD))


def test_the_cookie_names_nobody_and_scripts_cannot_read_it(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(None)
    log_in(client, cast.analyst, PASSWORD)
    cookie = client.cookies[door.COOKIE]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cast.analyst.email not in str(
        door._devices(type("Request", (), {"COOKIES": {door.COOKIE: cookie.value}})())
    )


def test_the_owner_is_told_once(cast: Cast, client_as: ClientAs, told: list[int], settings: Any) -> None:
    settings.LOGIN_FAILURES_TOLD = 3
    fails(client_as(None), cast.analyst, 2, address=HERE)
    assert told == []
    fails(client_as(None), cast.analyst, 4, address=ELSEWHERE)
    assert told == [cast.analyst.pk]
    services.failures_tell(user_id=cast.analyst.pk)
    (message,) = mail.outbox
    assert message.to == [cast.analyst.email]
    assert "3 times" in message.body
