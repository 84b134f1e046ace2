"""Thresholds, the stop switch and the budgets by the API."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from arbitration.triage import GateProfile
from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.pages.conftest import queries_of
from workbench.accounts.models import User
from workbench.api.tokens import LONGEST_MANAGE_DAYS, token_create
from workbench.audit.models import AuditEvent
from workbench.collection_settings.models import CollectionGates, GateProposal
from workbench.collection_settings.selectors import gates_of
from workbench.documents.embedding import active_space
from workbench.documents.models import Collection
from workbench.errors import WorkbenchError
from workbench.runs.gateway import llm_control

ClientAs = Callable[[User | None], Client]
THRESHOLDS = "/api/v1/collections/alpha/thresholds/"
MODELS = "/api/v1/language-models/"
BY_HAND = {
    "minimum": 0.2, "verify": 0.3, "accept": 0.6, "gap": 0.3, "keyword": 0.7, "query": 0.65, "alias": 0.85,
    "confident": 0.85,
}  # fmt: skip
BUDGETS = {"run_budget": "0.25", "month_budget": None, "reason": "month end"}


def post(client: Client, path: str, body: dict[str, Any], **headers: str) -> Any:
    return client.post(path, body, content_type="application/json", headers=headers)


def proposal(collection: Collection | None, creator: User) -> GateProposal:
    profile = GateProfile(
        name="calibrated", embedding_space=active_space().name, evidence_lost=0.005, **BY_HAND
    )
    return GateProposal.objects.create(
        collection=collection, space=profile.embedding_space, name=profile.name, evidence_lost=0.005,
        source="labels", questions=100, evidence=120, rejected_share=0.4, accepted_share=0.1,
        created_by=creator, **BY_HAND,
    )  # fmt: skip


class TestThresholds:
    def test_none_are_set_and_nothing_is_rejected(self, cast: Cast, client_as: ClientAs) -> None:
        shown = client_as(cast.auditor).get(THRESHOLDS).json()
        assert (shown["revision"], shown["may_reject"], shown["applied_at"]) == (0, False, None)
        assert shown["space"] == active_space().name

    def test_an_admin_applies_changes_and_removes_them(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.admin)
        body = {"thresholds": BY_HAND, "seen_revision": 0, "reason": "measured"}
        applied = post(client, THRESHOLDS, body)
        assert (applied.status_code, applied.json()["revision"]) == (200, 1)
        assert applied.json()["thresholds"] == BY_HAND
        assert not applied.json()["may_reject"], "what was not measured may not reject"
        assert gates_of(collection=cast.alpha).accept == 0.6
        assert AuditEvent.objects.get(action="thresholds.applied").reason == "measured"

        assert post(client, THRESHOLDS, body).json()["code"] == "conflict"
        removed = post(client, f"{THRESHOLDS}remove/", {"seen_revision": 1, "reason": "no more"})
        assert removed.json()["revision"] == 0
        assert not CollectionGates.objects.exists()

    def test_a_proposal_is_listed_and_applied(self, cast: Cast, client_as: ClientAs) -> None:
        made = proposal(cast.alpha, cast.admin)
        proposal(cast.beta, cast.admin)
        listed = client_as(cast.auditor).get("/api/v1/collections/alpha/threshold-proposals/").json()
        assert [row["id"] for row in listed] == [made.pk]
        assert listed[0]["thresholds"] == BY_HAND
        body = {"proposal": made.pk, "seen_revision": 0, "reason": "calibrated"}
        applied = post(client_as(cast.admin), THRESHOLDS, body).json()
        assert (applied["proposal"], applied["may_reject"]) == (made.pk, True)

    def test_another_collections_proposal_does_not_exist(self, cast: Cast, client_as: ClientAs) -> None:
        body = {"proposal": proposal(cast.beta, cast.admin).pk, "seen_revision": 0, "reason": "calibrated"}
        assert post(client_as(cast.admin), THRESHOLDS, body).status_code == 404
        assert not CollectionGates.objects.exists()

    @pytest.mark.parametrize(
        "changes",
        [
            {"thresholds": BY_HAND | {"accept": 1.5}},
            {"thresholds": BY_HAND | {"verify": 0.7}},
            {"thresholds": {"accept": 0.6}},
            {"reason": ""},
            {"seen_revision": -1},
            {"proposal": 1},
            {"thresholds": BY_HAND | {"gap": "NaN"}},
        ],
    )
    def test_nonsense_is_refused(self, changes: dict[str, Any], cast: Cast, client_as: ClientAs) -> None:
        body = {"thresholds": BY_HAND, "seen_revision": 0, "reason": "measured"} | changes
        answer = post(client_as(cast.admin), THRESHOLDS, body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
        assert not CollectionGates.objects.exists()

    @pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "auditor"])
    def test_no_other_member_changes_them(self, name: str, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(getattr(cast, name))
        body = {"thresholds": BY_HAND, "seen_revision": 0, "reason": "measured"}
        assert post(client, THRESHOLDS, body).status_code == 403
        act = {"seen_revision": 0, "reason": "x"}
        assert post(client, f"{THRESHOLDS}remove/", act).status_code == 403
        for path in (THRESHOLDS, "/api/v1/collections/alpha/threshold-proposals/"):
            assert client.get(path).status_code == (200 if name == "auditor" else 404)

    def test_nobody_elses_collection(self, cast: Cast, client_as: ClientAs) -> None:
        body = {"thresholds": BY_HAND, "seen_revision": 0, "reason": "measured"}
        for person, status in ((cast.outsider, 404), (None, 401)):
            assert client_as(person).get(THRESHOLDS).status_code == status
            assert post(client_as(person), THRESHOLDS, body).status_code == status

    def test_few_queries(self, cast: Cast, client_as: ClientAs) -> None:
        assert queries_of(client_as(cast.auditor), THRESHOLDS) <= 15


class TestAskingAgain:
    """A session shows again who uses it; a token was made by somebody who did."""

    BODY = {"thresholds": BY_HAND, "seen_revision": 0, "reason": "measured"}

    def test_a_session_of_this_morning_is_told_to(
        self, cast: Cast, client_as: ClientAs, settings: Any
    ) -> None:
        settings.ASKS_AGAIN = True
        client = client_as(cast.admin)
        refused = post(client, THRESHOLDS, self.BODY)
        assert (refused.status_code, refused.json()["code"]) == (403, "reauthentication_required")
        assert refused["Content-Type"] == "application/problem+json"
        assert "/accounts/reauthenticate/" in refused.json()["detail"]
        assert not CollectionGates.objects.exists()
        assert client.get(THRESHOLDS).status_code == 200

        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        assert post(client, THRESHOLDS, self.BODY).status_code == 200

    def test_a_login_of_just_now_is_enough(self, cast: Cast, client_as: ClientAs, settings: Any) -> None:
        settings.ASKS_AGAIN = True
        client = client_as(None)
        client.post("/accounts/login/", {"login": cast.admin.email, "password": PASSWORD})
        assert post(client, THRESHOLDS, self.BODY).status_code == 200

    def test_a_program_is_not_asked_and_needs_the_scope(
        self, cast: Cast, client_as: ClientAs, settings: Any
    ) -> None:
        settings.ASKS_AGAIN = True
        keys = [
            token_create(actor=cast.admin, name="robot", scopes=scopes, days=1)[1]
            for scopes in (["view", "audit"], ["view", "manage"])
        ]
        answers = [
            post(client_as(None), THRESHOLDS, self.BODY, Authorization=f"Bearer {key}") for key in keys
        ]
        assert [answer.status_code for answer in answers] == [403, 200]
        assert answers[0].json()["code"] == "not_allowed"
        assert "api_token" in AuditEvent.objects.get(action="thresholds.applied").after

    def test_a_scope_that_manages_ends_sooner(self, cast: Cast) -> None:
        days = LONGEST_MANAGE_DAYS + 1
        with pytest.raises(WorkbenchError, match=str(LONGEST_MANAGE_DAYS)):
            token_create(actor=cast.admin, name="robot", scopes=["view", "manage"], days=days)
        token_create(actor=cast.admin, name="robot", scopes=["view"], days=days)


class TestLanguageModels:
    def test_an_administrator_stops_resumes_and_sets_budgets(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.staff)
        stopped = post(client, f"{MODELS}stop/", {"reason": "the bill"}).json()
        assert (stopped["is_stopped"], stopped["stop_reason"]) == (True, "the bill")
        assert post(client, f"{MODELS}stop/", {"reason": "again"}).status_code == 409
        assert post(client, f"{MODELS}resume/", {"reason": "paid"}).json()["is_stopped"] is False

        changed = post(client, f"{MODELS}budgets/", BUDGETS).json()
        assert (Decimal(changed["run_budget"]), changed["month_budget"]) == (Decimal("0.25"), None)
        assert llm_control().run_budget == Decimal("0.25")
        actions = AuditEvent.objects.filter(action__startswith="llm.").order_by("id")
        assert list(actions.values_list("action", flat=True)) == [
            "llm.stopped", "llm.resumed", "llm.budgets_changed"
        ]  # fmt: skip

    @pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "admin", "auditor", "outsider"])
    def test_nobody_else_changes_anything(self, name: str, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(getattr(cast, name))
        assert post(client, f"{MODELS}stop/", {"reason": "x"}).status_code == 403
        assert post(client, f"{MODELS}resume/", {"reason": "x"}).status_code == 403
        assert post(client, f"{MODELS}budgets/", BUDGETS).status_code == 403
        assert not llm_control().is_stopped
        assert not AuditEvent.objects.filter(action__startswith="llm.").exists()

    def test_no_token_carries_it(self, cast: Cast, client_as: ClientAs) -> None:
        _token, key = token_create(actor=cast.staff, name="robot", scopes=["view", "manage", "audit"], days=1)
        answer = post(client_as(None), f"{MODELS}stop/", {"reason": "x"}, Authorization=f"Bearer {key}")
        assert answer.status_code == 403
        assert not llm_control().is_stopped

    def test_who_operates_reads(self, cast: Cast, client_as: ClientAs) -> None:
        for name, status in (("staff", 200), ("auditor", 200), ("admin", 200), ("analyst", 403)):
            assert client_as(getattr(cast, name)).get(MODELS).status_code == status, name
        assert client_as(None).get(MODELS).status_code == 401

    @pytest.mark.parametrize(
        "changes", [{"run_budget": "-1"}, {"run_budget": "1e9"}, {"month_budget": "lots"}, {"reason": " "}]
    )
    def test_nonsense_is_refused(self, changes: dict[str, Any], cast: Cast, client_as: ClientAs) -> None:
        answer = post(client_as(cast.staff), f"{MODELS}budgets/", BUDGETS | changes)
        assert answer.status_code == 400
        assert llm_control().run_budget == 5

    def test_a_limit_is_taken_away_by_saying_so_not_by_leaving_it_out(
        self, cast: Cast, client_as: ClientAs
    ) -> None:
        answer = post(client_as(cast.staff), f"{MODELS}budgets/", {"run_budget": None, "reason": "x"})
        assert answer.status_code == 400
        assert "month_budget" in answer.json()["errors"]

    def test_a_repeated_request_stops_once(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.staff)
        key = {"Idempotency-Key": "k1"}
        first, second = (post(client, f"{MODELS}stop/", {"reason": "bill"}, **key) for _ in range(2))
        assert (first.status_code, second.status_code) == (200, 200)
        assert AuditEvent.objects.filter(action="llm.stopped").count() == 1
