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


@pytest.mark.parametrize("body", ["", "{", '{"text": NaN}', b"\xff\xfe{", DEEP.encode("utf-16")])
def test_a_body_that_is_no_json_is_a_bad_request(cast: Cast, client_as: ClientAs, body: str | bytes) -> None:
    answer = posted(client_as(cast.analyst), body)
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
