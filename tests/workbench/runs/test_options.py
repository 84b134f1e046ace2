"""Settings of strategies, per collection and per question, and what a question will cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.workbench.cast import Cast
from workbench.accounts.models import User
from workbench.collection_settings.strategy_options import options_for
from workbench.documents.models import Collection
from workbench.errors import WorkbenchError
from workbench.runs.estimates import question_estimate
from workbench.runs.execution import run_options
from workbench.runs.models import Run
from workbench.runs.services import cache_key, question_ask, run_cache_key

ClientAs = Callable[[User | None], Client]
pytestmark = pytest.mark.usefixtures("here", "scene")


@pytest.fixture(autouse=True)
def _with_a_model(settings: Any) -> None:
    settings.LLM_CONFIGURED = True


def ask(cast: Cast, strategy: str = "consensus", **options: object) -> Run:
    return question_ask(
        actor=cast.analyst, collection=cast.alpha, text="Who signs?", strategy=strategy, options=options
    ).run


def test_a_question_changes_what_the_collection_has(cast: Cast) -> None:
    Collection.objects.filter(pk=cast.alpha.pk).update(
        strategy_options={"consensus": {"n": 1.0, "k": 10}, "multi-criteria": {"relevance_only": True}}
    )
    cast.alpha.refresh_from_db()
    run = ask(cast, n=0.5)
    assert run.strategy_options == {"n": 0.5, "k": 10}
    assert run_options(run).items() >= {"n": 0.5, "k": 10}.items()
    assert ask(cast, "multi-criteria").strategy_options == {"relevance_only": True}
    assert ask(cast, "offline").strategy_options is None


def test_a_setting_changes_the_cache_key_and_the_run_keeps_its_own(cast: Cast) -> None:
    keys = [
        cache_key(
            collection=cast.alpha, document=None, text="Who signs?", strategy="consensus", options=options
        )
        for options in (None, {"n": 0.5}, {"n": 1.0})
    ]
    assert len(set(keys)) == 3
    run = ask(cast, n=0.5)
    Collection.objects.filter(pk=cast.alpha.pk).update(strategy_options={"consensus": {"n": 1.5}})
    run = Run.objects.get(pk=run.pk)
    assert run.cache_key == run_cache_key(run=run) == keys[1]


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        ("consensus", {"n": 9}),
        ("consensus", {"order": "upside down"}),
        ("consensus", {"seed": 1}),
        ("arbiter", {"seed": -1}),
        ("arbiter", {"batch": 4}),
        ("offline", {"n": 1}),
    ],
)
def test_what_is_no_setting_is_refused(cast: Cast, strategy: str, options: dict[str, object]) -> None:
    with pytest.raises(WorkbenchError, match="settings"):
        options_for(collection=cast.alpha, strategy=strategy, given=options)


def test_the_estimate_knows_the_calls(cast: Cast) -> None:
    def calls(strategy: str, **given: object) -> int:
        return question_estimate(collection=cast.alpha, strategy=strategy, given=given).plan.calls

    assert calls("consensus") == 1 + 41  # reading the question, twice 20 passages, the answer
    assert calls("consensus", k=10) == 1 + 21
    assert calls("arbiter") == 1 + 5 + 1 + 1
    assert calls("arbiter", two_orders=True) == 1 + 2 * 5 + 1 + 1
    assert calls("offline") == 0
    assert question_estimate(collection=cast.alpha, strategy="offline").cost == 0


def test_the_form_sends_settings_and_shows_the_estimate(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.analyst)
    query = {"collection": "alpha", "strategy": "consensus", "option_k": "10"}
    shown = client.get("/ask/", query, headers={"HX-Request": "true"}).content.decode()
    assert "at most 22 calls" in shown
    assert "<form" not in shown
    sent = {"collection": "alpha", "text": "Who pays?", "strategy": "consensus", "option_n": "1.5"}
    assert client.post("/ask/", sent | {"option_order": "ascending"}).status_code == 302
    assert Run.objects.latest("id").strategy_options == {"n": 1.5, "order": "ascending"}


def test_by_the_api(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.analyst)
    body = {"collection": "alpha", "text": "Who pays?", "strategy": "consensus", "options": {"k": 5}}
    answer = client.post("/api/v1/questions/", body, content_type="application/json")
    assert answer.status_code == 201
    assert Run.objects.latest("id").strategy_options == {"k": 5}
    body["options"] = {"k": 0}
    assert client.post("/api/v1/questions/", body, content_type="application/json").status_code == 400
    found = client.get(
        "/api/v1/questions/estimate/", {"collection": "alpha", "strategy": "consensus", "k": 5}
    )
    assert found.json()["calls"] == 12
    assert found.json()["cost"] is None or found.json()["cost"] > 0


def test_a_collection_has_its_own(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.admin)
    address = "/api/v1/collections/alpha/settings/"
    current = client.get(address).json()
    changed = current | {"strategy_options": {"consensus": {"n": 0.5, "score": "yes_no"}}}
    answer = client.post(address, changed, content_type="application/json")
    assert answer.json()["strategy_options"] == changed["strategy_options"]
    assert "0.5" in client.get("/collections/alpha/settings/").content.decode()
    bad = changed | {"strategy_options": {"consensus": {"n": -1}}}
    assert client.post(address, bad, content_type="application/json").status_code == 400
