"""Single sign-on against a provider in this process: who comes in, who does not, and what the provider is asked."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
from workbench.directory.groups import group_role_add
from workbench.people.adapters import SingleSignOnAdapter

ISSUER = "https://idp.example/realms/house"
APPS = ["allauth.socialaccount", "allauth.socialaccount.providers.openid_connect"]
#: As ``workbench/settings/accounts.py`` makes it from the environment.
PROVIDERS = {
    "openid_connect": {
        "APPS": [
            {
                "provider_id": "oidc",
                "name": "House",
                "client_id": "workbench",
                "secret": "between us",
                "settings": {"server_url": ISSUER},
            }
        ],
        "OAUTH_PKCE_ENABLED": True,
    }
}


class Answer:
    """An HTTP answer as the library reads it."""

    status_code = 200
    headers = {"content-type": "application/json"}

    def __init__(self, body: dict[str, Any]) -> None:
        self._body, self.text = body, json.dumps(body)
        self.content = self.text.encode()

    def raise_for_status(self) -> None:
        """Always well."""

    def json(self) -> dict[str, Any]:
        return self._body


class Provider:
    """An OpenID provider: discovery, tokens and who somebody is (OpenID Connect Core 1.0, sections 3.1 and 5.3)."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {}
        self.audience = "workbench"
        self.asked: list[tuple[str, dict[str, str]]] = []

    def __enter__(self) -> Provider:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Nothing is open."""

    def get(self, url: str, **_: Any) -> Answer:
        """Discovery, or the person."""
        if url.endswith("/.well-known/openid-configuration"):
            names = {"token_endpoint": "token", "authorization_endpoint": "auth", "userinfo_endpoint": "me"}
            places = {name: f"{ISSUER}/{path}" for name, path in names.items()}
            return Answer(places | {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"})
        assert url == f"{ISSUER}/me"
        return Answer(self.person)

    def request(self, method: str, url: str, *, data: dict[str, str], **_: Any) -> Answer:
        """A code for tokens."""
        self.asked.append((url, data))
        claims = self.person | {"iss": ISSUER, "aud": self.audience, "exp": time.time() + 60}
        return Answer({"access_token": "a", "id_token": jwt.encode(claims, "k" * 32, algorithm="HS256")})


@pytest.fixture
def provider(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """An installation that was given a provider, and the provider."""
    fake, registered = Provider(), set(admin.site._registry)
    # Providers are looked for once a process: another test may have had it done without this one.
    monkeypatch.setattr(providers.registry, "loaded", False)
    monkeypatch.setattr(providers.registry, "provider_map", OrderedDict())
    monkeypatch.setattr(SingleSignOnAdapter, "get_requests_session", lambda self: fake)
    with override_settings(
        INSTALLED_APPS=[*project.INSTALLED_APPS, *APPS],
        ROOT_URLCONF="tests.workbench.people.sign_on_urls",
        SOCIALACCOUNT_PROVIDERS=PROVIDERS,
    ):
        from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken

        with connection.schema_editor() as editor:
            for model in (SocialApp, SocialAccount, SocialToken):
                editor.create_model(model)
        yield fake
        for model in set(admin.site._registry) - registered:
            admin.site.unregister(model)


def come_back(provider: Provider, **person: Any) -> tuple[Client, Any]:
    """The whole way: to the provider, and back with a code. Gives the browser and the last answer."""
    provider.person = {"sub": "42", "name": "Somebody", **person}
    client = Client()
    assert b"/accounts/oidc/oidc/login/" in client.get("/accounts/login/").content
    away = client.post("/accounts/oidc/oidc/login/")
    assert away["Location"].startswith(f"{ISSUER}/auth?")
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
    assert url == f"{ISSUER}/token"
    assert sent["code_verifier"]
    assert AuditEvent.objects.get(action="account.logged_in").actor == cast.analyst


def test_groups_of_the_provider_are_roles(provider: Provider, cast: Cast) -> None:
    """Those that the collection's admin named; without the claim everything stays as it is."""
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
