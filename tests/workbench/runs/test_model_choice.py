"""Several endpoints in one installation: each collection asks the one it chose among those it allows, and no other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from arbitration.adapters.breaker import forget_breakers
from arbitration.adapters.endpoints import EndpointCapabilities
from tests.fake_llm.server import FakeLLM
from tests.workbench.cast import Cast
from tests.workbench.scene import make_document
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.collection_settings.selectors import criteria_weights_of
from workbench.collection_settings.services import collection_change
from workbench.documents.models import Collection, Document
from workbench.errors import NotAllowed, WorkbenchError
from workbench.infra.model_endpoints import ModelEndpoint
from workbench.operations.checks import model_endpoint_is_complete
from workbench.operations.control import llm_stop
from workbench.operations.endpoints import endpoint_try
from workbench.runs import gateway
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import LLMCall, LLMEndpoint, Run
from workbench.runs.services import question_ask
from workbench.runs.strategies import strategy_for
from workbench.settings import env
from workbench.settings.endpoints import VARIABLE, endpoints

pytest_plugins = ["tests.fake_llm.plugin"]
ClientAs = Callable[[User | None], Client]
ONE = {"name": "local", "base_url": "http://127.0.0.1:8080/v1", "models": ["small", "large"]}


class TestTheVariable:
    def test_it_is_read_with_its_key_from_another_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LOCAL_KEY", "sk-secret")
        monkeypatch.setenv(VARIABLE, json.dumps([ONE | {"key": "LOCAL_KEY", "is_local": True}]))
        (found,) = endpoints(env.text(VARIABLE))
        assert (found.name, found.models, found.api_key) == ("local", ("small", "large"), "sk-secret")
        assert "sk-secret" not in repr(found)

    def test_it_and_its_key_may_be_files(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "key").write_text("sk-file\n")
        (tmp_path / "endpoints.json").write_text(json.dumps([ONE | {"key": "LOCAL_KEY"}]))
        monkeypatch.setenv("LOCAL_KEY_FILE", str(tmp_path / "key"))
        monkeypatch.setenv(f"{VARIABLE}_FILE", str(tmp_path / "endpoints.json"))
        assert endpoints(env.text(VARIABLE))[0].api_key == "sk-file"

    def test_without_it_there_are_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(VARIABLE, raising=False)
        assert endpoints(env.text(VARIABLE)) == ()

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ("{", "not JSON"),
            ("[" * 100_000, "not JSON"),
            ("{}", "must be a list"),
            ([1], "must be an object"),
            ([ONE | {"api_key": "sk-x"}], "unknown fields: api_key"),
            ([ONE | {"name": "Local One"}], "small letters"),
            ([ONE | {"base_url": "ftp://x"}], "an address"),
            ([ONE | {"models": []}], "at least one model"),
            ([ONE | {"key": "sk-abc"}], "not the key itself"),
            ([ONE | {"key": "NOT_THERE"}], "NOT_THERE is not set"),
            ([ONE | {"is_local": "yes"}], "true or false"),
            ([ONE, ONE], "a name of its own"),
            ([ONE | {"name": "default"}], "default"),
        ],
    )
    def test_what_is_wrong_stops_the_start(
        self, value: Any, message: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(VARIABLE, value if isinstance(value, str) else json.dumps(value))
        with pytest.raises(ImproperlyConfigured, match=message):
            endpoints(env.text(VARIABLE))

    def test_the_check_looks_at_each(self, settings: Any) -> None:
        settings.OPENAI_BASE_URL = ""
        settings.MODEL_ENDPOINTS = (ModelEndpoint("far", "http://models.example/v1", ("m",)),)
        (message,) = model_endpoint_is_complete()
        assert message.id == "ops.W006"
        assert "far" in message.msg


@pytest.fixture
def second() -> Iterator[FakeLLM]:
    """Another endpoint."""
    with FakeLLM() as server:
        yield server


@pytest.fixture
def document(cast: Cast, here: None, fake_llm: FakeLLM, second: FakeLLM, settings: Any) -> Document:
    """Two endpoints; the collection allows both."""
    forget_breakers()
    settings.LLM_CONFIGURED = True
    settings.OPENAI_BASE_URL = fake_llm.base_url
    settings.OPENAI_API_KEY = "key-one"
    settings.OPENAI_MODEL = "first-model"
    settings.MODEL_ENDPOINTS = (
        ModelEndpoint("second", second.base_url, ("small", "large"), api_key="key-two"),
    )
    for address, model in (
        (fake_llm.base_url, "first-model"),
        (second.base_url, "small"),
        (second.base_url, "large"),
    ):
        LLMEndpoint.objects.create(
            name=f"{address} {model}",
            base_url=address,
            model=model,
            capabilities=asdict(EndpointCapabilities(json_schema=True, json_mode=True)),
        )
    Collection.objects.filter(slug="alpha").update(allowed_endpoints=[fake_llm.base_url, second.base_url])
    return make_document(collection=Collection.objects.get(slug="alpha"), owner=cast.analyst)


def choose(collection: Collection, endpoint: str, model: str = "") -> Collection:
    Collection.objects.filter(pk=collection.pk).update(model_endpoint=endpoint, model_name=model)
    collection.refresh_from_db()
    return collection


def asked(cast: Cast, document: Document) -> tuple[Run, bool]:
    document.refresh_from_db()
    outcome = question_ask(
        actor=cast.analyst,
        collection=Collection.objects.get(pk=document.collection_id),
        document=document,
        text="How long are access records kept?",
        strategy="arbiter",
    )
    if not outcome.is_cached:
        for stage in (run_detect, run_arbitrate, run_answer):
            stage(run_id=outcome.run.pk)
    return Run.objects.get(pk=outcome.run.pk), outcome.is_cached


def asked_at(run: Run) -> set[tuple[str, str]]:
    return set(LLMCall.objects.filter(run=run, outcome="ok").values_list("endpoint", "model"))


class TestAsking:
    def test_the_collections_choice_is_asked(
        self, cast: Cast, document: Document, fake_llm: FakeLLM, second: FakeLLM
    ) -> None:
        assert asked_at(asked(cast, document)[0]) == {(fake_llm.base_url, "first-model")}
        choose(document.collection, "second", "large")
        assert asked_at(asked(cast, document)[0]) == {(second.base_url, "large")}

    def test_another_model_is_another_answer(self, cast: Cast, document: Document) -> None:
        first, _ = asked(cast, document)
        assert asked(cast, document)[1] is True
        choose(document.collection, "second", "small")
        small, is_cached = asked(cast, document)
        assert (is_cached, small.pk == first.pk) == (False, False)
        choose(document.collection, "second", "large")
        large, is_cached = asked(cast, document)
        assert (is_cached, large.pk == small.pk) == (False, False)
        choose(document.collection, "")
        assert asked(cast, document)[0].pk == first.pk

    def test_without_a_choice_the_first_allowed_one_is_asked(
        self, cast: Cast, document: Document, second: FakeLLM
    ) -> None:
        collection = document.collection
        collection.allowed_endpoints = [second.base_url]
        choice = gateway.model_choice(collection)
        assert choice is not None
        assert (choice.endpoint.name, choice.model) == ("second", "small")
        assert gateway.endpoint_allowed(collection)

    def test_what_is_not_allowed_is_not_asked(
        self, cast: Cast, document: Document, fake_llm: FakeLLM, second: FakeLLM
    ) -> None:
        Collection.objects.filter(slug="alpha").update(allowed_endpoints=[fake_llm.base_url])
        choose(document.collection, "second")
        run, _ = asked(cast, document)
        assert asked_at(run) == set()
        assert set(LLMCall.objects.filter(run=run).values_list("outcome", flat=True)) == {"not_allowed"}
        assert second.requests == []

    def test_a_model_that_is_gone_is_replaced_by_no_other(
        self, cast: Cast, document: Document, settings: Any
    ) -> None:
        collection = choose(document.collection, "second", "large")
        settings.MODEL_ENDPOINTS = ()
        assert gateway.model_choice(collection) is None
        with pytest.raises(WorkbenchError, match="not configured"):
            strategy_for(collection=collection, wanted="arbiter")
        assert strategy_for(collection=collection, wanted="offline") == "offline"

    def test_local_models_cost_nothing(self, cast: Cast, document: Document) -> None:
        run, _ = asked(cast, document)
        assert run.llm_call_count
        assert (run.cost, run.unpriced_call_count) == (0, 0)

    def test_each_model_is_probed_by_itself(self, cast: Cast, document: Document, second: FakeLLM) -> None:
        LLMEndpoint.objects.filter(base_url=second.base_url).delete()
        choose(document.collection, "second", "large")
        asked(cast, document)
        assert list(LLMEndpoint.objects.filter(base_url=second.base_url).values_list("model", flat=True)) == [
            "large"
        ]


class TestChoosing:
    def values(self, collection: Collection, **changes: Any) -> dict[str, Any]:
        return {
            "default_strategy": "",
            "allowed_endpoints": collection.allowed_endpoints,
            "description": "",
            "criteria_weights": criteria_weights_of(collection=collection),
            "contributes_to_training": True,
        } | changes

    def test_the_choice_is_on_record(self, cast: Cast, document: Document) -> None:
        values = self.values(document.collection, model_endpoint="second", model_name="large")
        collection_change(actor=cast.admin, collection=document.collection, **values)
        event = AuditEvent.objects.filter(action="collection.changed").latest("id")
        assert event.after == {"model_endpoint": "second", "model_name": "large"}
        assert "key-two" not in json.dumps(event.after)

    def test_only_what_is_configured_and_allowed(
        self, cast: Cast, document: Document, fake_llm: FakeLLM
    ) -> None:
        collection = document.collection
        for wrong, code in (
            ({"model_endpoint": "third"}, "model_unknown"),
            ({"model_endpoint": "second", "model_name": "huge"}, "model_unknown"),
            (
                {"model_endpoint": "second", "allowed_endpoints": [fake_llm.base_url]},
                "endpoint_not_allowed",
            ),
        ):
            with pytest.raises(WorkbenchError) as refused:
                collection_change(actor=cast.admin, collection=collection, **self.values(collection, **wrong))
            assert refused.value.code == code

    def test_page_and_api(self, cast: Cast, document: Document, client_as: ClientAs) -> None:
        client = client_as(cast.admin)
        page = client.get("/collections/alpha/settings/").content.decode()
        assert "second large" in page
        assert "key-two" not in page
        allowed = document.collection.allowed_endpoints
        weights = self.values(document.collection)["criteria_weights"]
        form = {"allowed_endpoints": "\n".join(allowed), "model": "second large", "default_strategy": ""}
        answer = client.post("/collections/alpha/settings/change/", form | weights)
        assert answer.status_code == 302
        address = "/api/v1/collections/alpha/settings/"
        told = client.get(address).json()
        assert (told["model_endpoint"], told["model_name"]) == ("second", "large")
        left_out = {name: value for name, value in told.items() if not name.startswith("model_")}
        assert client.post(address, left_out, content_type="application/json").status_code == 200
        assert client.get(address).json()["model_name"] == "large", "left out, the choice stays"
        body = told | {"model_endpoint": "second", "model_name": "huge"}
        refused = client.post(address, body, content_type="application/json")
        assert refused.json()["code"] == "model_unknown"
        listed = client_as(cast.staff).get("/api/v1/language-models/prices/").json()["endpoints"]
        assert [(one["name"], one["is_local"]) for one in listed] == [("default", True), ("second", True)]
        assert "key" not in json.dumps(listed)


class TestThePageOfEndpoints:
    def test_it_says_who_asks_what_and_an_administrator_tests_it(
        self, cast: Cast, client_as: ClientAs, document: Document, second: FakeLLM
    ) -> None:
        choose(document.collection, "second", "large")
        User.objects.filter(pk=cast.admin.pk).update(is_staff=True)
        client = client_as(User.objects.get(pk=cast.admin.pk))
        page = client.get("/operations/endpoints/").content.decode()
        assert "key-two" not in page
        large = page.split('value="large"')[0].rsplit('<li class="row">', 1)[1]
        assert document.collection.name in large
        assert "Not asked in the last 30 days" in large

        sent = {"endpoint": "second", "model": "large"}
        said = client.post("/operations/endpoints/", sent, follow=True).content.decode()
        assert "large answered in" in said
        assert "Last call: answered" in " ".join(said.split())
        event = AuditEvent.objects.get(action="endpoint.tested")
        assert (event.actor, event.after["outcome"]) == (cast.admin, "ok")
        (call,) = LLMCall.objects.all()
        assert (call.collection_id, call.stage, call.endpoint) == (None, "probe", second.base_url)

    def test_what_does_not_answer_is_said_in_words_with_what_to_do(
        self, cast: Cast, document: Document, settings: Any
    ) -> None:
        settings.MODEL_ENDPOINTS = (
            ModelEndpoint("dead", "http://127.0.0.1:9/v1", ("m",)),
            ModelEndpoint("far", "http://192.0.2.1/v1", ("m",)),
        )
        User.objects.filter(pk=cast.admin.pk).update(is_staff=True)
        admin = User.objects.get(pk=cast.admin.pk)
        dead = endpoint_try(actor=admin, endpoint="dead", model="m")
        assert (dead.is_answered, dead.outcome) == (False, "connection")
        assert dead.said == (
            "m did not answer: the server cannot be reached. Check the address, and whether the server is up."
        )
        assert endpoint_try(actor=admin, endpoint="far", model="m").outcome == "not_allowed"
        llm_stop(actor=admin, reason="A test.")
        assert endpoint_try(actor=admin, endpoint="dead", model="m").outcome == "stopped"
        with pytest.raises(NotAllowed):
            endpoint_try(actor=cast.analyst, endpoint="dead", model="m")
        with pytest.raises(WorkbenchError, match="not configured"):
            endpoint_try(actor=admin, endpoint="none", model="m")
