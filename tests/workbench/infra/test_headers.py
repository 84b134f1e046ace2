"""Headers that every kind of answer carries under the production settings: pages, API, files, errors, redirects."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from tests.conftest import ROOT
from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.urls import urlpatterns as product_addresses

ClientAs = Callable[[User | None], Client]
HOST = "workbench.example"


def breaks(request: HttpRequest) -> HttpResponse:
    """A view with a fault."""
    raise RuntimeError("a fault")


urlpatterns = [*product_addresses, path("breaks/", breaks)]
#: What is read from the production settings; the rest of them needs servers.
PRODUCTION = ("SECURE_SSL_REDIRECT", "SECURE_PROXY_SSL_HEADER", "SECURE_HSTS_SECONDS", "SESSION_COOKIE_SECURE",
              "CSRF_COOKIE_SECURE", "LANGUAGE_COOKIE_SECURE", "SECURE_HSTS_INCLUDE_SUBDOMAINS",
              "SECURE_HSTS_PRELOAD")  # fmt: skip


@pytest.fixture
def production(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTPS only, one host, and a folder of collected static files."""
    monkeypatch.setenv("SECRET_KEY", "x" * 60)
    monkeypatch.setenv("DATABASE_URL", "postgres://nobody@localhost/none")
    from workbench.settings import production as module

    for name in PRODUCTION:
        setattr(settings, name, getattr(module, name))
    settings.ALLOWED_HOSTS = [HOST]
    settings.ROOT_URLCONF = __name__
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATIC_ROOT.mkdir(exist_ok=True)
    (settings.STATIC_ROOT / "page.css").write_text("p{}", "utf-8")
    return


def assert_guarded(response: Any, what: str) -> None:
    headers = response.headers
    policy = headers.get("Content-Security-Policy", "")
    assert "default-src 'none'" in policy, f"{what}: {policy!r}"
    assert "frame-ancestors 'none'" in policy, what
    assert "unsafe" not in policy, what
    assert headers.get("X-Content-Type-Options") == "nosniff", what
    assert headers.get("X-Frame-Options") == "DENY", what
    assert headers.get("Referrer-Policy") == "same-origin", what
    assert headers.get("Cross-Origin-Opener-Policy") == "same-origin", what
    assert headers.get("Strict-Transport-Security", "").startswith("max-age=31536000"), what
    assert "Server" not in headers, what


def test_every_kind_of_answer(cast: Cast, scene: Scene, client_as: ClientAs, production: None) -> None:
    kinds = {
        "page": ("analyst", "/", 200),
        "page for strangers": (None, "/accounts/login/", 200),
        "fragment": ("analyst", f"/documents/{scene.document.pk}/status/", 200),
        "API": ("analyst", "/api/v1/runs/", 200),
        "API schema": ("analyst", "/api/v1/schema/", 200),
        "API 400": ("analyst", f"/api/v1/runs/{scene.run.pk}/as_of/?at=x", 400),
        "API 401": (None, "/api/v1/runs/", 401),
        "API 404": ("analyst", "/api/v1/runs/999999/", 404),
        "original": ("analyst", f"/documents/{scene.document.pk}/original/", 200),
        "file": ("analyst", f"/runs/{scene.run.pk}/record.json", 200),
        "static file": (None, "/static/page.css", 200),
        "static 404": (None, "/static/nothing.css", 404),
        "redirect": (None, "/runs/", 302),
        "400": ("analyst", "/runs/?q=%00", 400),
        "403": ("analyst", "/operations/", 403),
        "404": ("analyst", "/nowhere/", 404),
        "405": ("analyst", f"/documents/{scene.document.pk}/retry/", 405),
        "500": ("analyst", "/breaks/", 500),
        "health": (None, "/healthz", 200),
        "admin site": (None, "/backdoor/login/", 302),
    }
    for what, (role, address, status) in kinds.items():
        client = client_as(getattr(cast, role) if role else None)
        client.raise_request_exception = False
        response = client.get(address, secure=True, headers={"host": HOST})
        assert response.status_code == status, f"{what}: {response.status_code}"
        assert_guarded(response, what)
        list(response.streaming_content) if response.streaming else None


def test_refused_forms_and_hosts(cast: Cast, production: None) -> None:
    strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
    strict.force_login(cast.analyst)
    refused = strict.post("/ask/", secure=True, headers={"host": HOST})
    assert refused.status_code == 403
    assert_guarded(refused, "CSRF")
    elsewhere = Client(raise_request_exception=False).get("/", secure=True, headers={"host": "evil.example"})
    assert elsewhere.status_code == 400
    assert_guarded(elsewhere, "unknown host")


def test_plain_http_is_led_to_https(production: None) -> None:
    response = Client().get("/accounts/login/", headers={"host": HOST})
    assert response.status_code == 301
    assert response["Location"] == f"https://{HOST}/accounts/login/"
    assert response["X-Frame-Options"] == "DENY"


def test_cookies_are_secure_and_unreadable(cast: Cast, production: None) -> None:
    from tests.workbench.cast import PASSWORD

    client = Client()
    data = {"login": cast.analyst.email, "password": PASSWORD}
    client.post("/accounts/login/", data, secure=True, headers={"host": HOST})
    client.post("/i18n/", {"language": "es", "next": "/"}, secure=True, headers={"host": HOST})
    client.get("/accounts/password/change/", secure=True, headers={"host": HOST})
    assert {"sessionid", "csrftoken", "django_language"} <= set(client.cookies)
    for name, cookie in client.cookies.items():
        if not cookie.value:  # one that is taken away
            continue
        assert cookie["secure"], name
        assert cookie["samesite"] == "Lax", name
        assert cookie["httponly"] or name == "csrftoken", name


def test_the_deployment_check_has_nothing_to_say() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "workbench.settings.production",
            "SECRET_KEY": "a-key-of-more-than-fifty-characters-that-nobody-else-has-57",
            "DATABASE_URL": "postgres://nobody@localhost/none",
            "ALLOWED_HOSTS": HOST,
            "PUBLIC_URL": f"https://{HOST}",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    # What this machine's kernel cannot take from a parser is a hint, and no fault of the settings.
    said = set(re.findall(r"\((\w+\.[A-Z]\d+)\)", done.stdout + done.stderr))
    assert said <= {"documents.I001", "documents.I002", "documents.I003"}
