"""What a page may cost: queries and bytes, however many candidates there are."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.workbench.addresses import ALL, path_of
from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import HTMX, ClientAs, grow, queries_of
from tests.workbench.scene import Scene, make_document
from workbench.accounts.models import MemberRole, Membership
from workbench.operations.selectors import degraded, health

pytestmark = pytest.mark.usefixtures("plain_templates")

MOST_QUERIES = 15
MOST_BYTES = 60_000

PAGES = [
    "/",
    "/collections/",
    "/collections/alpha/",
    "{document}",
    "{document}?q=records",
    "/ask/",
    "/runs/",
    "{run}",
    "{run}?tab=provenance",
    "{run}?tab=calls",
    "{run}?tab=history",
    "{run}?tab=json",
    "{evidence}",
    "/queue/",
    "{item}",
    "/audit/",
    "/collections/alpha/people/",
]


@pytest.fixture
def client(cast: Cast, client_as: ClientAs) -> Client:
    """Somebody who may do everything in alpha: sees the most on every page."""
    for role in MemberRole:
        Membership.objects.get_or_create(user=cast.admin, collection=cast.alpha, role=role)
    return client_as(cast.admin)


def address(page: str, scene: Scene) -> str:
    return page.format(
        run=scene.run.get_absolute_url(),
        document=scene.document.get_absolute_url(),
        evidence=reverse("questions:evidence", args=[scene.run.candidates.first().pk]),
        item=reverse("review:item", args=[scene.run.queue_items.filter(state="waiting").first().pk]),
    )


@pytest.mark.parametrize("page", PAGES)
def test_a_page_asks_the_same_few_queries_of_five_and_of_fifty_candidates(
    page: str, client: Client, scene: Scene, cast: Cast
) -> None:
    few = queries_of(client, address(page, scene))
    grow(scene.run, to=50)
    for number in range(5):
        make_document(collection=cast.alpha, owner=cast.analyst, name=f"more-{number}.txt")
    many = queries_of(client, address(page, scene))
    assert few == many
    assert many <= MOST_QUERIES


def test_a_decision_costs_the_same_however_large_the_run(client: Client, scene: Scene) -> None:
    counts = []
    for size in (scene.run.candidates.count(), 50):
        grow(scene.run, to=size)
        candidate = scene.run.candidates.filter(reviews__isnull=True, verdict__role__isnull=False).first()
        with CaptureQueriesContext(connection) as captured:
            answer = client.post(reverse("review:approve", args=[candidate.pk]), headers=HTMX)
        assert answer.status_code == 200
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_a_run_of_sixty_candidates_fits(client: Client, scene: Scene) -> None:
    grow(scene.run, to=60)
    # Real passages are longer than the scene's, and no two are alike.
    for number, candidate in enumerate(scene.run.candidates.select_related("text")):
        words = " ".join(f"word{(number * 7919 + place * 104729) % 9973}" for place in range(75))
        candidate.text.anchor, candidate.text.context = words, words + "\n" + words[::-1]
        candidate.text.save()
    body = client.get(scene.run.get_absolute_url()).content
    assert len(gzip.compress(body, 6)) <= MOST_BYTES


def test_every_page_of_the_product_keeps_the_budget(client: Client, scene: Scene) -> None:
    """Queries and compressed bytes of whatever answers a browser with a page, by the URL map itself."""
    grow(scene.run, to=50)
    pages = [a for a in ALL if not a.name.startswith(("api:", "healthz", "readyz"))]
    over, seen = [], 0
    for page in pages:
        path = path_of(page, scene)
        client.get(path)
        health(), degraded()  # kept for ten seconds, which a slow machine may have spent on the first look
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(path)
        if answer.status_code != 200 or answer.streaming or "text/html" not in answer["Content-Type"]:
            continue
        seen += 1
        size = len(gzip.compress(answer.content, 6))
        if len(captured) > MOST_QUERIES or size > MOST_BYTES:
            over.append(f"{page.name}: {len(captured)} queries, {size} bytes")
    assert not over, "\n".join(over)
    assert seen >= 40


def test_all_scripts_of_a_page_together_keep_the_budget(client: Client) -> None:
    """Every module of ours and htmx, as they travel."""
    body = client.get("/").content.decode()
    paths = re.findall(r'<script[^>]+src="([^"?]+)', body) + re.findall(r'"(/static/js/[^"]+\.js)"', body)
    found = {finders.find(re.sub(r"\.[0-9a-f]{12}(?=\.js$)", "", p.removeprefix("/static/"))) for p in paths}
    assert len(found) >= 8
    assert None not in found
    assert sum(len(gzip.compress(Path(str(path)).read_bytes(), 6)) for path in found) <= MOST_BYTES
