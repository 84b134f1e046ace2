"""A question that follows another: the same scope, a link both ways, and nothing of the other's answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import queries_of
from tests.workbench.scene import Scene, make_document, make_run
from workbench.accounts.models import MemberRole, Membership, User
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document
from workbench.documents.narrowing import ScopeFilter
from workbench.errors import WorkbenchError
from workbench.review.rerun import run_again
from workbench.runs.models import Run
from workbench.runs.services import question_ask

ClientAs = Callable[[User | None], Client]
NEXT = "Who signs the deletion of records?"


@pytest.fixture
def abroad(cast: Cast, scene: Scene) -> Run:
    """A finished run of beta."""
    document = make_document(collection=cast.beta, owner=cast.outsider, name="far.txt")
    return make_run(asker=cast.outsider, document=document, text="Who keeps secrets abroad?")


def fields_of(body: str) -> dict[str, list[str]]:
    """What the follow-up box of a run page sends."""
    box = body[body.index('<details class="follow-up"') :].split("</form>")[0]
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', box):
        found.setdefault(name, []).append(value)
    return found


def test_the_box_keeps_the_scope_and_both_pages_show_the_chain(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    client = client_as(cast.reviewer)
    sent = fields_of(client.get(scene.run.get_absolute_url()).content.decode())
    assert sent["document"] == [str(scene.document.pk)]
    answer = client.post("/ask/", sent | {"text": NEXT})
    run = Run.objects.select_related("question").first()
    assert answer["Location"] == run.get_absolute_url()
    assert (run.follows_id, run.question.document_id) == (scene.run.pk, scene.document.pk)
    assert scene.run.question.text in client.get(run.get_absolute_url()).content.decode()
    before = client.get(scene.run.get_absolute_url()).content.decode()
    assert "Followed by:" in before
    assert NEXT in before
    (event,) = [event for event in run_events(run) if "follows" in (event.after or {})]
    assert event.after["follows"] == scene.run.pk


def run_events(run: Run) -> list[Any]:
    return list(AuditEvent.objects.filter(action="question.asked", after__run=run.pk))


def test_several_documents_and_filters_are_kept(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    other = make_document(collection=cast.alpha, owner=cast.analyst, name="other.txt")
    two = sorted([scene.document.pk, other.pk])
    Document.objects.filter(pk__in=two).update(tags=["cloud"])
    narrowed = ScopeFilter(documents=two, tags=["cloud"])
    first = make_run(asker=cast.analyst, document=scene.document, text="Which records are kept?")
    first.question.document, first.question.filters = (
        None,
        narrowed.model_dump(mode="json", exclude_defaults=True),
    )
    first.question.save()
    client = client_as(cast.analyst)
    sent = fields_of(client.get(first.get_absolute_url()).content.decode())
    client.post("/ask/", sent | {"text": NEXT})
    run = Run.objects.select_related("question").first()
    assert (run.follows_id, run.question.filters) == (first.pk, first.question.filters)


def test_whoever_may_not_ask_has_no_box(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    assert "follow-up" not in client_as(cast.auditor).get(scene.run.get_absolute_url()).content.decode()


def test_a_chain_stays_in_one_collection(cast: Cast, client_as: ClientAs, scene: Scene, abroad: Run) -> None:
    client = client_as(cast.analyst)
    body = {"collection": "alpha", "text": NEXT, "strategy": "offline", "follows": abroad.pk}

    def post() -> Any:
        return client.post("/api/v1/questions/", body, content_type="application/json")

    assert post().status_code == 404  # not theirs to see: as one that does not exist
    refused = client.post("/ask/", body)
    assert "follows" in refused.context["form"].errors
    assert "secrets" not in refused.content.decode()
    assert "secrets" not in client.get("/ask/", {"follows": abroad.pk}).content.decode()
    assert client.get("/ask/", {"follows": "9" * 30}).status_code == 200
    Membership.objects.create(user=cast.analyst, collection=cast.beta, role=MemberRole.ANALYST)
    assert (post().status_code, post().json()["code"]) == (400, "follows_elsewhere")
    with pytest.raises(WorkbenchError, match="stays in the collection"):
        question_ask(actor=cast.analyst, collection=cast.alpha, text=NEXT, follows=abroad)
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.filter(pk=scene.run.pk).update(follows=abroad.pk)


def test_the_api_reads_and_writes_it(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.analyst)
    body = {"collection": "alpha", "text": NEXT, "strategy": "offline", "follows": scene.run.pk}
    key = {"headers": {"Idempotency-Key": "one"}, "content_type": "application/json"}
    made = client.post("/api/v1/questions/", body, **key)
    assert made.status_code == 201, made.content
    number = made.json()["run"]["id"]
    assert client.get(f"/api/v1/runs/{number}/").json()["follows"] == scene.run.pk
    assert client.get(f"/api/v1/runs/{scene.run.pk}/").json()["follows"] is None
    assert client.post("/api/v1/questions/", body, **key).json()["run"]["id"] == number
    other = client.post("/api/v1/questions/", body | {"follows": None}, **key)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_reused")


def test_an_earlier_answer_is_not_linked_and_the_page_says_so(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    other = make_run(asker=cast.analyst, document=scene.document, text=NEXT)
    client = client_as(cast.analyst)
    sent = {"collection": "alpha", "document": scene.document.pk, "strategy": "offline", "text": NEXT}
    page = client.post("/ask/", sent | {"follows": scene.run.pk}, follow=True)
    assert page.redirect_chain[-1][0] == other.get_absolute_url()
    assert "not linked" in page.content.decode()
    other.refresh_from_db()
    assert other.follows is None


def test_asked_again_it_follows_the_same(cast: Cast, scene: Scene) -> None:
    follow_up = make_run(asker=cast.analyst, document=scene.document, text=NEXT)
    Run.objects.filter(pk=follow_up.pk).update(follows=scene.run.pk)
    follow_up.refresh_from_db()
    assert run_again(actor=cast.analyst, run=follow_up).follows_id == scene.run.pk


def test_a_chain_costs_no_queries(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client, address = client_as(cast.reviewer), scene.run.get_absolute_url()
    alone = queries_of(client, address)
    for text in ("Who?", "When?", "Where?"):
        run = make_run(asker=cast.analyst, document=scene.document, text=text)
        Run.objects.filter(pk=run.pk).update(follows=scene.run.pk)
    assert queries_of(client, address) == alone <= 15
