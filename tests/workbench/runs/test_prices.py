"""What models cost: entered by administrators, unknown where nobody did, nothing for local models."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from arbitration.adapters.endpoints import Endpoint, Price, Usage
from arbitration.errors import LLMFailure
from arbitration.protocols import ChatRequest
from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.documents.models import Collection
from workbench.errors import NotAllowed, WorkbenchError
from workbench.infra.model_endpoints import ModelEndpoint, is_local
from workbench.runs.gateway import BudgetGuard, llm_control
from workbench.runs.models import LLMCall, LLMControl, ModelPrice, Run
from workbench.runs.prices import FREE, models_without_price, price_of, price_remove, price_set

ClientAs = Callable[[User | None], Client]
REQUEST = ChatRequest(
    prompt_name="test", prompt_version="1", prompt_hash="0" * 64, system="S.", user="U.", max_output_tokens=10
)
GIVEN: dict[str, Any] = {
    "model": "large-1",
    "fresh": Decimal("2.5"),
    "cached": Decimal("0.25"),
    "output": Decimal("10"),
    "reason": "The list of May.",
}


def call(collection: Collection, run: Run | None = None, **fields: Any) -> LLMCall:
    given = {"stage": "arbitrate", "endpoint": "https://a.example/v1", "model": "large-1", "attempt": 1}
    given |= {"prompt_name": "p", "prompt_version": "1", "outcome": "ok", "input_tokens": 10}
    return LLMCall.objects.create(collection=collection, run=run, **(given | fields))


class TestPrices:
    def test_a_model_without_a_price_has_nobody_elses(self, cast: Cast) -> None:
        assert price_of(model="gpt-5-mini", is_local=False) == Price(0.25, 0.025, 2.0)
        assert price_of(model="large-1", is_local=False) is None
        assert price_of(model="large-1", is_local=True) == FREE

    def test_what_was_used_without_a_price_is_unknown_not_free(self) -> None:
        assert not Usage(10, 0, 5).is_priced(None)
        assert Usage().is_priced(None), "a call that was refused cost nothing"
        assert Usage(10, 0, 5).is_priced(FREE)

    def test_setting_and_removing_are_on_record(self, cast: Cast) -> None:
        price_set(actor=cast.staff, **GIVEN)
        price_set(actor=cast.staff, **(GIVEN | {"output": Decimal("12")}))
        assert price_of(model="large-1", is_local=False) == Price(2.5, 0.25, 12.0)
        event = AuditEvent.objects.filter(action="llm.price_set").latest("id")
        assert (event.before["output"], event.after["output"], event.reason) == (
            "10",
            "12",
            "The list of May.",
        )
        price_remove(actor=cast.staff, model="large-1", reason="Gone.")
        assert price_of(model="large-1", is_local=False) is None
        assert AuditEvent.objects.filter(action="llm.price_removed").exists()

    @pytest.mark.parametrize("name", ["admin", "analyst", "auditor"])
    def test_only_an_administrator_of_the_installation(self, name: str, cast: Cast) -> None:
        with pytest.raises(NotAllowed):
            price_set(actor=getattr(cast, name), **GIVEN)
        with pytest.raises(NotAllowed):
            price_remove(actor=getattr(cast, name), model="gpt-5-mini", reason="No.")

    def test_what_is_no_price_is_refused(self, cast: Cast) -> None:
        for wrong in ({"fresh": Decimal(-1)}, {"output": Decimal(10**6)}, {"model": "  "}):
            with pytest.raises(WorkbenchError):
                price_set(actor=cast.staff, **(GIVEN | wrong))
        with pytest.raises(IntegrityError), transaction.atomic():
            ModelPrice.objects.create(model="x", input=-1, cached_input=0, output=0)

    def test_an_unknown_cost_is_no_amount(self, cast: Cast) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            call(cast.alpha, is_priced=False, cost=Decimal("0.5"))


@pytest.mark.parametrize(
    ("address", "mark", "local"),
    [
        ("http://127.0.0.1:8080/v1", None, True),
        ("http://[::1]:8080/v1", None, True),
        ("http://10.1.2.3/v1", None, True),
        ("https://8.8.8.8/v1", None, False),
        ("https://8.8.8.8/v1", True, True),
        ("http://127.0.0.1/v1", False, False),
    ],
)
def test_a_local_model_is_told_by_its_address_or_its_mark(
    address: str, mark: bool | None, local: bool
) -> None:
    assert is_local(ModelEndpoint("x", address, ("m",), is_local=mark)) is local


class TestBudgets:
    """While a budget is set, a model without a price is not asked: nobody could hold the budget."""

    def guard(self, cast: Cast) -> BudgetGuard:
        endpoint = Endpoint(name="a", base_url="https://a.example/v1", model="large-1")
        cast.alpha.allowed_endpoints = [endpoint.base_url]
        return BudgetGuard(run=None, collection=cast.alpha, endpoint=endpoint)

    def test_with_a_budget_the_message_says_what_to_do(self, cast: Cast) -> None:
        with pytest.raises(LLMFailure, match="large-1 has no price") as failure:
            self.guard(cast).allow(REQUEST, None)
        assert failure.value.outcome == "budget"

    def test_without_budgets_it_is_asked(self, cast: Cast) -> None:
        llm_control()
        LLMControl.objects.update(run_budget=None, month_budget=None)
        self.guard(cast).allow(REQUEST, None)

    def test_with_a_price_it_is_asked(self, cast: Cast) -> None:
        self.guard(cast).allow(REQUEST, 0.01)


class TestPages:
    def test_an_administrator_sets_a_price_on_the_page(self, cast: Cast, client_as: ClientAs) -> None:
        call(cast.alpha, is_priced=False)
        client = client_as(cast.staff)
        page = client.get("/operations/prices/").content.decode()
        assert "gpt-5-mini" in page
        assert '<td class="num">0.25</td><td class="num">0.025</td><td class="num">2</td>' in page
        assert "1 call of unknown cost" in page
        assert [row.model for row in models_without_price()] == ["large-1"]
        sent = {name: str(value) for name, value in GIVEN.items()}
        assert client.post("/operations/prices/", sent).status_code == 302
        assert price_of(model="large-1", is_local=False) == Price(2.5, 0.25, 10.0)
        assert models_without_price() == []
        assert client.post("/operations/prices/", sent | {"output": "-1"}).status_code == 422
        gone = {"model": "large-1", "reason": "Gone."}
        assert client.post("/operations/prices/remove/", gone).status_code == 302
        assert client.post("/operations/prices/remove/", gone).status_code == 422

    def test_the_api_does_the_same(self, cast: Cast, client_as: ClientAs) -> None:
        client, address = client_as(cast.staff), "/api/v1/language-models/prices/"
        body = {"model": "large-1", "input": "2.5", "cached_input": "0.25", "output": "10", "reason": "List."}
        answer = client.post(address, body, content_type="application/json")
        assert (answer.status_code, answer.json()["output"]) == (200, "10.000000"), answer.content
        listed = client.get(address).json()
        assert {row["model"] for row in listed["prices"]} == {"gpt-5-mini", "large-1"}
        gone = client.post(
            f"{address}remove/", {"model": "large-1", "reason": "Gone."}, content_type="application/json"
        )
        assert gone.status_code == 204
        assert client_as(cast.admin).post(address, body, content_type="application/json").status_code == 403

    def test_sums_say_at_least_and_count_what_is_unknown(
        self, scene: Scene, cast: Cast, client_as: ClientAs
    ) -> None:
        call(cast.alpha, scene.run, cost=Decimal("0.5"))
        call(cast.alpha, scene.run, is_priced=False)
        Run.objects.filter(pk=scene.run.pk).update(llm_call_count=2, cost="0.5", unpriced_call_count=1)
        client = client_as(cast.staff)
        for address in ("/costs/", "/operations/"):
            page = client.get(address).content.decode()
            assert "at least 0.5" in page, address
            assert "1 call of unknown cost" in page, address
        total = client.get("/api/v1/costs/").json()["total"]
        assert (Decimal(total["cost"]), total["unpriced"]) == (Decimal("0.5"), 1)
        assert "calls of unknown cost" in client.get("/costs.csv").content.decode()
        shown = client_as(cast.analyst).get(scene.run.get_absolute_url()).content.decode()
        assert "at least 0.5" in shown
        record = client_as(cast.analyst).get(f"/api/v1/runs/{scene.run.pk}/record/").json()
        assert record["audit"]["unpriced_calls"] == 1
