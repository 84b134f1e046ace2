"""A document's page: its lines, outline, search; the original only as an attachment."""

from __future__ import annotations

from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs
from tests.workbench.scene import TEXT, Scene


def test_every_line_is_there_with_its_number(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    page = client_as(cast.auditor).get(scene.document.get_absolute_url())
    lines = page.context["viewer"]["lines"]
    assert [line["text"] for line in lines] == [
        line for title, body in TEXT.items() for line in [title, *body]
    ]
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1))
    assert [node["title"] for node in page.context["outline"]] == list(TEXT)


def test_search_leads_to_the_line_and_keeps_its_words(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    page = client_as(cast.analyst).get(scene.document.get_absolute_url(), {"q": "Payment"})
    (hit,) = page.context["viewer"]["search"]["hits"]
    assert hit["text"] == "Payment records are kept for ten years."
    assert hit["url"].endswith("?page=1&q=Payment&hit=0#p1-l7")
    assert 'value="Payment"' in page.content.decode()


def test_words_of_an_address_cannot_break_out_of_it(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    page = client_as(cast.analyst).get(scene.document.get_absolute_url(), {"q": '" onfocus="x&page=9'})
    assert 'onfocus="x' not in page.content.decode()


def test_a_page_that_is_not_there_shows_the_nearest(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client, address = client_as(cast.analyst), scene.document.get_absolute_url()
    for raw in ("0", "99", "x", "-1", ""):
        assert client.get(address, {"page": raw}).context["viewer"]["page"]["number"] == 1


def test_asking_is_offered_to_those_who_may(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    for name, user in cast.members.items():
        offered = client_as(user).get(scene.document.get_absolute_url()).context["ask_url"]
        assert bool(offered) is (name in {"analyst", "reviewer", "second_reviewer", "admin"}), name


def test_the_original_comes_as_an_attachment_of_no_type(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    answer = client_as(cast.auditor).get(reverse("documents:original", args=[scene.document.pk]))
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_a_document_without_pages_has_no_page_image(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    image = reverse("documents:page-image", args=[scene.document.pk, 1])
    assert client_as(cast.analyst).get(image).status_code == 404
