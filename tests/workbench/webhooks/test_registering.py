"""Who registers what: rights, addresses that may be called, and a secret that is shown once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.webhook_receiver import Receiver, is_genuine
from tests.workbench.cast import Cast
from workbench.accounts.models import User
from workbench.api.models import IdempotentRequest
from workbench.api.tokens import token_create
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra import outbound
from workbench.webhooks.events import EVENTS
from workbench.webhooks.models import Delivery, Webhook, WebhookState
from workbench.webhooks.services import (
    MOST_WEBHOOKS,
    webhook_change,
    webhook_create,
    webhook_pause,
    webhook_remove,
    webhook_test,
)

from .sent import registered, work

pytestmark = pytest.mark.django_db
ClientAs = Callable[[User | None], Client]


def create(cast: Cast, url: str) -> Webhook:
    return webhook_create(actor=cast.admin, collection=cast.alpha, url=url, events=["run.finished"])[0]


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/x",
        "https://10.0.0.1/x",
        "https://192.168.1.1/x",
        "https://169.254.169.254/latest/meta-data/",
        "https://100.64.0.1/x",
        "https://0.0.0.0/x",
        "https://224.0.0.1/x",
        "https://[::1]/x",
        "https://[fe80::1]/x",
        "https://[fd00::1]/x",
        "https://[::ffff:127.0.0.1]/x",
        "https://[64:ff9b::7f00:1]/x",
        "https://[2002:7f00:1::]/x",
        "https://localhost/x",
        "https://2130706433/x",
        "http://93.184.215.14/x",
    ],
)
def test_an_address_that_is_not_public_or_not_https_is_refused(cast: Cast, url: str) -> None:
    with pytest.raises(WorkbenchError) as refused:
        create(cast, url)
    assert refused.value.code == "address_refused"
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    "url",
    ["", "ftp://93.184.215.14/", "//93.184.215.14", "https:///x", "https://93.184.215.14:99999/", "https://[::1/x",
     "https://user:word@93.184.215.14/", "https://93.184.215.14/#part", "https://93.184.215.14/a b",
     "https://93.184.215.14/a\nb", "https://93.184.215.14/" + 500 * "x"],
)  # fmt: skip
def test_what_is_no_plain_address_is_refused(cast: Cast, url: str) -> None:
    with pytest.raises(WorkbenchError) as refused:
        create(cast, url)
    assert refused.value.code == "bad_address"


def test_a_public_address_is_taken(cast: Cast) -> None:
    assert create(cast, "https://93.184.215.14:8443/hook?key=1").state == WebhookState.ACTIVE


def test_a_name_is_judged_by_all_its_addresses(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(*addresses: str) -> Callable[..., Any]:
        return lambda *_a, **_k: [(0, 0, 0, "", (address, 0)) for address in addresses]

    monkeypatch.setattr(outbound.socket, "getaddrinfo", found("93.184.215.14", "10.0.0.1"))
    with pytest.raises(WorkbenchError) as refused:
        create(cast, "https://two.example/")
    assert refused.value.code == "address_refused"
    monkeypatch.setattr(outbound.socket, "getaddrinfo", found("93.184.215.14", "2606:2800:21f:cb07::1"))
    assert create(cast, "https://two.example/")


def test_a_name_without_an_address_is_told(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_a: object, **_k: object) -> None:
        raise OSError

    monkeypatch.setattr(outbound.socket, "getaddrinfo", nothing)
    with pytest.raises(WorkbenchError) as refused:
        create(cast, "https://nowhere.example/")
    assert refused.value.code == "host_unknown"


def test_only_admins_of_the_collection_register_and_change(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = registered(cast, receiver)
    for person in (cast.analyst, cast.reviewer, cast.annotator, cast.auditor, cast.outsider, cast.staff):
        with pytest.raises(NotAllowed):
            webhook_create(
                actor=person, collection=cast.alpha, url=receiver.url + "2", events=["run.finished"]
            )
        with pytest.raises(NotAllowed):
            webhook_test(actor=person, webhook=webhook)
        with pytest.raises(NotAllowed):
            webhook_remove(actor=person, webhook=webhook)


def test_an_address_is_registered_once_and_again_after_its_removal(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = registered(cast, receiver)
    with pytest.raises(Conflict):
        registered(cast, receiver)
    webhook_remove(actor=cast.admin, webhook=webhook)
    assert registered(cast, receiver)[0].pk != webhook.pk
    with pytest.raises(Conflict):
        webhook_pause(actor=cast.admin, webhook=webhook)


def test_a_collection_has_a_bounded_number(cast: Cast, receiver: Receiver) -> None:
    for number in range(MOST_WEBHOOKS):
        create(cast, f"{receiver.url}/{number}")
    with pytest.raises(Conflict):
        create(cast, receiver.url)


def test_unknown_events_are_refused(cast: Cast, receiver: Receiver) -> None:
    for events in ([], ["run.finished", "run.imagined"]):
        with pytest.raises(WorkbenchError) as refused:
            webhook_create(actor=cast.admin, collection=cast.alpha, url=receiver.url, events=events)
        assert refused.value.code == "bad_events"


def test_a_change_is_on_record_without_the_address(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = registered(cast, receiver)
    webhook_change(actor=cast.admin, webhook=webhook, url=receiver.url + "?key=word", events=["run.failed"])
    event = AuditEvent.objects.get(action="webhook.changed")
    assert event.after["events"] == ["run.failed"]
    assert event.after["host"] == "127.0.0.1"
    assert "key=word" not in json.dumps([event.before, event.after])
    webhook_change(actor=cast.admin, webhook=webhook, url=receiver.url + "?key=word", events=["run.failed"])
    assert AuditEvent.objects.filter(action="webhook.changed").count() == 1


# --- pages --------------------------------------------------------------------------------------------------


def test_the_page_shows_the_secret_once(client_as: ClientAs, cast: Cast, receiver: Receiver) -> None:
    client = client_as(cast.admin)
    page = reverse("webhooks:webhooks", args=["alpha"])
    answer = client.post(page, {"url": receiver.url, "description": "Tickets", "events": ["run.finished"]})
    secret = re.search(r"whsec_[A-Za-z0-9+/=]+", answer.content.decode())
    assert secret
    assert "no-store" in answer["Cache-Control"]
    webhook = Webhook.objects.get()
    for address in (page, webhook.get_absolute_url()):
        assert b"whsec_" not in client.get(address).content
    client.post(reverse("webhooks:test", args=[webhook.pk]))
    work()
    (told,) = receiver.received
    assert is_genuine(secret[0], told.headers, told.body)
    log = client.get(webhook.get_absolute_url()).content.decode()
    assert told.id in log
    assert "204" in log


def test_the_page_says_what_is_wrong_with_an_address(client_as: ClientAs, cast: Cast) -> None:
    answer = client_as(cast.admin).post(
        reverse("webhooks:webhooks", args=["alpha"]), {"url": "https://10.1.2.3/", "events": ["run.finished"]}
    )
    assert answer.status_code == 422
    assert b"WEBHOOK_NETWORKS" in answer.content


def test_the_page_tells_when_nothing_arrives(client_as: ClientAs, cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = registered(cast, receiver)
    receiver.down()
    webhook_test(actor=cast.admin, webhook=webhook)
    work()
    page = client_as(cast.auditor).get(webhook.get_absolute_url()).content.decode()
    assert "Nothing has arrived since" in page
    assert "could not be reached" in page
    assert "<form" not in page.split("<main")[1].split("</main")[0], "an auditor changes nothing"


def test_pausing_resuming_and_removing(client_as: ClientAs, cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = registered(cast, receiver)
    client, switch = client_as(cast.admin), reverse("webhooks:switch", args=[webhook.pk])
    for act, state in (("pause", "paused"), ("resume", "active"), ("remove", "removed")):
        client.post(switch, {"act": act})
        webhook.refresh_from_db()
        assert webhook.state == state
    assert client.get(webhook.get_absolute_url()).status_code == 404


# --- API ----------------------------------------------------------------------------------------------------


def program(person: User, *scopes: str) -> Client:
    _token, key = token_create(actor=person, name="job", scopes=scopes, days=1)
    return Client(headers={"authorization": f"Bearer {key}"})


def test_a_program_registers_tests_reads_the_log_and_removes(cast: Cast, receiver: Receiver) -> None:
    client = program(cast.admin, "audit", "manage")
    body = {"collection": "alpha", "url": receiver.url, "events": ["run.finished"]}
    made = client.post(
        "/api/v1/webhooks/", body, content_type="application/json", headers={"Idempotency-Key": "k1"}
    )
    assert made.status_code == 201, made.content
    secret, key = made.json()["secret"], made.json()["id"]
    assert not IdempotentRequest.objects.exists(), "a kept answer would keep the secret"
    assert client.post("/api/v1/webhooks/", body, content_type="application/json").status_code == 409
    tested = client.post(f"/api/v1/webhooks/{key}/test/")
    assert tested.status_code == 202
    work()
    assert is_genuine(secret, receiver.received[0].headers, receiver.received[0].body)
    (row,) = client.get(f"/api/v1/webhook-deliveries/?webhook={key}&state=delivered").json()["results"]
    assert row["message_id"] == receiver.received[0].id
    assert [one["status"] for one in row["log"]] == [204]
    assert client.post(f"/api/v1/webhook-deliveries/{row['id']}/repeat/").status_code == 202
    changed = client.post(
        f"/api/v1/webhooks/{key}/change/",
        {"url": receiver.url, "events": ["run.failed", "run.finished"]},
        content_type="application/json",
    )
    assert changed.json()["events"] == ["run.failed", "run.finished"]
    assert client.post(f"/api/v1/webhooks/{key}/secret/").json()["secret"] != secret
    assert client.post(f"/api/v1/webhooks/{key}/pause/").json()["state"] == "paused"
    assert client.post(f"/api/v1/webhooks/{key}/resume/").json()["state"] == "active"
    assert client.post(f"/api/v1/webhooks/{key}/remove/").status_code == 204
    assert client.get("/api/v1/webhooks/?collection=alpha").json()["results"] == []


def test_a_program_that_may_only_read_changes_nothing(cast: Cast, receiver: Receiver) -> None:
    webhook, _secret = registered(cast, receiver)
    client = program(cast.admin, "audit")
    assert client.get(f"/api/v1/webhooks/{webhook.pk}/").status_code == 200
    assert client.post(f"/api/v1/webhooks/{webhook.pk}/remove/").status_code == 404
    assert client.post(f"/api/v1/webhooks/{webhook.pk}/test/").status_code == 404
    assert not Delivery.objects.exists()


def test_every_event_of_the_product_has_a_row_in_the_document(cast: Cast) -> None:
    from pathlib import Path

    from django.conf import settings

    text = (Path(settings.BASE_DIR) / "docs" / "webhooks.md").read_text("utf-8")
    named = set(re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \|", text, re.MULTILINE))
    assert named == set(EVENTS) | {"webhook.test"}
