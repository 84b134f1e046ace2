"""Single sign-on against a provider of our own over HTTP: who comes in, who does not, what the provider is asked."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import jwt
import pytest
from allauth.socialaccount import providers
from django.conf import settings as project
from django.contrib import admin
from django.db import connection
from django.test import Client, override_settings

from tests.workbench.cast import Cast
from workbench.accounts.models import Membership, User
from workbench.audit.models import AuditEvent
from workbench.directory.accounts import account_provision, account_withdraw
from workbench.directory.groups import group_role_add

APPS = ["allauth.socialaccount", "allauth.socialaccount.providers.openid_connect"]


def settings_of(issuer: str) -> dict[str, Any]:
    """As ``workbench/settings/accounts.py`` makes them from the environment."""
    app = {"provider_id": "oidc", "name": "House", "client_id": "workbench", "secret": "between us"}
    apps = [app | {"settings": {"server_url": issuer}}]
    return {"openid_connect": {"APPS": apps, "OAUTH_PKCE_ENABLED": True}}


class Provider:
    """An OpenID provider: discovery, tokens and who somebody is (OpenID Connect Core 1.0, sections 3.1 and 5.3)."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {}
        self.audience = "workbench"
        self.asked: list[tuple[str, dict[str, str]]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(provider.read(self.path, self.headers.get("Authorization", "")))

            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self._answer(provider.token(self.path, dict(parse_qsl(sent))))

            def _answer(self, body: dict[str, Any] | None) -> None:
                content = json.dumps(body).encode()
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Nothing is said."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.issuer = f"http://127.0.0.1:{self._server.server_port}/realms/house"

    def __enter__(self) -> Provider:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def read(self, path: str, key: str) -> dict[str, Any] | None:
        """Discovery, or the person to whom the token belongs."""
        if path == "/realms/house/.well-known/openid-configuration":
            names = {"token_endpoint": "token", "authorization_endpoint": "auth", "userinfo_endpoint": "me"}
            places = {name: f"{self.issuer}/{place}" for name, place in names.items()}
            return places | {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys"}
        return self.person if (path, key) == ("/realms/house/me", "Bearer a") else None

    def token(self, path: str, sent: dict[str, str]) -> dict[str, Any] | None:
        """A code for tokens."""
        self.asked.append((path, sent))
        if path != "/realms/house/token":
            return None
        claims = self.person | {"iss": self.issuer, "aud": self.audience, "exp": time.time() + 60}
        return {
            "access_token": "a",
            "token_type": "Bearer",
            "id_token": jwt.encode(claims, "k" * 32, "HS256"),
        }


@pytest.fixture
def provider(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """An installation that was given a provider, and the provider."""
    registered = set(admin.site._registry)
    # Providers are looked for once a process: another test may have had it done without this one.
    monkeypatch.setattr(providers.registry, "loaded", False)
    monkeypatch.setattr(providers.registry, "provider_map", OrderedDict())
    with (
        Provider() as idp,
        override_settings(
            INSTALLED_APPS=[*project.INSTALLED_APPS, *APPS],
            ROOT_URLCONF="tests.workbench.people.sign_on_urls",
            SOCIALACCOUNT_PROVIDERS=settings_of(idp.issuer),
        ),
    ):
        from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken

        with connection.schema_editor() as editor:
            for model in (SocialApp, SocialAccount, SocialToken):
                editor.create_model(model)
        yield idp
        for model in set(admin.site._registry) - registered:
            admin.site.unregister(model)


def come_back(provider: Provider, **person: Any) -> tuple[Client, Any]:
    """The whole way: to the provider, and back with a code. Gives the browser and the last answer."""
    provider.person = {"sub": "42", "name": "Somebody", **person}
    client = Client()
    assert b"/accounts/oidc/oidc/login/" in client.get("/accounts/login/").content
    away = client.post("/accounts/oidc/oidc/login/")
    assert away["Location"].startswith(f"{provider.issuer}/auth?")
    asked = parse_qs(urlsplit(away["Location"]).query)
    assert asked["code_challenge_method"] == ["S256"]
    back = client.get("/accounts/oidc/oidc/login/callback/", {"code": "c", "state": asked["state"][0]})
    return client, back


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_who_has_an_account_comes_in(provider: Provider, cast: Cast) -> None:
    client, _back = come_back(provider, email=cast.analyst.email, email_verified=True)
    assert client.session["_auth_user_id"] == str(cast.analyst.pk)
    ((url, sent),) = provider.asked
    assert url == "/realms/house/token"
    assert sent["code_verifier"]
    assert AuditEvent.objects.get(action="account.logged_in").actor == cast.analyst


def test_a_name_that_is_given_again_opens_the_account_of_now(provider: Provider, cast: Cast) -> None:
    """The provider may know people by a name that it gives again, as a directory does."""
    known = {"email": cast.analyst.email, "email_verified": True}
    come_back(provider, **known)
    account_withdraw(user=cast.analyst)
    assert not is_in(come_back(provider, **known)[0])
    other = account_provision(
        user_name=cast.analyst.email, email="new@example.org", name="Other", external_id="e-2", is_active=True
    )
    client, _back = come_back(provider, email="new@example.org", email_verified=True)
    assert client.session["_auth_user_id"] == str(other.pk) != str(cast.analyst.pk)


def test_groups_of_the_provider_are_roles(provider: Provider, cast: Cast, settings: Any) -> None:
    """Those that the collection's admin named; without the claim everything stays as it is."""
    settings.GROUP_ROLES_OPEN = True
    group_role_add(actor=cast.admin, collection=cast.alpha, group="Legal", role="reviewer")
    known = {"email": cast.analyst.email, "email_verified": True}

    def held() -> set[str]:
        return set(Membership.objects.filter(user=cast.analyst).values_list("role", flat=True))

    with override_settings(OIDC_GROUPS_CLAIM="groups"):
        come_back(provider, **known, groups=["Legal", "Everybody", 7])
        assert held() == {"analyst", "reviewer"}
        come_back(provider, **known)
        assert held() == {"analyst", "reviewer"}
        come_back(provider, **known, groups=[])
        assert held() == {"analyst"}
    come_back(provider, **known, groups=["Legal"])
    assert held() == {"analyst"}


def test_nobody_comes_in_by_an_address_that_the_provider_did_not_check(
    provider: Provider, cast: Cast
) -> None:
    client, _back = come_back(provider, email=cast.analyst.email, email_verified=False)
    assert not is_in(client)


def test_no_account_is_made(provider: Provider, cast: Cast) -> None:
    before = User.objects.count()
    client, _back = come_back(provider, email="stranger@example.org", email_verified=True)
    assert not is_in(client)
    assert User.objects.count() == before


def test_a_token_for_somebody_else_opens_nothing(provider: Provider, cast: Cast) -> None:
    provider.audience = "another program"
    client, _back = come_back(provider, email=cast.analyst.email, email_verified=True)
    assert not is_in(client)


def test_an_answer_to_no_question_opens_nothing(provider: Provider, cast: Cast) -> None:
    provider.person = {"sub": "42", "email": cast.analyst.email, "email_verified": True}
    client = Client()
    client.get("/accounts/oidc/oidc/login/callback/", {"code": "c", "state": "made up"})
    assert not is_in(client)
    assert provider.asked == []
