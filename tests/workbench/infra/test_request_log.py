"""What the lines of requests hold, and what they must not."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.test import Client

from tests.workbench.cast import Cast


def lines_of(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(str(record.msg) for record in caplog.records if "request" in record.name)


def test_words_that_people_look_for_are_in_no_line(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    client = Client()
    client.force_login(cast.analyst)
    with caplog.at_level(logging.INFO):
        client.get("/runs/", {"q": "dismissal of Mr Example"})
    told = lines_of(caplog)
    assert "GET /runs/" in told
    assert "dismissal" not in told


@pytest.mark.parametrize(
    "address",
    ["/accounts/password/reset/key/3-abc123-def456/", "/accounts/confirm-email/MTIz:key-of-a-mail/"],
)
def test_keys_of_mailed_links_are_in_no_line(
    db: None, caplog: pytest.LogCaptureFixture, address: str
) -> None:
    with caplog.at_level(logging.DEBUG):
        Client().get(address)
    assert address.split("/")[2] in lines_of(caplog), "the request is there"
    assert address.strip("/").rpartition("/")[2] not in caplog.text


def test_nobody_chooses_the_address_they_are_logged_under(db: None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        Client().get(
            "/accounts/login/", headers={"x-forwarded-for": "203.0.113.99", "x-real-ip": "203.0.113.99"}
        )
    assert "203.0.113.99" not in caplog.text
    assert "127.0.0.1" in lines_of(caplog)


def test_a_request_that_passed_fewer_proxies_than_there_are_is_answered_and_logged_without_address(
    db: None, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 2
    with caplog.at_level(logging.INFO):
        answer = Client().get("/healthz", headers={"x-forwarded-for": "203.0.113.99"})
    assert answer.status_code == 200
    assert "203.0.113.99" not in caplog.text


def test_one_line_says_what_a_request_was_and_how_long_it_took(
    cast: Cast, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client()
    client.force_login(cast.analyst)
    with caplog.at_level(logging.INFO):
        client.get("/runs/")
    (line,) = [record.msg for record in caplog.records if "request" in record.name]
    assert isinstance(line, dict)
    assert (line["event"], line["code"], line["user_id"]) == ("request_finished", 200, cast.analyst.pk)
    assert 0 < line["milliseconds"] < 60_000
