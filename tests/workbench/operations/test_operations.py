"""The Operations, Costs and Prompts pages, the stop switch and the budgets."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from arbitration.errors import LLMFailure
from arbitration.prompting import parse_prompt, prompt_names
from arbitration.protocols import ChatRequest
from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import queries_of
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document
from workbench.errors import Conflict, NotAllowed
from workbench.operations import control, prompts
from workbench.runs.gateway import BudgetGuard, endpoint_name, llm_control
from workbench.runs.models import LLMCall, Run, RunStatus

ClientAs = Callable[[User | None], Client]
REQUEST = ChatRequest("test", "1", "0" * 64, "Say.", "Say it.", max_output_tokens=10)


def call(run: Run, **changes: Any) -> LLMCall:
    given = {
        "run": run, "collection": run.collection, "stage": "arbitrate", "endpoint": "e", "model": "m",
        "prompt_name": "arbiter", "prompt_version": "v1", "prompt_hash": "0" * 64, "request_hash": "0" * 64,
        "attempt": 1, "outcome": "ok", "input_tokens": 1000, "cached_tokens": 250, "output_tokens": 40,
        "cost": Decimal("0.5"),
    }  # fmt: skip
    return LLMCall.objects.create(**(given | changes))


class TestSwitch:
    def test_stopped_models_are_not_asked_and_it_is_on_record(self, cast: Cast, scene: Scene) -> None:
        control.llm_stop(actor=cast.staff, reason="the bill")
        with pytest.raises(LLMFailure) as caught:
            BudgetGuard(run=scene.run, collection=cast.alpha).allow(REQUEST, 0.0)
        assert caught.value.outcome == "stopped"
        control.llm_resume(actor=cast.staff, reason="paid")
        assert not llm_control().is_stopped
        actions = AuditEvent.objects.filter(action__startswith="llm.").order_by("id")
        assert list(actions.values_list("action", "reason")) == [
            ("llm.stopped", "the bill"),
            ("llm.resumed", "paid"),
        ]

    def test_stopping_twice_is_refused(self, cast: Cast) -> None:
        control.llm_stop(actor=cast.staff, reason="one")
        with pytest.raises(Conflict):
            control.llm_stop(actor=cast.staff, reason="two")

    @pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "admin", "auditor", "outsider"])
    def test_nobody_else_stops_them(self, name: str, cast: Cast, client_as: ClientAs) -> None:
        actor = getattr(cast, name)
        with pytest.raises(NotAllowed):
            control.llm_stop(actor=actor, reason="x")
        with pytest.raises(NotAllowed):
            control.budgets_change(actor=actor, run_budget=None, month_budget=None, reason="x")
        for path in ("stop", "resume", "budgets"):
            assert client_as(actor).post(f"/operations/{path}/", {"reason": "x"}).status_code == 403
        assert not llm_control().is_stopped

    def test_by_the_page(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.staff)
        assert client.post("/operations/stop/", {"reason": ""}).status_code == 422
        client.post("/operations/stop/", {"reason": "the bill <b>"})
        page = client.get("/operations/").content.decode()
        assert "Language models are stopped" in page
        assert "the bill &lt;b&gt;" in page
        client.post("/operations/resume/", {"reason": "paid"})
        assert not llm_control().is_stopped


class TestBudgets:
    def test_before_and_after_are_on_record_and_the_next_call_is_held_to_them(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        cast.alpha.allowed_endpoints = [endpoint_name()]
        given = {"run_budget": "0.25", "month_budget": "", "reason": "month end"}
        client_as(cast.staff).post("/operations/budgets/", given)
        assert (llm_control().run_budget, llm_control().month_budget) == (Decimal("0.25"), None)
        event = AuditEvent.objects.get(action="llm.budgets_changed")
        assert (Decimal(event.before["run_budget"]), Decimal(event.after["run_budget"])) == (
            5,
            Decimal("0.25"),
        )
        with pytest.raises(LLMFailure) as caught:
            BudgetGuard(run=scene.run, collection=cast.alpha).allow(REQUEST, 0.3)
        assert caught.value.outcome == "budget"

    @pytest.mark.parametrize("amount", ["-1", "1e9", "lots", "9" * 30, "NaN"])
    def test_nonsense_is_refused(self, amount: str, cast: Cast, client_as: ClientAs) -> None:
        given = {"run_budget": amount, "month_budget": "1", "reason": "x"}
        assert client_as(cast.staff).post("/operations/budgets/", given).status_code == 422
        assert llm_control().run_budget == 5


class TestPage:
    def test_figures_of_the_ledger(self, cast: Cast, scene: Scene, client_as: ClientAs) -> None:
        Run.objects.filter(pk=scene.run.pk).update(strategy="arbiter")
        call(scene.run)
        call(scene.run, outcome="timeout", output_tokens=0, cost=0)
        page = client_as(cast.auditor).get("/operations/")
        ledger = page.context["ledger"]
        assert (ledger.total.calls, ledger.total.failed, ledger.time_outs) == (2, 1, 1)
        assert dict(ledger.strategies)["arbiter"].cost == Decimal("0.5")
        assert ledger.total.cached_share == 0.25
        assert b"Cost by strategy, USD: arbiter 0.500" in page.content  # the plot's text alternative
        assert page.context["cache"]["questions"] >= 1

    def test_shards_that_were_lost_stand_beside_what_chance_would_give(
        self, cast: Cast, scene: Scene, client_as: ClientAs
    ) -> None:
        Run.objects.filter(pk=scene.run.pk).update(strategy="pointwise")
        for outcome in ("ok", "ok", "ok", "timeout"):
            call(scene.run, prompt_name="pointwise", outcome=outcome)
        shards = client_as(cast.auditor).get("/operations/").context["shards"]
        assert (shards.runs, shards.lost_share, shards.per_run) == (1, 1, 4)
        assert shards.expected == pytest.approx(1 - 0.75**4)

    def test_others_figures_and_names_stay_in_their_collection(
        self, cast: Cast, scene: Scene, client_as: ClientAs
    ) -> None:
        call(scene.run)
        Document.objects.filter(pk=scene.document.pk).update(status="failed", failure_reason="torn")
        Run.objects.filter(pk=scene.run.pk).update(status="failed", failure_reason="broken")
        outside = client_as(cast.outsider).get("/operations/")
        assert outside.context["ledger"].total.calls == 0
        assert outside.context["failures"] == []
        staff = client_as(cast.staff).get("/operations/")
        assert staff.context["ledger"].total.calls == 1
        assert staff.context["failures"] == [], "an administrator is no member"
        costs = client_as(cast.staff).get("/costs/").content.decode()
        assert f"collection {cast.alpha.pk}" in costs
        assert "Alpha" not in costs
        assert "Judging passages" in costs  # what for, in words: steps are no codes
        assert "arbitrate" not in costs
        assert "Alpha" in client_as(cast.auditor).get("/costs/").content.decode()

    @pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator"])
    @pytest.mark.parametrize("path", ["/operations/", "/costs/", "/costs.csv", "/prompts/"])
    def test_who_has_nothing_to_do_there(self, name: str, path: str, cast: Cast, client_as: ClientAs) -> None:
        assert client_as(getattr(cast, name)).get(path).status_code == 403

    def test_a_failed_run_is_asked_again(self, cast: Cast, scene: Scene, client_as: ClientAs) -> None:
        Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.FAILED, failure_reason="broken")
        url = f"/operations/runs/{scene.run.pk}/retry/"
        shown = client_as(cast.admin).get("/operations/").context["failures"]
        assert [failure["retry_url"] for failure in shown] == [url]
        before = Run.objects.count()
        assert client_as(cast.auditor).post(url).status_code == 404
        client_as(cast.admin).post(url)
        assert Run.objects.count() == before + 1
        assert Run.objects.latest("id").question.text == scene.run.question.text

    def test_a_finished_run_is_not(self, cast: Cast, scene: Scene, client_as: ClientAs) -> None:
        before = Run.objects.count()
        client_as(cast.admin).post(f"/operations/runs/{scene.run.pk}/retry/")
        assert Run.objects.count() == before

    @pytest.mark.parametrize("path", ["/operations/", "/costs/", "/prompts/", "/prompts/?name=arbiter"])
    def test_few_queries(self, path: str, cast: Cast, scene: Scene, client_as: ClientAs) -> None:
        for day in range(5):
            call(scene.run, request_hash=str(day) * 64)
        assert queries_of(client_as(cast.auditor), path) <= 15


class TestCosts:
    def test_a_file_that_no_spreadsheet_executes(self, cast: Cast, scene: Scene, client_as: ClientAs) -> None:
        call(scene.run, model="=cmd()")
        body = client_as(cast.auditor).get("/costs.csv").content.decode("utf-8-sig")
        (row,) = list(csv.DictReader(io.StringIO(body)))
        assert row["model"] == "'=cmd()"
        assert float(row["cost USD"]) == 0.5

    @pytest.mark.parametrize("month", ["2020-01", "x", "9999-99", "2026-13", "'"])
    def test_any_month_answers(self, month: str, cast: Cast, client_as: ClientAs) -> None:
        assert client_as(cast.auditor).get("/costs/", {"month": month}).status_code == 200


class TestPrompts:
    def test_every_prompt_is_listed_with_where_it_is_used(self, cast: Cast, client_as: ClientAs) -> None:
        rows = client_as(cast.auditor).get("/prompts/").context["prompts"]
        assert [row["prompt"].name for row in rows] == prompt_names()
        used = {row["prompt"].name: row["used_in"] for row in rows}
        assert used["arbiter"] == ("arbitration.strategies.arbiter",)
        assert all(used.values()), "a prompt that nothing loads"

    def test_a_prompt_word_for_word(self, cast: Cast, client_as: ClientAs) -> None:
        page = client_as(cast.auditor).get("/prompts/", {"name": "arbiter"})
        assert page.context["prompt"].hash.encode() in page.content
        assert b"You audit evidence" in page.content

    @pytest.mark.parametrize(
        "query",
        [{"name": "nonesuch"}, {"name": "../x"}, {"name": "arbiter", "version": "99"},
         {"name": "arbiter", "version": "9" * 40}, {"name": "arbiter", "against": "-1"}],
    )  # fmt: skip
    def test_what_is_not_there(self, query: dict[str, str], cast: Cast, client_as: ClientAs) -> None:
        assert client_as(cast.auditor).get("/prompts/", query).status_code == 404

    def test_what_changed_between_two_versions(self) -> None:
        head = "---\nname: p\nversion: {}\npurpose: x\nplaceholders: q\n---\n"
        head += "## System\nOne.\n{}\n## User\n{{{{ q }}}}\n"
        old, new = (parse_prompt(head.format(n, line)) for n, line in ((1, "Old line."), (2, "New line.")))
        diff = prompts.diff_of(old, new)
        assert [(line.kind, line.text) for line in diff if line.kind != "same"] == [
            ("removed", "Old line."),
            ("added", "New line."),
        ]
