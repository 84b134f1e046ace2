"""Webhooks of the running product: a real worker tells a real receiver, and neither its downtime nor the broker's loses
anything."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2 as httpx
import pytest

from tests.integration.asking import ask, ended
from tests.product import RunningProduct, eventually
from tests.webhook_receiver import Receiver, is_genuine

pytestmark = pytest.mark.integration


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as listening:
        yield listening


@pytest.fixture
def admin(product: RunningProduct) -> httpx.Client:
    return product.client("admin")


def registered(admin: httpx.Client, receiver: Receiver, *events: str) -> str:
    """The secret."""
    body = {"collection": "demo", "url": receiver.url, "events": list(events)}
    made = admin.post("/api/v1/webhooks/", json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["secret"])


def test_a_run_is_told_and_one_that_ended_while_the_receiver_was_away_too(
    product: RunningProduct, admin: httpx.Client, receiver: Receiver
) -> None:
    secret = registered(admin, receiver, "run.finished")
    analyst = product.client("analyst")
    first = ask(analyst, "How long are access records kept?")
    eventually(lambda: receiver.of("run.finished"), what="the run is told")
    receiver.down()
    second = ask(analyst, "Who approves exceptions to the policy?")
    assert ended(product, second) == "done"
    eventually(
        lambda: product.rows("SELECT 1 FROM webhooks_attempt WHERE outcome = 'connection'"),
        what="an attempt fails",
    )
    receiver.up()
    eventually(lambda: len(receiver.received) >= 2, what="the second run is told")
    told = {one.message["data"]["object"]["id"] for one in receiver.received}
    assert told == {str(first), str(second)}
    assert all(is_genuine(secret, one.headers, one.body) for one in receiver.received)


def test_a_message_that_the_broker_lost_is_sent(
    product: RunningProduct, admin: httpx.Client, receiver: Receiver
) -> None:
    registered(admin, receiver, "export.made", "run.signed")
    key = admin.get("/api/v1/webhooks/?collection=demo").json()["results"][0]["id"]
    product.kill("valkey")
    assert admin.post(f"/api/v1/webhooks/{key}/test/").status_code == 202
    eventually(lambda: receiver.of("webhook.test"), what="the test arrives")
