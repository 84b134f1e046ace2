"""Over HTTP, on the running product: a directory that makes, regroups and ends people, and a run that is followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from tests.product import RunningProduct

pytestmark = pytest.mark.integration
CORE = "urn:ietf:params:scim:schemas:core:2.0"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


@pytest.fixture
def directory(product: RunningProduct) -> Iterator[httpx.Client]:
    """A client of SCIM with a token that the operator made."""
    made = product.manage("directory_token", "create", "Directory of the test")
    assert made.returncode == 0, made.stderr
    headers = {"Authorization": f"Bearer {made.stdout.split()[-1]}", "Content-Type": "application/scim+json"}
    with httpx.Client(base_url=f"{product.address}/scim/v2/", headers=headers, timeout=120) as client:
        yield client


def changed(client: httpx.Client, at: str, /, **operation: Any) -> Any:
    body = {"schemas": [PATCH], "Operations": [operation]}
    return client.patch(at, json=body)


def test_a_directory_makes_regroups_and_ends_somebody(
    product: RunningProduct, directory: httpx.Client
) -> None:
    admin = product.client("admin")
    mapped = admin.post("/api/v1/collections/demo/groups/", json={"group": "Lawyers", "role": "reviewer"})
    assert mapped.status_code == 201, mapped.text
    made = directory.post("Users", json={"schemas": [f"{CORE}:User"], "userName": "kim@acme.example"})
    assert (made.status_code, made.headers["Content-Type"]) == (201, "application/scim+json")
    key = made.json()["id"]
    assert httpx.get(made.headers["Location"], headers=directory.headers).json()["id"] == key
    group = directory.post(
        "Groups", json={"schemas": [f"{CORE}:Group"], "displayName": "Lawyers", "members": [{"value": key}]}
    )
    roles = "SELECT role FROM accounts_membership WHERE user_id = %s"
    assert product.rows(roles, int(key)) == [("reviewer",)]

    path = f"Groups/{group.json()['id']}"
    left = changed(directory, path, op="remove", path=f'members[value eq "{key}"]')
    assert (left.status_code, product.rows(roles, int(key))) == (200, [])
    off = changed(directory, f"Users/{key}", op="replace", value={"active": False})
    assert off.json()["active"] is False
    found = directory.get("Users", params={"filter": 'userName eq "kim@acme.example"'}).json()
    assert [row["active"] for row in found["Resources"]] == [False]
    refused = directory.post("Users", json={"schemas": [f"{CORE}:User"], "userName": "kim@acme.example"})
    assert (refused.status_code, refused.json()["scimType"]) == (409, "uniqueness")


def test_a_run_is_followed_to_its_end(product: RunningProduct) -> None:
    analyst = product.client("analyst")
    asked = analyst.post(
        "/api/v1/questions/",
        json={"collection": "demo", "text": "Who may follow a run over HTTP?", "use_cache": False},
    )
    assert asked.status_code == 201, asked.text
    address = f"{asked.headers['Location']}events/"
    with analyst.stream("GET", address, headers={"Accept": "text/event-stream"}) as answer:
        assert answer.status_code == 200
        lines = [line for line in answer.iter_lines() if line.startswith("event:")]
    assert lines[-1] == "event: end"
    assert len(lines) > 1
    assert analyst.get(asked.headers["Location"]).json()["status"] == "done"
