"""Trust figures, costs and the verification of the chain by the API: what their pages show."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import pytest
import yaml
from django.test import Client
from django.utils import timezone

from tests.product import ROOT
from tests.workbench.audit.conftest import as_superuser
from tests.workbench.authorisation.parts import a_bar_in_use
from tests.workbench.cast import Cast
from tests.workbench.operations.test_operations import call
from tests.workbench.pages.conftest import queries_of, role_other_than
from tests.workbench.pages.test_trust import decide
from tests.workbench.scene import Scene
from training.risk import SHIPPED_CARDS, SHIPPED_LOSS
from workbench.accounts.models import User
from workbench.api.tokens import token_create
from workbench.audit.models import AuditEvent, AuditSeal
from workbench.audit.services import audit_seal_all
from workbench.audit.verify import audit_verify
from workbench.documents.models import Collection
from workbench.runs.models import LLMCall

ClientAs = Callable[[User | None], Client]
TRUST = "/api/v1/collections/alpha/trust/"
COSTS = "/api/v1/costs/"
VERIFY = "/api/v1/audit-events/verify/"


def outside_a_run(made: LLMCall, *, collection: Collection | None) -> None:
    """The call was one of an evaluation, or of another collection."""
    LLMCall.objects.filter(pk=made.pk).update(run=None, collection=collection)


class TestTrust:
    def test_the_figures_of_the_page(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        """The scene's reviewer approved one card, having seen the machine's word."""
        shown = client_as(cast.auditor).get(TRUST).json()
        assert (shown["agreed_in_sight"]["part"], shown["agreed_in_sight"]["whole"]) == (1, 1)
        assert shown["agreed_in_sight"]["share"] == 1.0
        assert shown["agreed_blind"] == {"part": 0, "whole": 0, "share": None, "low": None, "high": None}
        (month,) = shown["runs_with_evidence_added"]
        assert (month["month"], month["part"], month["whole"]) == (f"{timezone.now():%Y-%m}", 0, 1)
        assert shown["agreed_by_time"] == shown["evidence_among_discarded"] == shown["models"] == []

    def test_what_is_lost_unseen_what_ships_and_what_was_promised(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        a_bar_in_use(scene, cast.admin)
        (approved,) = scene.run.reviews.all()

        shown = client_as(cast.auditor).get(TRUST).json()

        lost = shown["lost_unseen"]
        is_evidence = approved.role in ("primary", "supporting")
        assert (lost["questions"]["part"], lost["questions"]["whole"]) == (0, int(is_evidence))
        assert lost["bound"] is None, "one question is too few to promise anything"
        assert shown["promised_as_shipped"] == {"share": SHIPPED_LOSS, "cards": SHIPPED_CARDS}
        assert shown["promised_here"] == [
            {"decides": "discard", "promised": 0.1, "cards": 6.0, "questions": 9}
        ]

    def test_times_come_with_their_bounds(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        first, second = scene.run.candidates.filter(verdict__role__isnull=False, reviews__isnull=True)[:2]
        decide(first, cast.reviewer, role=first.verdict.role, seconds=5)
        decide(second, cast.reviewer, role=role_other_than(second.verdict.role), seconds=500)
        groups = client_as(cast.admin).get(TRUST).json()["agreed_by_time"]
        assert [(row["under"], row["part"], row["whole"]) for row in groups] == [(10, 1, 1), (None, 0, 1)]

    def test_for_those_who_answer_for_the_verdicts(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        for name in ("reviewer", "admin", "auditor"):
            assert client_as(getattr(cast, name)).get(TRUST).status_code == 200
        for name in ("analyst", "annotator", "outsider", "staff"):
            answer = client_as(getattr(cast, name)).get(TRUST)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")

    def test_few_queries(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        assert queries_of(client_as(cast.admin), TRUST) <= 14


class TestCosts:
    def test_a_month_with_its_rows(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        call(scene.run)
        call(scene.run, outcome="timeout", cost=Decimal("0.25"))
        outside_a_run(call(scene.run), collection=cast.beta)
        shown = client_as(cast.auditor).get(COSTS, {"month": f"{timezone.now():%Y-%m}"}).json()
        assert shown == client_as(cast.auditor).get(COSTS).json()
        assert shown["month"] == f"{timezone.now():%Y-%m}"
        described = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text("utf-8"))
        month = described["components"]["schemas"]["Costs"]["properties"]["month"]
        assert "format" not in month, "a month is no date"
        assert re.search(month["pattern"], shown["month"])
        (row,) = shown["rows"]
        assert (row["collection_id"], row["collection"]) == (cast.alpha.pk, "alpha")
        assert (row["strategy"], row["model"], row["step"]) == (scene.run.strategy, "m", "arbitrate")
        assert (row["calls"], row["failed"], row["cached_tokens"]) == (2, 1, 500)
        assert Decimal(row["cost"]) == Decimal(shown["total"]["cost"]) == Decimal("0.75")

    def test_staff_read_all_of_it_and_no_names(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        call(scene.run)
        outside_a_run(call(scene.run), collection=None)
        rows = client_as(cast.staff).get(COSTS).json()["rows"]
        assert [(row["collection_id"], row["collection"], row["strategy"]) for row in rows] == [
            (cast.alpha.pk, None, scene.run.strategy),
            (None, None, None),
        ]

    def test_another_month_is_empty(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        call(scene.run)
        shown = client_as(cast.auditor).get(COSTS, {"month": "2020-02"}).json()
        assert (shown["month"], shown["rows"], shown["total"]["calls"]) == ("2020-02", [], 0)

    @pytest.mark.parametrize("month", ["2026-13", "november", "2026", "1999-01"])
    def test_nonsense_is_refused(self, month: str, cast: Cast, client_as: ClientAs) -> None:
        answer = client_as(cast.auditor).get(COSTS, {"month": month})
        assert (answer.status_code, list(answer.json()["errors"])) == (400, ["month"])

    def test_who_operates_reads(self, cast: Cast, client_as: ClientAs) -> None:
        for name, status in (("staff", 200), ("auditor", 200), ("admin", 200), ("analyst", 403)):
            assert client_as(getattr(cast, name)).get(COSTS).status_code == status, name
        keys = [
            token_create(actor=cast.admin, name="robot", scopes=scopes, days=1)[1]
            for scopes in (["view", "manage"], ["audit"])
        ]
        answers = [client_as(None).get(COSTS, headers={"Authorization": f"Bearer {key}"}) for key in keys]
        assert [answer.status_code for answer in answers] == [403, 200]

    def test_few_queries(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        for number in range(5):
            call(scene.run, model=f"m{number}")
        assert queries_of(client_as(cast.auditor), COSTS) <= 8


class TestVerification:
    def test_a_whole_chain_and_a_broken_one(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        audit_seal_all()
        seal = AuditSeal.objects.latest("position")
        whole = client_as(cast.auditor).post(VERIFY).json()
        assert (whole["ok"], whole["is_whole_chain"], whole["first_broken"]) == (True, True, None)
        assert (whole["head"], whole["position"], whole["checked"]) == (
            seal.hash,
            seal.position,
            seal.position,
        )
        assert (whole["events"], whole["unsealed"]) == (AuditEvent.objects.count(), 0)

        as_superuser("UPDATE audit_event SET reason = 'x' WHERE id = %s", seal.event_id)
        broken = client_as(cast.auditor).post(VERIFY).json()
        assert (broken["ok"], broken["first_broken"]) == (False, seal.event_id)
        assert "is not the one that was sealed" in broken["problem"]

    def test_of_a_long_chain_the_newest_part_is_read_and_that_is_said(
        self, cast: Cast, client_as: ClientAs, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        audit_seal_all()
        monkeypatch.setattr("workbench.trail.api.VERIFIED_AT_ONCE", 2)
        shown = client_as(cast.auditor).post(VERIFY).json()
        assert (shown["checked"], shown["is_whole_chain"], shown["ok"]) == (2, False, True)
        assert shown["position"] == audit_verify().position

    def test_who_reads_a_trail_asks(self, cast: Cast, client_as: ClientAs) -> None:
        for name in ("staff", "auditor", "admin"):
            assert client_as(getattr(cast, name)).post(VERIFY).status_code == 200, name
        for name in ("analyst", "reviewer", "annotator"):
            assert client_as(getattr(cast, name)).post(VERIFY).status_code == 403, name
        assert client_as(None).post(VERIFY).status_code == 401
        assert client_as(cast.auditor).get(VERIFY).status_code in {404, 405}

    def test_a_token_needs_the_scope(self, cast: Cast, client_as: ClientAs) -> None:
        for scopes, status in ((["view"], 403), (["audit"], 200)):
            _token, key = token_create(actor=cast.auditor, name="robot", scopes=scopes, days=1)
            answer = client_as(None).post(VERIFY, headers={"Authorization": f"Bearer {key}"})
            assert answer.status_code == status
