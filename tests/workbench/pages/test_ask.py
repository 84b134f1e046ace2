"""Asking: who may, what is refused, and a question that was asked before."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs
from tests.workbench.scene import Scene, make_document
from workbench.runs.models import Run

ADDRESS = "/ask/"


def form(scene: Scene, **changes: object) -> dict[str, object]:
    return {
        "collection": "alpha",
        "document": scene.document.pk,
        "text": "Who deletes the records?",
        "strategy": "offline",
    } | changes


@pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "admin", "auditor"])
def test_those_who_may_ask_are_led_to_their_run(
    name: str, cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    before = Run.objects.count()
    answer = client_as(cast.members[name]).post(ADDRESS, form(scene))
    if name in {"analyst", "reviewer", "admin"}:
        run = Run.objects.first()
        assert answer["Location"] == run.get_absolute_url()
        assert (run.question.document, run.strategy) == (scene.document, "offline")
    else:
        assert answer.status_code == 200  # the form again: there is no collection to choose
        assert "collection" in answer.context["form"].errors
        assert Run.objects.count() == before


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": "?!"}, "__all__"),
        ({"text": "x" * 2001}, "text"),
        ({"collection": "beta"}, "collection"),
        ({"document": 999_999}, "document"),
        ({"strategy": "guess"}, "strategy"),
    ],
)
def test_wrong_input_is_refused_beside_its_field(
    changes: dict[str, object], field: str, cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    before = Run.objects.count()
    answer = client_as(cast.analyst).post(ADDRESS, form(scene, **changes))
    assert answer.status_code == 200
    assert field in answer.context["form"].errors
    assert Run.objects.count() == before


def test_a_question_asked_before_leads_to_its_run_and_says_so(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    client = client_as(cast.reviewer)
    text = scene.run.question.text
    page = client.post(ADDRESS, form(scene, text=text), follow=True)
    assert page.redirect_chain[-1][0] == scene.run.get_absolute_url()
    assert "asked before" in page.content.decode()
    afresh = client.post(ADDRESS, form(scene, text=text, fresh="on"))
    assert afresh["Location"] != scene.run.get_absolute_url()


def test_links_fill_the_form(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    other = make_document(collection=cast.alpha, owner=cast.analyst, name="other.txt")
    query = {"collection": "alpha", "document": other.pk, "q": "How long?"}
    page = client_as(cast.analyst).get(ADDRESS, query).content.decode()
    assert f'value="{other.pk}" selected' in page
    assert "How long?</textarea>" in page


def test_a_run_on_its_way_can_be_stopped_by_those_who_may_ask(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    client_as(cast.analyst).post(ADDRESS, form(scene))
    run = Run.objects.first()
    cancel = reverse("questions:cancel", args=[run.pk])
    assert client_as(cast.auditor).post(cancel).status_code == 404
    client_as(cast.analyst).post(cancel)
    run.refresh_from_db()
    assert run.status == "cancelled"
    again = client_as(cast.analyst).post(cancel, follow=True)
    assert "ended already" in again.content.decode()
