"""A parameter that an address of the API does not have is refused by name, everywhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from tests.workbench.addresses import ALL, path_of
from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import User

pytestmark = pytest.mark.usefixtures("here")
ClientAs = Callable[[User | None], Client]

#: Addresses of other libraries, which take parameters of their own.
NOT_OURS = {"api:schema"}


def test_a_filter_with_a_slip_in_its_name_is_told(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.analyst)
    refused = client.get("/api/v1/runs/?colection=alpha&page_size=5")
    assert (refused.status_code, refused["Content-Type"]) == (400, "application/problem+json")
    said = refused.json()["errors"]
    assert list(said) == ["colection"]
    assert "asked_by, collection, cursor, document" in said["colection"][0]
    assert client.get("/api/v1/runs/?collection=alpha&page_size=5").status_code == 200


def test_an_address_without_parameters_says_that_there_are_none(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    refused = client_as(cast.analyst).get(f"/api/v1/runs/{scene.run.pk}/?verbose=1")
    assert "Known parameters: none" in refused.json()["errors"]["verbose"][0]


def test_every_address_refuses_what_it_does_not_know(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    people = [client_as(cast.admin), client_as(cast.auditor)]
    asked = 0
    for address in ALL:
        if not address.name.startswith("api:") or address.name in NOT_OURS:
            continue
        path = path_of(address, scene)
        for client in people:
            if client.get(path).status_code == 200:
                asked += 1
                assert client.get(f"{path}?no_such_thing=1").status_code == 400, address.name
                break
    assert asked > 40
