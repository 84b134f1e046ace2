"""The evidence of a candidate: its lines marked on the page, as a page and as the panel beside the cards."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import HTMX, ClientAs
from tests.workbench.scene import Scene
from workbench.documents.models import Document


def test_exactly_the_lines_of_the_anchor_are_marked(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    for candidate in scene.run.candidates.all():
        page = client_as(cast.auditor).get(reverse("questions:evidence", args=[candidate.pk]))
        marked = [line["number"] for line in page.context["viewer"]["lines"] if line["mark"] == "anchor"]
        assert marked == list(range(candidate.anchor_line_start, candidate.anchor_line_end + 1))


def test_htmx_gets_the_panel_alone(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    address = reverse("questions:evidence", args=[scene.run.candidates.first().pk])
    panel = client_as(cast.reviewer).get(address, headers=HTMX)
    assert "<html" not in panel.content.decode()
    assert "data-viewer" in panel.content.decode()
    assert "HX-Request" in panel["Vary"]


def test_neighbours_lead_through_the_ranked_list(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.auditor)
    ranked = list(scene.run.candidates.order_by("verdict__order").values_list("pk", flat=True))
    address = reverse("questions:evidence", args=[ranked[0]])
    seen = []
    while address:
        page = client.get(address)
        seen.append(page.context["candidate"].pk)
        address = page.context["hits"]["next_url"]
    assert seen == ranked


def test_evidence_over_two_pages_names_both(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    candidate = scene.run.candidates.first()
    Document.objects.filter(pk=scene.document.pk).update(page_count=2)
    scene.run.candidates.filter(pk=candidate.pk).update(anchor_page_end=2, context_page_end=2)
    address = reverse("questions:evidence", args=[candidate.pk])
    client = client_as(cast.auditor)
    assert [part["number"] for part in client.get(address).context["span"]] == [1, 2]
    second = client.get(address, {"page": "2"})
    assert second.context["viewer"]["page"]["number"] == 2


def test_a_page_without_the_evidence_says_so(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    Document.objects.filter(pk=scene.document.pk).update(page_count=3)
    address = reverse("questions:evidence", args=[scene.run.candidates.first().pk])
    page = client_as(cast.auditor).get(address, {"page": "3"})
    assert "The evidence is on another page." in page.content.decode()


@pytest.mark.parametrize("raw", ["0", "99", "x", "-1"])
def test_a_page_that_is_not_there_is_not_found(
    raw: str, cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    address = reverse("questions:evidence", args=[scene.run.candidates.first().pk])
    assert client_as(cast.auditor).get(address, {"page": raw}).status_code == 404


def test_back_leads_to_the_card(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    candidate = scene.run.candidates.first()
    page = client_as(cast.auditor).get(reverse("questions:evidence", args=[candidate.pk]))
    assert page.context["back_url"] == candidate.get_absolute_url()
