"""The settings of a collection by the API: how it answers, and what is decided blind or by two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from arbitration.strategies.multi_criteria import DEFAULT_WEIGHT
from arbitration.strategies.rubrics import PROPERTIES
from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.pages.conftest import queries_of
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.audit.models import AuditEvent
from workbench.review.models import ReviewPolicy
from workbench.review.policy import policy_of

ClientAs = Callable[[User | None], Client]
SETTINGS = "/api/v1/collections/alpha/settings/"
SHARES = "/api/v1/collections/alpha/review-shares/"
NEW = {
    "description": "Policies of the bank.",
    "default_strategy": "arbiter",
    "allowed_endpoints": ["https://models.example/v1"],
    "model_endpoint": "",
    "model_name": "",
    "criteria_weights": dict.fromkeys(PROPERTIES, 0.25),
    "contributes_to_training": True,
}
BOTH = {"blind_share": 0.2, "second_share": 0.05}


def post(client: Client, path: str, body: dict[str, Any], **headers: str) -> Any:
    return client.post(path, body, content_type="application/json", headers=headers)


class TestSettings:
    def test_an_auditor_reads_them(self, cast: Cast, client_as: ClientAs) -> None:
        shown = client_as(cast.auditor).get(SETTINGS).json()
        assert shown == {
            "description": "",
            "default_strategy": "",
            "allowed_endpoints": [],
            "model_endpoint": "",
            "model_name": "",
            "criteria_weights": dict.fromkeys(PROPERTIES, DEFAULT_WEIGHT),
            "contributes_to_training": cast.alpha.contributes_to_training,
            "strategy_options": {},
        }

    def test_an_admin_changes_them_on_record(self, cast: Cast, client_as: ClientAs) -> None:
        answer = post(client_as(cast.admin), SETTINGS, NEW)
        assert (answer.status_code, answer.json()) == (200, NEW | {"strategy_options": {}})
        cast.alpha.refresh_from_db()
        assert cast.alpha.default_strategy == "arbiter"
        assert cast.alpha.allowed_endpoints == ["https://models.example/v1"]
        assert AuditEvent.objects.get(action="collection.changed").after["default_strategy"] == "arbiter"
        post(client_as(cast.admin), SETTINGS, NEW)
        assert AuditEvent.objects.filter(action="collection.changed").count() == 1, "nothing changed"

    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            ({"default_strategy": "guess"}, "strategy_unknown"),
            ({"allowed_endpoints": ["ftp://models.example"]}, "bad_endpoint"),
            ({"allowed_endpoints": ["https://models.example"] * 21}, "invalid"),
            ({"allowed_endpoints": "https://models.example"}, "invalid"),
            ({"criteria_weights": {"depth": 1}}, "invalid"),
            ({"criteria_weights": dict.fromkeys(PROPERTIES, 2)}, "invalid"),
            ({"criteria_weights": dict.fromkeys(PROPERTIES, "NaN")}, "invalid"),
            ({"contributes_to_training": None}, "invalid"),
            ({"description": "x" * 2001}, "invalid"),
        ],
    )
    def test_nonsense_is_refused(
        self, changes: dict[str, Any], code: str, cast: Cast, client_as: ClientAs
    ) -> None:
        answer = post(client_as(cast.admin), SETTINGS, NEW | changes)
        assert (answer.status_code, answer.json()["code"]) == (400, code)
        assert not AuditEvent.objects.filter(action="collection.changed").exists()

    @pytest.mark.parametrize("name", [name for name in NEW if not name.startswith("model_")])
    def test_each_value_is_said(self, name: str, cast: Cast, client_as: ClientAs) -> None:
        """A value that was left out would be set back without anybody noticing; the model that is left out stays."""
        body = {key: value for key, value in NEW.items() if key != name}
        answer = post(client_as(cast.admin), SETTINGS, body)
        assert list(answer.json()["errors"]) == [name]

    @pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "auditor"])
    def test_no_other_member_changes_them(self, name: str, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(getattr(cast, name))
        assert post(client, SETTINGS, NEW).status_code == 403
        assert client.get(SETTINGS).status_code == (200 if name == "auditor" else 404)


class TestShares:
    def test_none_is_set(self, cast: Cast, client_as: ClientAs) -> None:
        shown = client_as(cast.admin).get(SHARES).json()
        assert shown == {"blind_share": 0, "second_share": 0, "check_share": 0.1, "changed_at": None}

    def test_an_admin_sets_both_on_record(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.admin)
        answer = post(client, SHARES, BOTH)
        assert answer.status_code == 200
        assert answer.json() == BOTH | {"check_share": 0.1, "changed_at": answer.json()["changed_at"]}
        assert client.get(SHARES).json() == answer.json()
        assert policy_of(collection=cast.alpha).second_share == 0.05
        event = AuditEvent.objects.get(action="review_policy.changed")
        assert (event.actor, event.after) == (cast.admin, BOTH)
        assert post(client, SHARES, BOTH | {"check_share": 0.3}).json()["check_share"] == 0.3
        assert post(client, SHARES, BOTH | {"check_share": 1.3}).status_code == 400
        assert policy_of(collection=cast.alpha).check_share == 0.3

    @pytest.mark.parametrize(
        "changes",
        [{"blind_share": 1.5}, {"second_share": -0.1}, {"blind_share": "NaN"}, {"second_share": None}],
    )
    def test_what_is_no_share_is_refused(
        self, changes: dict[str, Any], cast: Cast, client_as: ClientAs
    ) -> None:
        assert post(client_as(cast.admin), SHARES, BOTH | changes).status_code == 400
        assert not ReviewPolicy.objects.exists()

    @pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "auditor", "outsider"])
    def test_they_are_the_admins(self, name: str, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(getattr(cast, name))
        assert client.get(SHARES).status_code == 404
        assert post(client, SHARES, BOTH).status_code == 404
        assert not ReviewPolicy.objects.exists()


@pytest.mark.parametrize(("path", "body"), [(SETTINGS, NEW), (SHARES, BOTH)])
class TestBoth:
    def test_an_old_session_is_told_to_show_who_it_is(
        self, path: str, body: dict[str, Any], cast: Cast, client_as: ClientAs, settings: Any
    ) -> None:
        settings.ASKS_AGAIN = True
        client = client_as(cast.admin)
        refused = post(client, path, body)
        assert (refused.status_code, refused.json()["code"]) == (403, "reauthentication_required")
        assert client.get(path).status_code == 200
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        assert post(client, path, body).status_code == 200

    def test_a_token_changes_them_with_that_scope_alone(
        self, path: str, body: dict[str, Any], cast: Cast, client: Client
    ) -> None:
        for scope, allowed in (
            (Permission.VIEW, False),
            (Permission.AUDIT, False),
            (Permission.MANAGE, True),
        ):
            _token, key = token_create(actor=cast.admin, name="job", scopes=[scope, Permission.VIEW], days=1)
            answer = post(client, path, body, Authorization=f"Bearer {key}")
            assert (answer.status_code == 200) is allowed, (scope, answer.content)

    def test_few_queries(self, path: str, body: dict[str, Any], cast: Cast, client_as: ClientAs) -> None:
        assert queries_of(client_as(cast.admin), path) <= 12
