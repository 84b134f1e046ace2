"""A restricted document and all that rests on it reach those named and the admins alone: every address is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from tests.workbench.addresses import ALL, Address, path_of
from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.scene import Scene, standing_scene
from workbench.accounts.models import MemberRole, Membership, User
from workbench.documents.restricting import restriction_set

SECRETS = (b"twenty-four", b"policy.txt", b"Access records policy", b"2 Retention")


@dataclass(frozen=True)
class Standing:
    """The scene with its document restricted to one of two people who may do all else alike, but for administering, and
    the browser of each."""

    scene: Scene
    named: Client
    others: Client


@pytest.fixture(scope="module")
def standing(
    django_db_setup: None,
    django_db_blocker: Any,
    plain_templates: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Standing]:
    with django_db_blocker.unblock(), standing_scene(tmp_path_factory.mktemp("restricted")) as (cast, scene):
        for address in ALL:
            path_of(address, scene)  # what an address needs is made while everybody sees it
        named, other = _member(cast, "named"), _member(cast, "other")
        restriction_set(
            actor=cast.admin, document=scene.document, readers=[named.pk], reason="Personal data."
        )
        clients = [Client(), Client()]
        for client, person in zip(clients, (named, other), strict=True):
            client.force_login(person)
        yield Standing(scene, *clients)


def _member(cast: Cast, name: str) -> User:
    person = User.objects.create_user(f"{name}@example.org", PASSWORD, name=name)
    for role in set(MemberRole) - {MemberRole.ADMIN}:
        Membership.objects.create(user=person, collection=cast.alpha, role=role)
    return person


#: Of the collection or of the installation, and of no document: shown without what is restricted.
OPEN = (
    *("documents:collection", "documents:upload", "documents:bulk", "documents:fields"),
    *("question_sets:set", "question_sets:change", "question_sets:start", "question_sets:round"),
    *("question_sets:export", "vocabulary:", "collection_settings:settings", "webhooks:", "accounts:people"),
    *("directory:", "labeling:project", "labeling:fill", "labeling:supply", "labeling:elusion"),
    *("labeling:guidelines", "labeling:import", "labeling:open", "labeling:work", "labeling:undo"),
    *("models:version", "models:roll-back", "models:shadow", "models:training", "models:progress"),
    *("models:cancel", "ops:tour", "ops:risk", "scim:", "api:collection-", "api:vocabulary-"),
    *("api:question-set-", "api:round-", "api:labeling-project-", "api:labels-agreement"),
    *("api:evaluation-", "api:audit-event-", "api:webhook-", "api:maintenance-", "api:prompt-", "api:model-"),
    "api:training-",
)
NOWHERE = {404, 405}


@pytest.mark.parametrize("address", ALL, ids=lambda a: a.name)
def test_it_is_nowhere_for_others(address: Address, standing: Standing, db: None) -> None:
    path = path_of(address, standing.scene)
    asked = {} if address.name.startswith("api:") else {"q": "records"}  # programs name no unknown parameter
    found, tried = standing.others.get(path, asked), standing.others.post(path)
    body = b"".join(found.streaming_content) if found.streaming else found.content
    shown = [secret for secret in SECRETS if secret in body]
    assert not shown, f"{path} shows {shown}"
    if address.arguments and not address.name.startswith(OPEN):
        assert {found.status_code, tried.status_code} <= NOWHERE, address.name


def test_it_is_there_for_who_is_named(standing: Standing, db: None) -> None:
    """What others do not find means something only where it is found."""
    resting = [a for a in ALL if a.arguments and not a.name.startswith(OPEN)]
    names = {
        address.name
        for address in resting
        if standing.named.get(path_of(address, standing.scene)).status_code not in NOWHERE
    }
    assert len(names) > 40
    assert {"documents:document", "questions:run", "review:item", "exports:fetch", "api:run-answer"} <= names
    shown = standing.named.get(f"/documents/{standing.scene.document.pk}/").content
    assert all(secret in shown for secret in SECRETS)
