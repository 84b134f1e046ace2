"""No answer of the product is kept by a browser or a proxy: every address of the URL map is asked."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from tests.workbench.addresses import ALL, OF_PACKAGES, Address, package_path, path_of
from tests.workbench.scene import Scene
from workbench.accounts.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_templates")]

#: Addresses with a short private life: turning pages back and forth draws and sends each image once.
SHORT = {"documents:page-image": 3600}


def assert_not_kept(response: Any, address: Address) -> None:
    said = response.headers.get("Cache-Control", "")
    assert "public" not in said, address.name
    if "no-store" not in said:
        assert "private" in said, f"{address.name} {response.status_code}: {said!r}"
        seconds = re.search(r"max-age=(\d+)", said)
        assert seconds is not None, f"{address.name}: {said!r}"
        assert int(seconds[1]) <= SHORT.get(address.name, 0), f"{address.name}: {said!r}"


@pytest.fixture
def clients(scene: Scene) -> list[Client]:
    """A member who may do everything in the collection, an administrator of the installation, a stranger."""
    superuser = User.objects.create_superuser("root@example.org", "correct-horse-battery-staple")
    admin = User.objects.get(memberships__collection=scene.document.collection, memberships__role="admin")
    made = []
    for person in (admin, superuser, None):
        client = Client(raise_request_exception=False)
        if person is not None:
            client.force_login(person)
        made.append(client)
    return made


def test_no_address_of_the_map_is_kept(scene: Scene, clients: list[Client]) -> None:
    answered: set[str] = set()
    for address in [*ALL, *OF_PACKAGES]:
        with transaction.atomic():
            path = package_path(address) if address in OF_PACKAGES else path_of(address, scene)
            for client in clients:
                for method in ("get", "post"):
                    with transaction.atomic():
                        response = getattr(client, method)(path)
                        assert_not_kept(response, address)
                        if response.status_code == 200:
                            answered.add(address.name)
                        if response.streaming:
                            list(response.streaming_content)  # closes the file
                        transaction.set_rollback(True)
            transaction.set_rollback(True)
    assert {"documents:original", "questions:run", "api:run-detail", "home"} <= answered
    assert len(answered) > 100


@pytest.mark.parametrize("path", ["/no/such/page/", "/api/v1/nothing/", "/?q=%00"])
def test_neither_are_errors(clients: list[Client], path: str) -> None:
    for client in clients:
        assert client.get(path).headers["Cache-Control"] == "private, no-store"


def test_nor_is_what_htmx_fetches(scene: Scene, clients: list[Client]) -> None:
    response = clients[0].get(f"/documents/{scene.document.pk}/status/", headers={"HX-Request": "true"})
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "private, no-store"
