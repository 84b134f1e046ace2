"""Nothing of a collection reaches a person outside it: every address of the product is asked (``addresses.py``)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from tests.workbench.addresses import ALL, MADE, Address, path_of
from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import User

pytestmark = pytest.mark.usefixtures("plain_templates")
ClientAs = Callable[[User | None], Client]

#: A model belongs to the installation and is read by members of any collection; what its pages show of a
#: collection is filtered, which the test of words holds.
OF_THE_INSTALLATION = {
    name for name in MADE if name.startswith(("models:", "api:model-", "api:training-"))
} - {"models:label"}
#: Addresses without arguments that speak of no collection or show each person only their own.
OWN_OR_PUBLIC = {"healthz", "readyz", "metrics", "exports:shared"}
#: Figures of the strategies belong to no collection: everybody signed in reads them. Nor do prompts, which are files of
#: a release, and maintenance: both are read by those who operate, in any collection.
#: Steps of the tour are everybody's. A directory's addresses ask for a token of their own, whoever is signed in
#: (``tests/workbench/directory``); a link shows its report to whoever holds it (``tests/workbench/exports``).
OF_NO_COLLECTION = {
    *("api:evaluation-detail", "api:prompt-detail", "api:maintenance-detail", "ops:tour", "exports:shared"),
    *("scim:user", "scim:group", "scim:schema", "scim:resource-type"),
}
OBJECTS = [a for a in ALL if a.arguments and a.name not in OF_NO_COLLECTION]
OF_A_COLLECTION = [a for a in OBJECTS if a.name not in OF_THE_INSTALLATION]


@pytest.mark.parametrize("address", OF_A_COLLECTION, ids=lambda a: a.name)
def test_an_outsider_sees_no_object(address: Address, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.outsider)
    path = path_of(address, scene)
    for method in ("get", "post", "delete", "put", "patch"):
        response = getattr(client, method)(path)
        assert response.status_code in {404, 405}, f"{method} {path}: {response.status_code}"
        assert b"access records" not in response.content.lower()
    assert 404 in {client.get(path).status_code, client.post(path).status_code}


@pytest.mark.parametrize("address", ALL, ids=lambda a: a.name)
def test_an_outsider_finds_none_of_its_words_anywhere(
    address: Address, cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    response = client_as(cast.outsider).get(path_of(address, scene))
    body = b"".join(response.streaming_content) if response.streaming else response.content
    for secret in (b"twenty-four", b"How long are access", b"policy.txt", b"Alpha"):
        assert secret not in body, f"{path_of(address, scene)} shows {secret!r}"


@pytest.mark.parametrize("address", ALL, ids=lambda a: a.name)
def test_a_stranger_is_sent_to_the_door(
    address: Address, client_as: ClientAs, cast: Cast, scene: Scene
) -> None:
    if address.name in OWN_OR_PUBLIC:
        return
    response = client_as(None).get(path_of(address, scene))
    assert response.status_code in {302, 401, 403, 405}, f"{address.name}: {response.status_code}"
    if response.status_code == 302:
        assert response["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize("address", OBJECTS, ids=lambda a: a.name)
def test_a_member_gets_further(address: Address, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    """The 404 of outsiders means something only where members do not get it."""
    from workbench.accounts.models import MemberRole, Membership

    for role in MemberRole:
        Membership.objects.get_or_create(user=cast.admin, collection=cast.alpha, role=role)
    client = client_as(cast.admin)
    statuses = {
        client.get(path_of(address, scene)).status_code,
        client.post(path_of(address, scene)).status_code,
    }
    if address.name in {
        "documents:page-image",
        "documents:page-picture",
    }:  # a text document has no page image
        return
    assert statuses != {404}, address.name
