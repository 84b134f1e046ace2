"""A word on a run that found nothing, by the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.labeling.makers import make_project
from tests.workbench.scene import make_run
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document
from workbench.review.models import ItemState, QueueItem, Review
from workbench.runs.models import Run

pytestmark = pytest.mark.usefixtures("here")
ClientAs = Callable[[User | None], Client]
CONFIRM = {"decision": "confirm"}
REFUTE = {"decision": "refute", "comment": "Page 3, lines 4 to 6."}


@pytest.fixture
def document(cast: Cast) -> Document:
    make_project(cast)
    return Document.objects.get()


@pytest.fixture
def lost(cast: Cast, document: Document) -> Run:
    """A run that found nothing."""
    return make_run(asker=cast.analyst, document=document, text="Which unicorns pay stamp duty?")


def post(client: Client, run: Run, body: dict[str, Any], act: str = "", **headers: str) -> Any:
    path = f"/api/v1/runs/{run.pk}/not-found/{act}"
    return client.post(path, body, content_type="application/json", headers=headers)


def state_of(run: Run) -> str:
    return QueueItem.objects.get(run=run, candidate__isnull=True).state


@pytest.mark.parametrize("body", [CONFIRM, REFUTE], ids=lambda body: body["decision"])
def test_it_is_decided_and_taken_back(
    body: dict[str, str], cast: Cast, client_as: ClientAs, lost: Run
) -> None:
    client = client_as(cast.reviewer)
    made = post(client, lost, body)
    assert made.status_code == 201, made.content
    word = made.json()
    assert (word["run"], word["candidate"]) == (lost.pk, None)
    assert (word["action"], word["comment"]) == (f"{body['decision']}_not_found", body.get("comment", ""))
    assert client.get(f"/api/v1/reviews/{word['id']}/").json() == word
    assert state_of(lost) == ItemState.DECIDED

    back = post(client, lost, {}, "undo/")
    assert (back.status_code, back.json()["action"], back.json()["supersedes"]) == (201, "undo", word["id"])
    assert state_of(lost) != ItemState.DECIDED
    assert Review.objects.filter(run=lost).count() == 2, "both stay on record"
    assert AuditEvent.objects.filter(action__startswith="not_found.").count() == 2


def test_only_reviewers_of_the_collection_decide(cast: Cast, client_as: ClientAs, lost: Run) -> None:
    for person, code in ((cast.analyst, 403), (cast.admin, 403), (cast.auditor, 403), (cast.outsider, 404)):
        refused = post(client_as(person), lost, CONFIRM)
        assert (refused.status_code, refused["Content-Type"]) == (code, "application/problem+json")
        assert post(client_as(person), lost, {}, "undo/").status_code == code
    assert not Review.objects.exists()


def test_a_token_needs_the_scope_to_review(cast: Cast, client: Client, lost: Run) -> None:
    for scopes, code in (([Permission.VIEW], 403), ([Permission.VIEW, Permission.REVIEW], 201)):
        _token, key = token_create(actor=cast.reviewer, name="job", scopes=scopes, days=1)
        bearer = {"Authorization": f"Bearer {key}"}
        assert post(client, lost, CONFIRM, **bearer).status_code == code
        assert post(client, lost, {}, "undo/", **bearer).status_code == code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid"),
        ({"decision": "perhaps"}, "invalid"),
        ({"decision": "confirm", "comment": "x" * 4001}, "invalid"),
        ({"decision": "refute"}, "comment_missing"),
        ({"decision": "refute", "comment": "  "}, "comment_missing"),
    ],
)
def test_nonsense_is_refused(
    body: dict[str, str], code: str, cast: Cast, client_as: ClientAs, lost: Run
) -> None:
    refused = post(client_as(cast.reviewer), lost, body)
    assert (refused.status_code, refused.json()["code"]) == (400, code)
    assert not Review.objects.exists()


def test_what_was_found_is_decided_card_by_card(cast: Cast, client_as: ClientAs, document: Document) -> None:
    run = make_run(asker=cast.analyst, document=document)
    refused = post(client_as(cast.reviewer), run, CONFIRM)
    assert (refused.status_code, refused.json()["code"]) == (400, "found")


def test_only_ones_own_last_word_is_taken_back(cast: Cast, client_as: ClientAs, lost: Run) -> None:
    assert post(client_as(cast.reviewer), lost, {}, "undo/").json()["code"] == "nothing_to_undo"
    assert post(client_as(cast.second_reviewer), lost, CONFIRM).status_code == 201
    refused = post(client_as(cast.reviewer), lost, {}, "undo/")
    assert (refused.status_code, refused.json()["code"]) == (409, "nothing_to_undo")


def test_the_same_request_again_decides_once(cast: Cast, client_as: ClientAs, lost: Run) -> None:
    client = client_as(cast.reviewer)
    first, again = (post(client, lost, CONFIRM, **{"Idempotency-Key": "k"}) for _ in "12")
    assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
    assert Review.objects.count() == 1
