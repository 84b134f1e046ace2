"""API tokens: shown once, kept as a hash, never more than their owner or their scopes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import queries_of
from tests.workbench.scene import Scene
from workbench.accounts.models import Membership, User
from workbench.accounts.permissions import Permission, administers, has_permission, permissions_in
from workbench.api.models import ApiToken
from workbench.api.tokens import token_create, token_revoke
from workbench.audit.models import AuditEvent
from workbench.documents.models import Collection
from workbench.errors import Conflict, NotAllowed, WorkbenchError

ClientAs = Callable[[User | None], Client]
JSON = "application/json"


def key_of(user: User, *scopes: str, days: int = 30) -> str:
    return token_create(actor=user, name="nightly job", scopes=scopes or ["view"], days=days)[1]


def get(path: str, key: str) -> Any:
    return Client().get(path, headers={"Authorization": f"Bearer {key}"})


def post(path: str, key: str, body: dict[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {key}"}
    return Client().post(path, body, content_type=JSON, headers=headers)


def test_a_program_reads_as_its_owner(cast: Cast, scene: Scene) -> None:
    key = key_of(cast.auditor)
    assert [run["id"] for run in get("/api/v1/runs/", key).json()["results"]].count(scene.run.pk) == 1
    assert get("/api/v1/runs/", key_of(cast.outsider)).json()["results"] == []
    assert ApiToken.objects.get(owner=cast.auditor).last_used_at is not None


def test_the_key_is_nowhere_in_the_database(cast: Cast) -> None:
    key = key_of(cast.auditor)
    token = ApiToken.objects.get()
    assert key not in str(vars(token))
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(after::text, ' ') FROM audit_event")
        assert key not in (cursor.fetchone()[0] or "")


def test_the_trail_names_the_token_of_a_request_and_of_no_other(cast: Cast, scene: Scene) -> None:
    key = key_of(cast.analyst, "view", "ask")
    body = {"collection": "alpha", "text": "Who lifts a hold?", "strategy": "offline", "use_cache": False}
    assert post("/api/v1/questions/", key, body).status_code == 201
    asked = AuditEvent.objects.filter(action="question.asked").latest("pk")
    assert asked.after["api_token"] == ApiToken.objects.get(owner=cast.analyst).pk

    client = Client()
    client.force_login(cast.analyst)
    client.post("/api/v1/questions/", body | {"text": "Who lifts a stay?"}, content_type=JSON)
    later = AuditEvent.objects.filter(action="question.asked").latest("pk")
    assert later.pk > asked.pk
    assert "api_token" not in later.after


def test_a_scope_that_was_not_given_is_refused(cast: Cast, scene: Scene) -> None:
    body = {"collection": "alpha", "text": "Who lifts a hold?", "strategy": "offline"}
    assert post("/api/v1/questions/", key_of(cast.analyst, "view"), body).status_code == 403
    assert post("/api/v1/questions/", key_of(cast.analyst, "view", "ask"), body).status_code == 201


def test_a_scope_gives_nothing_that_the_owner_may_not(cast: Cast, scene: Scene) -> None:
    every = [str(permission) for permission in Permission]
    candidate = scene.run.candidates.filter(reviews__isnull=True).first()
    body = {"candidate": candidate.pk, "action": "unsure"}
    assert post("/api/v1/reviews/", key_of(cast.analyst, *every), body).status_code == 403
    assert post("/api/v1/reviews/", key_of(cast.reviewer, *every), body).status_code == 201


def test_a_role_that_is_taken_away_is_taken_from_the_token(cast: Cast, scene: Scene) -> None:
    key = key_of(cast.auditor)
    Membership.objects.filter(user=cast.auditor).delete()
    assert get(f"/api/v1/runs/{scene.run.pk}/", key).status_code == 404


@pytest.mark.parametrize("permission", list(Permission))
def test_every_check_of_the_product_honours_the_scopes(permission: Permission, cast: Cast) -> None:
    owner = cast.outsider  # holds every role in beta
    owner.token_scopes = frozenset({Permission.VIEW})
    allowed = permission == Permission.VIEW
    assert has_permission(owner, cast.beta, permission) is allowed
    assert (permission in permissions_in(owner, cast.beta)) is allowed
    assert Collection.objects.visible_to(owner, permission).exists() is allowed


def test_no_token_administers_the_installation(cast: Cast) -> None:
    assert administers(cast.staff)
    cast.staff.token_scopes = frozenset(Permission)
    assert not administers(cast.staff)
    with pytest.raises(NotAllowed):
        token_create(actor=cast.staff, name="another", scopes=["view"], days=1)


@pytest.mark.parametrize(
    "change", ["revoked", "expired", "inactive", "wrong", "empty", "two words", "not ascii"]
)
def test_what_opens_nothing(change: str, cast: Cast) -> None:
    key = key_of(cast.auditor)
    token = ApiToken.objects.get()
    past = timezone.now() - timedelta(days=2)
    match change:
        case "revoked":
            token_revoke(actor=cast.auditor, token=token)
        case "expired":
            ApiToken.objects.update(created_at=past, expires_at=past + timedelta(days=1))
        case "inactive":
            User.objects.filter(pk=cast.auditor.pk).update(is_active=False)
        case "wrong":
            key = key[:-1] + ("a" if key[-1] != "a" else "b")
        case "empty":
            key = ""
        case "two words":
            key = f"{key} more"
        case "not ascii":
            key = "wbk_\xe9"
    response = get("/api/v1/runs/", key)
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert response.json()["code"] == "authentication_failed"


def test_a_token_opens_the_api_and_no_page(cast: Cast) -> None:
    assert get("/runs/", key_of(cast.auditor)).status_code == 302


@pytest.mark.parametrize(
    "wrong",
    [{"name": "  "}, {"scopes": []}, {"scopes": ["root"]}, {"days": 0}, {"days": 10**9}],
    ids=str,
)
def test_tokens_that_cannot_be_meant(wrong: dict[str, Any], cast: Cast) -> None:
    with pytest.raises(WorkbenchError):
        token_create(**({"actor": cast.auditor, "name": "x", "scopes": ["view"], "days": 9} | wrong))
    assert not ApiToken.objects.exists()


class TestPage:
    def test_the_key_is_shown_once(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.analyst)
        given = {"name": "nightly job", "scopes": ["view", "ask"], "days": 30}
        answer = client.post("/tokens/", given)
        key = answer.context["key"]
        assert key.encode() in answer.content
        assert "no-store" in answer["Cache-Control"]
        assert get("/api/v1/runs/", key).status_code == 200
        again = client.get("/tokens/").content
        assert key.encode() not in again
        assert key[:12].encode() in again
        event = AuditEvent.objects.get(action="token.created")
        assert event.after["scopes"] == ["ask", "view"]

    def test_it_is_revoked_by_its_owner_alone(self, cast: Cast, client_as: ClientAs) -> None:
        key = key_of(cast.analyst)
        url = f"/tokens/{ApiToken.objects.get().pk}/revoke/"
        assert client_as(cast.admin).post(url).status_code == 404
        client_as(cast.analyst).post(url)
        assert get("/api/v1/runs/", key).status_code == 401
        with pytest.raises(Conflict):
            token_revoke(actor=cast.analyst, token=ApiToken.objects.get())

    def test_few_queries(self, cast: Cast, client_as: ClientAs) -> None:
        for _ in range(5):
            key_of(cast.analyst)
        assert queries_of(client_as(cast.analyst), "/tokens/") <= 15
