"""Links for outsiders: one signed run's report for whoever has the address, for a time, each opening on record."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene
from workbench.accounts.models import MemberRole, Membership, User
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.exports import links
from workbench.exports.links import link_make, link_revoke
from workbench.exports.models import Export, ReportLink
from workbench.exports.services import export_make, exports_erase, exports_remove_old
from workbench.infra.request_log import RequestLogMiddleware
from workbench.review.signing import run_reopen


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    cache.clear()


def made(cast: Cast, scene: Scene, *, days: int = 30) -> tuple[ReportLink, str]:
    """A link to the signed run, and its address."""
    signed(scene.run, cast.reviewer)
    link, token = link_make(actor=cast.reviewer, run=scene.run, reason="For the regulator.", days=days)
    export_make(export_id=link.export_id)
    return link, reverse("exports:shared", args=[token])


def test_an_outsider_reads_the_report_and_nothing_else(cast: Cast, scene: Scene) -> None:
    link, address = made(cast, scene)
    response = Client().get(address, REMOTE_ADDR="192.0.2.7")
    page = response.content.decode()
    assert response.status_code == 200
    assert "How long are access records kept?" in page
    assert "twenty-four months" in page
    assert "Annex" not in page
    assert "href=" not in page.replace('href="#', ""), "leads nowhere"
    assert "<script" not in page
    assert response["Cache-Control"] == "private, no-store"
    assert response["X-Robots-Tag"].startswith("noindex")
    assert response["Referrer-Policy"] == "no-referrer"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert not response.cookies
    (event,) = AuditEvent.objects.filter(action="link.opened")
    assert (event.object_id, event.after["address"], event.actor) == (str(link.pk), "192.0.2.7", None)
    assert Client().get(reverse("exports:links", args=[scene.run.pk])).status_code == 302


def test_the_token_is_kept_as_a_hash_and_stands_in_no_log(cast: Cast, scene: Scene, rf: object) -> None:
    link, address = made(cast, scene)
    token = address.rstrip("/").rsplit("/", 1)[-1]
    assert len(token) >= 43
    assert link.token_hash == hashlib.sha256(token.encode()).hexdigest()
    assert token not in str(list(AuditEvent.objects.values_list("after", "reason")))
    assert token not in RequestLogMiddleware.format_request(rf.get(address))  # type: ignore[attr-defined]


def test_it_closes_when_it_expires_is_revoked_or_the_signature_is_set_aside(cast: Cast, scene: Scene) -> None:
    link, address = made(cast, scene)
    assert Client().get(address).status_code == 200
    ReportLink.objects.filter(pk=link.pk).update(
        created_at=timezone.now() - timedelta(days=9), expires_at=timezone.now() - timedelta(days=1)
    )
    closed = Client().get(address)
    assert closed.status_code == 404
    assert closed["Cache-Control"] == "private, no-store"
    assert Client().get("/shared/no-such-token/").content == closed.content, "says nothing about which"

    another, address = made(cast, scene)
    link_revoke(actor=cast.admin, link=another)
    assert Client().get(address).status_code == 404
    with pytest.raises(Conflict):
        link_revoke(actor=cast.admin, link=another)
    assert exports_remove_old() == 2, "the files of links that open nothing go"

    third, address = made(cast, scene)
    run_reopen(actor=cast.reviewer, run=scene.run, reason="A clause was missed.")
    assert Client().get(address).status_code == 404
    assert links.link_state(links.link_for(user=cast.reviewer, pk=third.pk)) == "reopened"


def test_it_does_not_outlive_the_role_of_whoever_made_it(cast: Cast, scene: Scene) -> None:
    link, address = made(cast, scene)
    roles = Membership.objects.filter(user=cast.reviewer, collection=cast.alpha)
    for role, status in ((MemberRole.ANALYST, 404), (MemberRole.ADMIN, 200), (MemberRole.AUDITOR, 404)):
        roles.update(role=role)
        assert Client().get(address).status_code == status
    assert links.link_state(links.link_for(user=cast.admin, pk=link.pk)) == "restricted"
    roles.update(role=MemberRole.REVIEWER)
    assert Client().get(address).status_code == 200
    User.objects.filter(pk=cast.reviewer.pk).update(is_active=False)
    assert Client().get(address).status_code == 404
    User.objects.filter(pk=cast.reviewer.pk).update(is_active=True)
    roles.delete()
    assert Client().get(address).status_code == 404


def test_erased_text_closes_it(cast: Cast, scene: Scene) -> None:
    _link, address = made(cast, scene)
    exports_erase(collection=cast.alpha)
    assert Client().get(address).status_code == 404


def test_before_the_report_is_made_it_says_so(cast: Cast, scene: Scene) -> None:
    signed(scene.run)
    _link, token = link_make(actor=cast.admin, run=scene.run, reason="For the regulator.", days=7)
    waiting = Client().get(reverse("exports:shared", args=[token]))
    assert (waiting.status_code, waiting["Retry-After"]) == (503, "60")
    assert not AuditEvent.objects.filter(action="link.opened").exists()


def test_openings_are_throttled_by_address(cast: Cast, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    _link, address = made(cast, scene)
    monkeypatch.setattr(links, "MOST_OPENINGS", 2)
    monkeypatch.setattr(links.time, "time", lambda: 1_000_000.0)
    statuses = [
        Client().get(path, REMOTE_ADDR="192.0.2.9").status_code for path in [address, "/shared/x/", address]
    ]
    assert statuses == [200, 404, 429]
    assert Client().get(address, REMOTE_ADDR="192.0.2.10").status_code == 200


def test_who_makes_one_and_of_what(cast: Cast, scene: Scene) -> None:
    with pytest.raises(Conflict, match="signed"):
        link_make(actor=cast.reviewer, run=scene.run, reason="For the regulator.", days=7)
    signed(scene.run)
    for person in (cast.analyst, cast.annotator, cast.auditor, cast.outsider):
        with pytest.raises(NotAllowed):
            link_make(actor=person, run=scene.run, reason="For the regulator.", days=7)
    for reason, days in ((" ", 7), ("For the regulator.", 0), ("For the regulator.", 91)):
        with pytest.raises(WorkbenchError):
            link_make(actor=cast.reviewer, run=scene.run, reason=reason, days=days)
    assert not ReportLink.objects.exists()
    assert not Export.objects.filter(kind="link").exists()


def test_the_page_shows_the_address_once_and_lists_the_links(
    cast: Cast, scene: Scene, client_as: ClientAs
) -> None:
    signed(scene.run)
    client, page = client_as(cast.reviewer), reverse("exports:links", args=[scene.run.pk])
    answer = client.post(page, {"reason": "For the regulator.", "days": "7"})
    assert "/shared/" in answer.content.decode()
    listed = client.get(page).content.decode()
    assert "For the regulator." in listed
    assert "/shared/" not in listed
    link = ReportLink.objects.get()
    client.post(reverse("exports:link-revoke", args=[link.pk]))
    assert "revoked by" in client.get(page).content.decode()
    # What a link shows is no export to fetch.
    assert client.get(reverse("exports:export", args=[link.export_id])).status_code == 404


def test_the_api_gives_the_address_once(cast: Cast, scene: Scene, client_as: ClientAs) -> None:
    signed(scene.run)
    client = client_as(cast.reviewer)
    given = {"run": scene.run.pk, "reason": "For the regulator.", "days": 7}
    made_now = client.post("/api/v1/report-links/", given, content_type="application/json")
    assert made_now.status_code == 201
    assert "/shared/" in made_now.json()["address"]
    (row,) = client.get(f"/api/v1/report-links/?run={scene.run.pk}").json()["results"]
    assert "address" not in row
    assert row["state"] == "preparing"
    revoked = client.post(f"/api/v1/report-links/{row['id']}/revoke/")
    assert revoked.json()["state"] == "revoked"
