"""Streams of pointwise, set on the collection's page, by the API and for one question."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from tests.workbench.cast import Cast
from workbench.accounts.models import User
from workbench.collection_settings.strategy_options import options_for

ClientAs = Callable[[User | None], Client]
SET = {"streams": True, "merge": "round-robin", "per_stream": 5}


def test_the_page_sets_them_for_the_collection(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.admin)
    weights = dict.fromkeys(("depth", "diversity", "clarity", "authoritativeness", "recency"), 0.5)
    form = {"option_streams": "true", "option_merge": "round-robin", "option_per_stream": "5"}
    answer = client.post("/collections/alpha/settings/change/", form | weights)
    assert answer.status_code == 302, answer.content.decode()
    cast.alpha.refresh_from_db()
    assert options_for(collection=cast.alpha, strategy="pointwise") == SET
    assert options_for(collection=cast.alpha, strategy="consensus") == {}
    page = client.get("/collections/alpha/settings/").content.decode()
    assert "Settings of pointwise" in page


def test_the_api_sets_them_and_refuses_what_is_no_rule(cast: Cast, client_as: ClientAs) -> None:
    client, address = client_as(cast.admin), "/api/v1/collections/alpha/settings/"
    told = client.get(address).json()
    body = told | {"strategy_options": {"pointwise": SET}}
    assert client.post(address, body, content_type="application/json").status_code == 200
    cast.alpha.refresh_from_db()
    assert options_for(collection=cast.alpha, strategy="pointwise") == SET
    wrong = told | {"strategy_options": {"pointwise": {"merge": "by chance"}}}
    refused = client.post(address, wrong, content_type="application/json")
    assert refused.json()["code"] == "strategy_options"


def test_a_question_changes_them(cast: Cast, client_as: ClientAs) -> None:
    cast.alpha.strategy_options = {"pointwise": SET}
    given = {"merge": "quota"}
    assert options_for(collection=cast.alpha, strategy="pointwise", given=given) == SET | given
    assert "Settings of pointwise" in client_as(cast.analyst).get("/ask/").content.decode()
