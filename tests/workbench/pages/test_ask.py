"""Asking: who may, what is refused, and a question that was asked before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs, queries_of
from tests.workbench.scene import Scene, make_document
from workbench.accounts.models import MemberRole, Membership
from workbench.documents.models import Document
from workbench.documents.picker import MOST_OFFERED
from workbench.review import run_page
from workbench.runs.models import Run
from workbench.runs.services import documents_asked
from workbench.runs.suggestions import MOST_SUGGESTIONS, suggestions

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
    assert f'value="{other.pk}" checked' in page
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


def advanced(body: str) -> str:
    """The opening tag of what is folded."""
    return body[body.index('<details class="ask__advanced"') :].split(">", 1)[0]


def test_the_rest_is_folded_until_a_field_of_it_is_given_or_refused(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    client = client_as(cast.analyst)
    plain = client.get(ADDRESS, {"collection": "alpha", "document": scene.document.pk, "q": "How long?"})
    assert "open" not in advanced(plain.content.decode())
    for given in ({"strategy": "offline"}, {"methods": "bm25"}, {"option_k": "5"}, {"fresh": "on"}):
        assert "open" in advanced(client.get(ADDRESS, given).content.decode()), given
    refused = client.post(ADDRESS, form(scene, strategy="", option_k="0")).content.decode()
    assert "open" in advanced(refused)
    assert "open" not in advanced(client.post(ADDRESS, form(scene, strategy="", text="")).content.decode())


def test_a_persons_keywords_are_those_of_the_run(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.analyst)
    client.post(ADDRESS, form(scene, keywords="records\n\n erasure of data "))
    assert Run.objects.first().question_edits == {"primary": ["records", "erasure of data"], "secondary": []}
    refused = client.post(ADDRESS, form(scene, keywords="\n".join(f"word {n}" for n in range(41))))
    assert "keywords" in refused.context["form"].errors


def test_recent_are_ones_own_of_this_collection(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    for client in (client_as(cast.analyst), client_as(cast.reviewer)):
        client.post(ADDRESS, form(scene, text=f"Who asks as {client.session['_auth_user_id']}?"))
    recent = client_as(cast.reviewer).get(ADDRESS).context["recent"]
    assert [run.question.text for run in recent] == [f"Who asks as {cast.reviewer.pk}?"]
    Membership.objects.create(user=cast.reviewer, collection=cast.beta, role=MemberRole.ANALYST)
    assert not client_as(cast.reviewer).get(ADDRESS, {"collection": "beta"}).context["recent"]


def test_suggestions_come_from_the_outlines_of_what_is_chosen(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    body = ["Something is said here about it."]
    other = make_document(
        collection=cast.alpha, owner=cast.analyst, name="other.txt", text={"4.2 Termination": body, "7": body}
    )
    make_document(
        collection=cast.beta, owner=cast.outsider, name="far.txt", text={"Secret bonus of the board": body}
    )
    client = client_as(cast.analyst)
    page = client.get(ADDRESS, {"collection": "alpha", "document": other.pk})
    (one,) = page.context["suggestions"]
    assert (one.heading, one.document) == ("Termination", str(other))
    filled = client.get(one.url).content.decode()
    assert "What does “Termination” say?</textarea>" in filled
    assert f'value="{other.pk}"' in filled
    everything = client.get(ADDRESS, {"collection": "alpha"}).content.decode()
    assert "Termination" in everything
    for query in ({"collection": "alpha"}, {"collection": "beta"}, {"document": other.pk + 1}):
        assert "Secret bonus" not in client.get(ADDRESS, query).content.decode()


def test_suggestions_cost_two_queries(
    cast: Cast, scene: Scene, django_assert_num_queries: Callable[[int], AbstractContextManager[object]]
) -> None:
    for number in range(6):
        make_document(collection=cast.alpha, owner=cast.analyst, name=f"more-{number}.txt")
    with django_assert_num_queries(2):
        found = suggestions(collection=cast.alpha, user=cast.analyst)
    assert 0 < len(found) <= MOST_SUGGESTIONS


@pytest.fixture
def shelf(cast: Cast, scene: Scene) -> dict[str, Document]:
    """Three documents of alpha and one of beta, by name, each with a title of its own."""
    made = {}
    for name, collection, owner in (
        ("lease north", cast.alpha, cast.analyst),
        ("lease south", cast.alpha, cast.analyst),
        ("charter", cast.alpha, cast.analyst),
        ("lease abroad", cast.beta, cast.outsider),
    ):
        made[name] = make_document(collection=collection, owner=owner, name=f"{name}.txt")
        Document.objects.filter(pk=made[name].pk).update(title=name.capitalize())
    return made


def test_documents_are_found_by_their_titles_and_nothing_typed_is_lost(
    cast: Cast, client_as: ClientAs, shelf: dict[str, Document]
) -> None:
    client = client_as(cast.analyst)
    chosen = shelf["charter"]
    query = {
        "collection": "alpha",
        "text": "How long?",
        "find": "Lease nor",
        "document": chosen.pk,
        "fresh": "on",
    }
    page = client.get(ADDRESS, query)
    picker = page.context["picker"]
    assert [document.title for document in picker.chosen] == ["Charter"]
    assert [document.title for document in picker.offered] == ["Lease north"]
    body = page.content.decode()
    assert "How long?</textarea>" in body
    assert f'name="document" value="{chosen.pk}" checked' in body
    asking = body[body.index('class="form ask"') :].split("</form>")[0]
    assert 'formmethod="post" name="csrfmiddlewaretoken"' in asking
    assert asking.count("csrfmiddlewaretoken") == 1  # no address ever holds it
    part = client.get(ADDRESS, query, headers={"HX-Request": "true", "HX-Target": "ask-documents"}).content
    assert b"Lease north" in part
    assert b"<form" not in part
    abroad = client.get(ADDRESS, query | {"find": "abroad", "document": shelf["lease abroad"].pk})
    assert "Lease abroad" not in abroad.content.decode()


def test_many_documents_cost_no_more_queries_and_are_not_all_listed(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    few = queries_of(client_as(cast.analyst), ADDRESS)
    for number in range(MOST_OFFERED + 3):
        make_document(collection=cast.alpha, owner=cast.analyst, name=f"more-{number}.txt")
    assert queries_of(client_as(cast.analyst), ADDRESS) == few <= 15
    body = client_as(cast.analyst).get(ADDRESS).content.decode()
    assert body.count('name="document"') == MOST_OFFERED
    assert "There are more." in body


def test_a_question_of_several_documents_is_asked_of_these(
    cast: Cast, client_as: ClientAs, scene: Scene, shelf: dict[str, Document]
) -> None:
    client = client_as(cast.analyst)
    two = sorted([shelf["lease north"].pk, shelf["charter"].pk])
    client.post(ADDRESS, form(scene, document=two))
    run = Run.objects.select_related("question").first()
    assert run.question.document is None
    assert run.question.filters == {"documents": two}
    assert documents_asked(run) == frozenset(two)
    assert run.question.asked_of == "Charter, Lease north"
    shown = client.get(run.get_absolute_url()).content.decode()
    for name in ("lease north", "charter"):
        assert f'<a href="{shelf[name].get_absolute_url()}">{name.capitalize()}</a>' in shown
    again = client.get(run_page._again_url(run)).context["picker"]
    assert sorted(document.pk for document in again.chosen) == two
    client.post(ADDRESS, form(scene, document=[two[0]]))
    assert Run.objects.first().question.document_id == two[0]
    client.post(ADDRESS, form(scene, document=[""]))
    assert (Run.objects.first().question.document, Run.objects.first().question.filters) == (None, None)


@pytest.mark.parametrize("wrong", ["x", "9" * 30, "-1"])
def test_what_is_no_document_is_refused(wrong: str, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    answer = client_as(cast.analyst).post(ADDRESS, form(scene, document=[scene.document.pk, wrong]))
    assert "document" in answer.context["form"].errors
    assert client_as(cast.analyst).get(ADDRESS, {"document": wrong}).status_code == 200


def test_the_api_asks_several_documents_of_the_collection_alone(
    cast: Cast, client_as: ClientAs, shelf: dict[str, Document]
) -> None:
    client = client_as(cast.analyst)

    def post(documents: list[int]) -> Any:
        body = {
            "collection": "alpha",
            "text": "How long?",
            "strategy": "offline",
            "filters": {"documents": documents},
        }
        return client.post("/api/v1/questions/", body, content_type="application/json")

    two = [shelf["lease north"].pk, shelf["lease south"].pk]
    made = post(two)
    assert made.status_code == 201, made.content
    assert made.json()["run"]["filters"] == {"documents": two}
    for other in (shelf["lease abroad"].pk, 10**9):  # another collection's is as one that does not exist
        refused = post([two[0], other])
        assert (refused.status_code, refused.json()["code"]) == (400, "document_elsewhere")
    Document.objects.filter(pk=two[1]).update(version_of=two[0])
    refused = post(two)
    assert (refused.status_code, refused.json()["code"]) == (409, "document_replaced")
    assert post([0]).status_code == 400
