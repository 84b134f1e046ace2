"""A restricted document and all that rests on it reach those named and the admins alone: every address is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from tests.workbench.addresses import ALL, Address, path_of
from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.scene import Scene, standing_scene
from workbench.accounts.models import MemberRole, Membership, User
from workbench.documents.restricting import restriction_set

ClientAs = Callable[[User | None], Client]
SECRETS = (b"twenty-four", b"policy.txt", b"Access records policy", b"2 Retention")


@pytest.fixture(scope="module")
def standing(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Cast, Scene, User, User]]:
    """The scene with its document restricted to one of two people who may do all else alike, but for administering."""
    with django_db_blocker.unblock(), standing_scene(tmp_path_factory.mktemp("restricted")) as (cast, scene):
        named, other = _member(cast, "named"), _member(cast, "other")
        for address in ALL:
            path_of(address, scene)  # what an address needs is made while everybody sees it
        restriction_set(
            actor=cast.admin, document=scene.document, readers=[named.pk], reason="Personal data."
        )
        yield cast, scene, named, other


def _member(cast: Cast, name: str) -> User:
    person = User.objects.create_user(f"{name}@example.org", PASSWORD, name=name)
    for role in set(MemberRole) - {MemberRole.ADMIN}:
        Membership.objects.create(user=person, collection=cast.alpha, role=role)
    return person


@pytest.mark.parametrize("address", ALL, ids=lambda a: a.name)
def test_its_words_stay_with_its_readers(
    address: Address, standing: tuple[Cast, Scene, User, User], db: None, client_as: ClientAs
) -> None:
    _cast, scene, _named, other = standing
    path = path_of(address, scene)
    for query in ({}, {"q": "records"}):
        response = client_as(other).get(path, query)
        body = b"".join(response.streaming_content) if response.streaming else response.content
        assert response.status_code < 500
        found = [secret for secret in SECRETS if secret in body]
        assert not found, f"{path} shows {found}"


def test_x(standing: tuple[Cast, Scene, User, User], db: None, client_as: ClientAs) -> None:
    _cast, scene, named, other = standing
    out = []
    for address in ALL:
        if not address.arguments:
            continue
        path = path_of(address, scene)
        a, b = client_as(named).get(path).status_code, client_as(other).get(path).status_code
        c, d = client_as(named).post(path).status_code, client_as(other).post(path).status_code
        out.append((address.name, a, b, c, d))
    print("\n".join(map(str, out)))
    raise SystemExit
