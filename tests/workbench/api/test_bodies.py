"""Bodies of JSON that no client sends on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.workbench.cast import Cast
from workbench.accounts.models import User

ClientAs = Callable[[User | None], Client]
DEEP = "[" * 200_000


def posted(client: Client, body: str | bytes) -> Any:
    client.raise_request_exception = False
    return client.post("/api/v1/questions/", body, content_type="application/json")


@pytest.mark.parametrize(
    "body",
    [
        DEEP,
        "[" * 100_000 + "]" * 100_000,
        '{"text": ' + "[" * 65 + "]" * 65 + "}",
    ],
)
def test_a_deeply_nested_body_is_a_bad_request(cast: Cast, client_as: ClientAs, body: str) -> None:
    answer = posted(client_as(cast.analyst), body)
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "parse_error"
    assert "too deeply" in answer.json()["detail"]


def test_a_large_body_is_too_large_and_says_how_large_it_may_be(
    cast: Cast, client_as: ClientAs, settings: Any
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    answer = posted(client_as(cast.analyst), '{"text": "' + "a" * 100 + '"}')
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert "100 bytes" in answer.json()["detail"]


def test_what_is_not_there_is_said_in_words(cast: Cast, client_as: ClientAs) -> None:
    for address in ("/api/v1/runs/99999/", "/api/v1/nowhere/"):
        answer = client_as(cast.analyst).get(address).json()
        assert (answer["title"], answer["detail"]) == ("Not Found", "Not found, or not visible to you.")
    answer = client_as(cast.analyst).get("/api/v1/runs/?cursor=abc").json()
    assert "Start without one" in answer["detail"]


@pytest.mark.parametrize("body", ["", "{", '{"text": NaN}', b"\xff\xfe{", DEEP.encode("utf-16")])
def test_a_body_that_is_no_json_is_a_bad_request(cast: Cast, client_as: ClientAs, body: str | bytes) -> None:
    answer = posted(client_as(cast.analyst), body)
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
