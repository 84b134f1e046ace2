"""A restricted document and all that rests on it reach those named and the admins alone: every address is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.test import Client

from tests.workbench.addresses import ALL, Address, path_of
from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.scene import Scene, make_run, standing_scene
from workbench.accounts.models import MemberRole, Membership, User
from workbench.audit.models import AuditEvent
from workbench.documents.restricting import restriction_set
from workbench.review.queue import queue_hand_over
from workbench.review.services import candidate_override, not_found_refute
from workbench.synonyms.models import DictionaryEntry

SECRETS = (b"twenty-four", b"policy.txt", b"Access records policy", b"2 Retention")
#: What people and the machine quoted from it in their own rows: a comment, a refutation, a note, and a learned pair.
QUOTED = (b"quill pens", b"sealing wax", b"blotting paper", b"parchment")


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
        scene = _quoted(cast, scene)
        named, other = _member(cast, "named"), _member(cast, "other")
        restriction_set(
            actor=cast.admin, document=scene.document, readers=[named.pk], reason="Personal data."
        )
        clients = [Client(), Client()]
        for client, person in zip(clients, (named, other), strict=True):
            client.force_login(person)
        yield Standing(scene, *clients)


def _quoted(cast: Cast, scene: Scene) -> Scene:
    """The scene once people wrote :data:`QUOTED`, with a pair that the machine learned from the run."""
    comment, answer, note, variant = (words.decode() for words in QUOTED)
    run = make_run(asker=cast.analyst, document=scene.document, text="When are payment records deleted?")
    item, waiting = run.queue_items.filter(state="waiting").order_by("pk")[:2]
    role = "supporting" if item.candidate.verdict.role == "primary" else "primary"
    candidate_override(
        actor=cast.reviewer, candidate=item.candidate, role=role, reason_code="other", comment=comment
    )
    lost = make_run(asker=cast.analyst, document=scene.document, text="Which unicorns pay stamp duty?")
    assert lost.not_found
    not_found_refute(actor=cast.reviewer, run=lost, comment=answer)
    queue_hand_over(actor=cast.reviewer, item=waiting, to=cast.second_reviewer, note=note)
    learned = DictionaryEntry.objects.create(
        collection=cast.alpha,
        term="scroll",
        variant=variant,
        proposed_from=item.candidate.reviews.latest("pk"),
        proposed_by=cast.admin,
    )
    return replace(scene, entry=learned)


def _member(cast: Cast, name: str) -> User:
    person = User.objects.create_user(f"{name}@example.org", PASSWORD, name=name)
    for role in set(MemberRole) - {MemberRole.ADMIN}:
        Membership.objects.create(user=person, collection=cast.alpha, role=role)
    return person


#: Of the collection or of the installation, and of no document: shown without what is restricted.
OPEN = (
    *("documents:collection", "documents:upload", "documents:bulk", "documents:fields"),
    *("question_sets:set", "question_sets:change", "question_sets:start", "question_sets:round"),
    *("question_sets:export", "vocabulary:vocabulary", "vocabulary:import", "vocabulary:export"),
    *("collection_settings:settings", "webhooks:", "accounts:people"),
    *("directory:", "labeling:project", "labeling:fill", "labeling:supply", "labeling:elusion"),
    *("labeling:guidelines", "labeling:import", "labeling:open", "labeling:work", "labeling:undo"),
    *("models:version", "models:roll-back", "models:shadow", "models:training", "models:progress"),
    *("models:cancel", "ops:tour", "ops:risk", "scim:", "api:collection-"),
    *("api:question-set-", "api:round-", "api:labeling-project-", "api:labels-agreement"),
    *("api:evaluation-", "api:webhook-", "api:maintenance-", "api:prompt-", "api:model-"),
    "api:training-",
)
NOWHERE = {404, 405}


@pytest.mark.parametrize("address", ALL, ids=lambda a: a.name)
def test_it_is_nowhere_for_others(address: Address, standing: Standing, db: None) -> None:
    path = path_of(address, standing.scene)
    asked = {} if address.name.startswith("api:") else {"q": "records"}  # programs name no unknown parameter
    found, tried = standing.others.get(path, asked), standing.others.post(path)
    body = b"".join(found.streaming_content) if found.streaming else found.content
    shown = [secret for secret in (*SECRETS, *QUOTED) if secret in body]
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


def test_what_was_quoted_is_there_for_who_is_named(standing: Standing, db: None) -> None:
    *words, variant = QUOTED
    for address in ("/audit/", "/api/v1/audit-events/"):
        shown = standing.named.get(address).content
        assert all(word in shown for word in words), address
    assert variant in standing.named.get("/collections/alpha/vocabulary/").content
    seen, trail = (client.get("/api/v1/audit-events/").json() for client in (standing.named, standing.others))
    assert {"run", "candidate", "queueitem"} <= {event["object_type"] for event in seen["results"]}
    hidden = AuditEvent.objects.filter(object_id=str(standing.scene.run.pk), object_type="run")
    assert hidden.exists()
    assert not {event["id"] for event in trail["results"]} & set(hidden.values_list("pk", flat=True))
