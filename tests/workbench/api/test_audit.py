"""The audit trail for programs."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_seal

ClientAs = Callable[[User | None], Client]
URL = "/api/v1/audit-events/"


def test_an_auditor_reads_the_trail_with_the_places_in_the_chain(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    client = client_as(cast.auditor)
    waiting = client.get(URL, {"collection": "alpha"}).json()["results"]
    assert {row["collection_id"] for row in waiting} == {cast.alpha.pk}
    audit_seal()

    first, *_rest = client.get(URL, {"collection": "alpha"}).json()["results"]

    event = AuditEvent.objects.select_related("seal").get(pk=first["id"])
    assert (first["position"], first["hash"]) == (event.seal.position, event.seal.hash)
    assert client.get(f"{URL}{event.pk}/").json() == first


def test_the_address_filters_it(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.auditor)
    asked = client.get(URL, {"action": "question."}).json()["results"]
    assert asked
    assert all(row["action"].startswith("question.") for row in asked)
    of_run = client.get(URL, {"object_type": "run", "object_id": str(scene.run.pk)}).json()["results"]
    assert {row["object_id"] for row in of_run} == {str(scene.run.pk)}
    assert client.get(URL, {"until": "2001-01-01"}).json()["results"] == []
    assert client.get(URL, {"since": "yesterday"}).status_code == 400
    assert client.get(URL, {"collection": "beta"}).status_code == 404


def test_only_those_who_audit_read_it(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    event = AuditEvent.objects.filter(collection_id=cast.alpha.pk).first()
    assert event is not None
    for person in (cast.analyst, cast.reviewer, cast.annotator):
        assert client_as(person).get(URL).status_code == 403
        assert client_as(person).get(f"{URL}{event.pk}/").status_code == 404


def test_a_token_reads_it_with_that_scope_alone(cast: Cast, client: Client, scene: Scene) -> None:
    for scopes, status in (([Permission.VIEW], 403), ([Permission.VIEW, Permission.AUDIT], 200)):
        _token, key = token_create(actor=cast.auditor, name="collector", scopes=scopes, days=1)
        answer = client.get(URL, headers={"Authorization": f"Bearer {key}"})
        assert answer.status_code == status, answer.content
