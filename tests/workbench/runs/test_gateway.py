"""The way to language models: ledger, guard, budgets, cache, and the connection given back before each wait."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models.functions import Now

from arbitration.adapters.breaker import forget_breakers
from arbitration.adapters.endpoints import Effort, Endpoint, EndpointCapabilities
from arbitration.errors import LLMFailure
from arbitration.protocols import ChatReply, ChatRequest
from tests.arbitration.adapters.tiny_onnx import write_cross_encoder
from tests.fake_llm.server import FakeLLM
from tests.fake_llm.wire import FakeReply, FakeRequest
from tests.workbench.cast import Cast, create_cast
from tests.workbench.scene import make_document
from workbench.documents.models import Collection, Document
from workbench.infra.model_endpoints import ModelEndpoint, Reasoning
from workbench.runs import gateway
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import (
    LLMCall,
    LLMCallBody,
    LLMControl,
    LLMEndpoint,
    LLMReply,
    ModelPrice,
    Run,
    RunStatus,
)
from workbench.runs.services import question_ask
from workbench.runs.strategies import engine_state
from workbench.settings import env
from workbench.settings.endpoints import REASONING_EFFORTS, reasoning_of_all

pytest_plugins = ["tests.fake_llm.plugin"]


@pytest.fixture
def endpoint(fake_llm: FakeLLM, settings, monkeypatch: pytest.MonkeyPatch) -> FakeLLM:
    """The installation's endpoint is the fake one, and no test before has found it down. It counts as another's."""
    forget_breakers()
    settings.LLM_CONFIGURED = True
    settings.OPENAI_BASE_URL = fake_llm.base_url
    settings.OPENAI_API_KEY = "key"
    settings.OPENAI_MODEL = "fake-model"
    monkeypatch.setattr(gateway, "is_local", lambda endpoint: False)
    return fake_llm


@pytest.fixture
def document(cast: Cast, here: None, endpoint: FakeLLM) -> Document:
    Collection.objects.update(allowed_endpoints=[gateway.endpoint_name()])
    ModelPrice.objects.create(model="fake-model", input=1, cached_input="0.1", output=2)
    LLMEndpoint.objects.create(
        name="known",
        base_url=gateway.endpoint_name(),
        model="fake-model",
        capabilities=asdict(EndpointCapabilities(json_schema=True, json_mode=True)),
    )
    return make_document(collection=Collection.objects.get(slug="alpha"), owner=cast.analyst)


def asked(cast: Cast, document: Document, *, strategy: str = "arbiter", **options: object) -> Run:
    return question_ask(
        actor=cast.analyst,
        collection=document.collection,
        document=document,
        text="How long are access records kept?",
        strategy=strategy,
        **options,  # type: ignore[arg-type]
    ).run


def finished(run: Run) -> Run:
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=run.pk)
    run.refresh_from_db()
    return run


REQUEST = ChatRequest(
    prompt_name="test",
    prompt_version="1",
    prompt_hash="0" * 64,
    system="Say.",
    user="Say it.",
    max_output_tokens=10,
)


class TestLedger:
    def test_every_attempt_is_written_down_with_its_cost(self, cast: Cast, document: Document) -> None:
        run = finished(asked(cast, document))

        calls = list(LLMCall.objects.filter(run=run))
        assert run.status == RunStatus.DONE, run.failure_reason
        assert calls
        assert "ok" in {call.outcome for call in calls if call.stage == "arbitrate"}
        assert all(call.cost > 0 for call in calls), "an answer that was no use is paid for as well"
        assert run.llm_call_count == len(calls)
        assert run.cost == sum(call.cost for call in calls)
        assert LLMCallBody.objects.filter(call__run=run).count() == len(calls)

    def test_failed_attempts_too(self, cast: Cast, document: Document, endpoint: FakeLLM) -> None:
        endpoint.fault("unauthorised")
        run = finished(asked(cast, document))

        assert LLMCall.objects.filter(run=run).exists()
        assert not LLMCall.objects.filter(run=run, outcome="ok").exists()
        assert run.status in (RunStatus.DONE, RunStatus.FAILED)
        if run.status == RunStatus.DONE:  # errors are never verdicts
            assert not run.candidates.filter(
                verdict__decided_by_kind="llm", verdict__role__isnull=False
            ).exists()

    def test_characters_that_no_column_holds_stop_nothing(
        self, cast: Cast, document: Document, endpoint: FakeLLM
    ) -> None:
        behave = endpoint.script.behaviour

        def hostile(request: FakeRequest) -> FakeReply | str:
            said = behave(request)
            text = said.text if isinstance(said, FakeReply) else said
            return text.replace('"reason":"', '"reason":"\\u0000 \\ud800 ').replace(
                '"reason": "', '"reason": "\\u0000 \\ud800 '
            )

        endpoint.behave(hostile)
        run = finished(asked(cast, document))

        assert run.status == RunStatus.DONE, run.failure_reason


class TestGuard:
    @pytest.fixture
    def run(self, cast: Cast, document: Document) -> Run:
        return asked(cast, document)

    def refused(self, run: Run, cost: float = 0.01) -> str:
        run = Run.objects.select_related("collection").get(pk=run.pk)
        with pytest.raises(LLMFailure) as failure:
            gateway.BudgetGuard(run=run, collection=run.collection).allow(REQUEST, cost)
        return failure.value.outcome

    def allowed(self, run: Run, cost: float = 0.01) -> bool:
        gateway.BudgetGuard(run=run, collection=run.collection).allow(REQUEST, cost)
        return True

    def spend(self, run: Run, cost: str, **changed: object) -> LLMCall:
        return LLMCall.objects.create(
            run=run,
            collection=run.collection,
            stage="test",
            attempt=1,
            outcome="ok",
            cost=Decimal(cost),
            **changed,
        )

    def test_the_switch(self, run: Run) -> None:
        assert self.allowed(run)
        LLMControl.objects.update_or_create(pk=1, defaults={"is_stopped": True, "stop_reason": "incident"})

        assert self.refused(run) == "stopped"

    def test_the_collection(self, run: Run) -> None:
        Collection.objects.update(allowed_endpoints=["https://elsewhere.example/v1"])

        assert self.refused(run) == "not_allowed"

    def test_the_budget_of_a_run(self, run: Run) -> None:
        LLMControl.objects.update_or_create(pk=1, defaults={"run_budget": Decimal("1.00")})
        self.spend(run, "0.90")

        assert self.allowed(run, 0.10)
        assert self.refused(run, 0.11) == "budget"

    def test_the_budget_of_a_month(self, cast: Cast, run: Run, document: Document) -> None:
        LLMControl.objects.update_or_create(
            pk=1, defaults={"run_budget": None, "month_budget": Decimal("1.00")}
        )
        other = asked(cast, document, use_cache=False)
        old = self.spend(other, "50")
        LLMCall.objects.filter(pk=old.pk).update(created_at=Now() - timedelta(days=32))
        self.spend(other, "0.90")

        assert self.allowed(run, 0.10)
        assert self.refused(run, 0.11) == "budget"

    def test_no_budget_is_no_limit(self, run: Run) -> None:
        LLMControl.objects.update_or_create(pk=1, defaults={"run_budget": None, "month_budget": None})

        assert self.allowed(run, 1_000_000)

    @pytest.mark.parametrize("change", [{"is_stopped": True, "stop_reason": "incident"}, {"run_budget": 0}])
    def test_what_is_refused_is_never_sent(
        self, run: Run, endpoint: FakeLLM, change: dict[str, object]
    ) -> None:
        LLMControl.objects.update_or_create(pk=1, defaults=change)

        finished(run)

        assert endpoint.script.requests == []


class TestReplyCache:
    REPLY = ChatReply(
        text='{"a": "\\u0000"}\x00', parsed=None, model="m", endpoint="e", top_logprobs=({"Yes": -0.1},)
    )

    def test_an_equal_request_is_answered_inside_the_collection_only(self, cast: Cast) -> None:
        mine = gateway.CollectionReplyCache(collection_id=cast.alpha.pk)
        other = gateway.CollectionReplyCache(collection_id=cast.beta.pk)
        mine.put("h" * 64, self.REPLY)

        assert other.get("h" * 64) is None
        found = mine.get("h" * 64)
        assert found == replace(self.REPLY, text='{"a": "\\u0000"}')

    def test_the_first_reply_stays(self, cast: Cast) -> None:
        cache = gateway.CollectionReplyCache(collection_id=cast.alpha.pk)
        cache.put("h" * 64, replace(self.REPLY, text="first"))
        cache.put("h" * 64, replace(self.REPLY, text="second"))

        found = cache.get("h" * 64)
        assert found is not None
        assert found.text == "first"
        assert LLMReply.objects.count() == 1

    def test_another_collections_equal_run_asks_the_model_again(
        self, cast: Cast, document: Document, endpoint: FakeLLM
    ) -> None:
        finished(asked(cast, document))
        first = len(endpoint.script.requests)
        finished(asked(cast, document, use_cache=False))
        assert len(endpoint.script.requests) == 2 * first, "a run without cache asks"

        beta = Collection.objects.get(slug="beta")
        twin = make_document(collection=beta, owner=cast.outsider)
        run = question_ask(
            actor=cast.outsider,
            collection=beta,
            document=twin,
            text="How long are access records kept?",
            strategy="arbiter",
        ).run
        finished(run)

        assert len(endpoint.script.requests) > 2 * first
        assert LLMReply.objects.filter(collection=beta).exists()


@pytest.mark.parametrize("use_cache", [True, False])
def test_a_worker_that_takes_a_run_over_asks_the_model_nothing_twice(
    cast: Cast, document: Document, endpoint: FakeLLM, monkeypatch: pytest.MonkeyPatch, use_cache: bool
) -> None:
    run = asked(cast, document, use_cache=use_cache)
    run_detect(run_id=run.pk)
    with monkeypatch.context() as struck:
        struck.setattr("workbench.runs.execution.verdicts_written.publish", _end_of_the_worker)
        with pytest.raises(KeyboardInterrupt):
            run_arbitrate(run_id=run.pk)
    calls = list(LLMCall.objects.filter(run=run).values_list("pk", "outcome", "stage"))
    sent = len(endpoint.script.requests)
    assert "ok" in {outcome for _pk, outcome, _stage in calls}

    run_arbitrate(run_id=run.pk)

    assert len(endpoint.script.requests) == sent
    assert list(LLMCall.objects.filter(run=run).values_list("pk", "outcome", "stage")) == calls
    assert run.candidates.filter(verdict__decided_by_kind="llm", verdict__role__isnull=False).exists()
    run.refresh_from_db()
    assert run.status == RunStatus.ARBITRATED


def test_a_strategy_without_a_model_sends_nothing_not_even_a_probe(
    cast: Cast, document: Document, endpoint: FakeLLM
) -> None:
    LLMEndpoint.objects.all().delete()

    run = finished(asked(cast, document, strategy="offline"))

    assert run.status == RunStatus.DONE, run.failure_reason
    assert endpoint.script.requests == []
    assert not LLMCall.objects.exists()


def _end_of_the_worker(_written: object) -> int:
    raise KeyboardInterrupt


@pytest.mark.django_db(transaction=True)
def test_an_endpoint_that_is_down_is_not_said_to_lack_what_nobody_could_ask_it(
    cast: Cast, document: Document, endpoint: FakeLLM
) -> None:
    LLMEndpoint.objects.all().delete()
    endpoint.fault("server_error")

    run = finished(asked(cast, document, strategy="consensus"))

    assert run.status == RunStatus.DONE, run.failure_reason
    assert run.candidates.exists()
    deciders = set(run.candidates.values_list("verdict__decided_by_kind", flat=True))
    assert deciders <= {"fallback", "undecided"}
    assert any("the language model gave no verdict" in note for note in run.notes)
    assert run.needs_person
    outcomes = set(LLMCall.objects.filter(run=run).values_list("outcome", flat=True))
    assert "server_error" in outcomes
    assert "ok" not in outcomes
    assert not LLMEndpoint.objects.exists()


def test_two_long_endpoint_names_are_two_names(endpoint: FakeLLM) -> None:
    base = "https://" + "x" * 90
    names = {gateway._short_name(Endpoint(name=base, base_url=base, model=model)) for model in ("one", "two")}

    assert len(names) == 2
    assert all(len(name) <= 80 for name in names)


@pytest.mark.django_db(transaction=True)
def test_while_a_model_is_waited_for_no_connection_is_held(
    endpoint: FakeLLM, here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast = create_cast()
    Collection.objects.update(allowed_endpoints=[gateway.endpoint_name()])
    document = make_document(collection=Collection.objects.get(slug="alpha"), owner=cast.analyst)
    held: list[bool] = []
    from arbitration.adapters.endpoint_calls import EndpointCaller

    send = EndpointCaller._send

    def watched(self: EndpointCaller, *args: object, **kwargs: object) -> object:
        held.append(connection.connection is not None)  # of the very thread that will wait
        return send(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(EndpointCaller, "_send", watched)
    monkeypatch.setattr(gateway, "is_local", lambda endpoint: True)
    run = finished(asked(cast, document))

    assert run.status == RunStatus.DONE, run.failure_reason
    assert held
    assert not any(held)


class TestModelsThatReason:
    @pytest.mark.django_db(transaction=True)
    def test_another_level_of_effort_is_probed_and_then_remembered(
        self, cast: Cast, document: Document, endpoint: FakeLLM, settings
    ) -> None:
        settings.LLM_REASONING_EFFORT = "low"
        finished(asked(cast, document))
        assert LLMEndpoint.objects.get().capabilities["effort_tried"] == "low"
        probes = LLMCall.objects.filter(stage="probe").count()
        assert probes > 0
        sent = [call.body.request for call in LLMCall.objects.filter(stage="arbitrate")]
        assert [request.get("reasoning_effort") for request in sent] == ["low"]
        finished(asked(cast, document))
        assert LLMCall.objects.filter(stage="probe").count() == probes

    @pytest.mark.django_db(transaction=True)
    def test_each_strategy_has_its_level_and_its_room(
        self, cast: Cast, document: Document, endpoint: FakeLLM, settings
    ) -> None:
        settings.LLM_REASONING = reasoning_of_all(
            '{"arbiter": {"effort": "high", "tokens": 900}, "pointwise": {"effort": "low"}}'
        )
        LLMEndpoint.objects.all().delete()
        endpoint.without("temperature")  # as models refuse it that think
        sent, probes = {}, []
        for strategy in ("arbiter", "pointwise", "arbiter"):
            run = finished(asked(cast, document, strategy=strategy, use_cache=False))
            assert run.status == RunStatus.DONE, run.failure_reason
            sent[strategy] = LLMCall.objects.filter(run=run).exclude(stage="probe").first().parameters
            probes.append(LLMCall.objects.filter(stage="probe").count())
        found = {name: (each["effort"], each["thinking_tokens"]) for name, each in sent.items()}
        assert found == {"arbiter": ("high", 900), "pointwise": ("low", 4096)}
        assert probes[1] == probes[0] + 1, "of another level only whether it is taken"
        assert probes[2] == probes[1]
        assert LLMEndpoint.objects.get().capabilities["levels"] == {"high": True, "low": True}

    @pytest.mark.parametrize(
        ("given", "why"),
        [
            ("high", "not JSON"),
            ('{"arbiter": "high"}', "is an object"),
            ('{"arbitrator": {"effort": "high"}}', "no strategy: arbitrator"),
            ('{"arbiter": {"effort": "very"}}', "one of none"),
            ('{"arbiter": {"tokens": -1}}', "a number up to"),
            ('{"arbiter": {}}', "both, and nothing else"),
        ],
    )
    def test_a_setting_that_means_nothing_stops_the_start(self, given: str, why: str) -> None:
        with pytest.raises(ImproperlyConfigured, match=why):
            reasoning_of_all(given)

    def test_an_endpoint_goes_before_the_installation(self, settings) -> None:
        settings.LLM_REASONING_EFFORT, settings.LLM_REASONING_TOKENS = "low", 4096
        own = reasoning_of_all('{"default": {"effort": "medium"}, "arbiter": {"tokens": 50}}')
        other = ModelEndpoint("own", "https://models.example/v1", ("m",), reasoning=own)
        assert other.reasoning_for("arbiter") == Reasoning("medium", 50)
        assert other.reasoning_for("pointwise") == Reasoning("medium", 4096)

    def test_the_level_of_effort_is_part_of_what_answers_are_kept_under(
        self, cast: Cast, endpoint: FakeLLM, settings
    ) -> None:
        before = engine_state(strategy="arbiter", collection=cast.alpha)
        settings.LLM_REASONING_EFFORT = "high"
        assert engine_state(strategy="arbiter", collection=cast.alpha) != before

    def test_the_levels_of_the_setting_are_those_of_the_engine(self) -> None:
        assert get_args(Effort) == REASONING_EFFORTS

    @pytest.mark.parametrize("given", ["", "low", "very"])
    def test_the_setting_is_a_level_or_stops_the_start(
        self, given: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LLM_REASONING_EFFORT", given)
        if given == "very":
            with pytest.raises(ImproperlyConfigured, match="must be one of none"):
                env.choice("LLM_REASONING_EFFORT", REASONING_EFFORTS)
        else:
            assert env.choice("LLM_REASONING_EFFORT", REASONING_EFFORTS) == given


@pytest.mark.django_db(transaction=True)
def test_a_run_keeps_the_order_in_which_the_model_read(cast: Cast, document: Document) -> None:
    run = finished(asked(cast, document, options={"seed": 5, "two_orders": True}))
    assert json.loads(run.artefacts["order"]) == {"hints": False, "orders": 2, "seed": 5, "whole": 15}


@pytest.mark.django_db(transaction=True)
def test_a_model_is_told_which_version_it_reads(cast: Cast, document: Document) -> None:
    later = make_document(
        collection=cast.alpha,
        owner=cast.analyst,
        name="later.txt",
        text={"1 Audit": ["Audit records are kept."]},
    )
    Document.objects.filter(pk=later.pk).update(version_of=document, version_number=2)
    Document.objects.filter(pk=document.pk).update(effective_date="2021-03-04", title="Old policy")
    for one, said in (
        (document, "effective 2021-03-04; version 1; replaced by"),
        (later, "version 2; the latest"),
    ):
        finished(asked(cast, one))
        call = LLMCall.objects.filter(stage="arbitrate").latest("pk")
        assert said in json.dumps(call.body.request)
    assert "document: Old policy" in json.dumps(
        LLMCall.objects.filter(stage="arbitrate").first().body.request
    )


def test_a_cross_encoder_scores_where_the_collection_allows_it(
    cast: Cast, document: Document, fake_llm: FakeLLM, settings, tmp_path: Path
) -> None:
    """Its calls are on the ledger. Where its address is not allowed no text goes there, and that of a folder scores."""
    ModelPrice.objects.create(model="fake-rerank", input=1, cached_input=1, output=0)
    before = engine_state(strategy="offline", collection=document.collection)
    settings.RERANK_BASE_URL, settings.RERANK_MODEL = fake_llm.base_url, "fake-rerank"
    run = finished(asked(cast, document, strategy="offline"))
    call = LLMCall.objects.get(run=run, stage="rerank")
    assert (call.model, call.outcome) == ("fake-rerank", "ok")
    assert run.pool.body["cross_encoder"] == "fake-rerank"
    assert run.candidates.first().features["cross_encoder"] > 0
    assert engine_state(strategy="offline", collection=document.collection) != before

    settings.RERANK_BASE_URL = "http://ranks.example/v1"
    again = finished(asked(cast, document, strategy="offline", use_cache=False))
    assert again.status == RunStatus.DONE
    assert again.pool.body["cross_encoder"] is None
    assert not LLMCall.objects.filter(run=again).exists()

    settings.RERANK_FOLDER = str(write_cross_encoder(tmp_path / "tiny", {"twenty": 3.0}))
    here = finished(asked(cast, document, strategy="offline", use_cache=False))
    assert here.pool.body["cross_encoder"].startswith("tiny@")
    scores = {c.text.anchor: c.features["cross_encoder"] for c in here.candidates.select_related("text")}
    best = max(scores, key=scores.__getitem__)
    assert "twenty-four" in best
    assert not LLMCall.objects.filter(run=here).exists()
    assert engine_state(strategy="offline", collection=document.collection)["cross_encoder"] != ""
