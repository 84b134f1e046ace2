"""What happens at the door is on record: logins, logouts, failures, changed passwords."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client, TestCase
from django.urls import reverse

from arbitration.strategies.multi_criteria import DEFAULT_WEIGHT
from arbitration.strategies.rubrics import PROPERTIES
from tests.conftest import ROOT
from tests.workbench.cast import PASSWORD, Cast
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.errors import NotAllowed
from workbench.people.services import second_factor_remove

ClientAs = Callable[[object], Client]


def events(action: str) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(action=action).order_by("pk"))


def log_in(client: Client, email: str, password: str) -> int:
    return client.post(reverse("account_login"), {"login": email, "password": password}).status_code


def test_login_and_logout(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(None)
    assert log_in(client, cast.analyst.email, PASSWORD) == 302
    client.post(reverse("account_logout"))
    (came,), (left,) = events("account.logged_in"), events("account.logged_out")
    for event in (came, left):
        assert (event.actor, event.actor_kind) == (cast.analyst, "person")
        assert (event.object_type, event.object_id) == ("user", str(cast.analyst.pk))
        assert event.after == {"address": "127.0.0.1"}
        assert event.collection_id is None


def test_a_failed_login_names_the_account_and_not_what_was_typed(cast: Cast, client_as: ClientAs) -> None:
    assert log_in(client_as(None), cast.analyst.email.upper(), "my-other-secret") == 200
    (event,) = events("account.login_failed")
    assert (event.actor, event.actor_name, event.actor_kind) == (None, "anonymous", "person")
    assert (event.object_type, event.object_id) == ("user", str(cast.analyst.pk))
    assert "secret" not in str(event.__dict__)


def test_a_failed_login_of_nobody_keeps_nothing_typed(cast: Cast, client_as: ClientAs) -> None:
    log_in(client_as(None), "typed-my-password@example.org", "whatever")
    (event,) = events("account.login_failed")
    assert (event.object_type, event.object_id) == ("", "")
    assert "typed" not in str(event.__dict__)


def test_a_changed_password(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(None)
    log_in(client, cast.analyst.email, PASSWORD)
    fresh = "another-horse-battery-staple"
    data = {"oldpassword": PASSWORD, "password1": fresh, "password2": fresh}
    client.post(reverse("account_change_password"), data)
    (event,) = events("account.password_changed")
    assert event.actor == cast.analyst
    assert "horse" not in str(event.__dict__)


@pytest.mark.django_db
def test_nobody_signs_up(client_as: ClientAs) -> None:
    page = client_as(None).get(reverse("account_signup"))
    assert b"password1" not in page.content


def test_links_in_mails_begin_with_the_public_address(
    cast: Cast, settings: Any, client_as: ClientAs, mailoutbox: list[Any]
) -> None:
    """Whatever host the request named: a mail must not lead to a host of the sender's choice."""
    settings.PUBLIC_URL = "https://workbench.example"
    client_as(None).post("/accounts/password/reset/", {"email": cast.analyst.email}, headers={"host": "evil"})
    form = {"email": "new@example.org", "role": "analyst"}
    people = client_as(cast.admin)
    with TestCase.captureOnCommitCallbacks(execute=True):
        people.post("/collections/alpha/people/invite/", form, headers={"host": "evil"})
    assert len(mailoutbox) == 2
    for message in mailoutbox:
        assert "https://workbench.example/accounts/password/reset/key/" in message.body
        assert "evil" not in message.body


class TestIdleLock:
    def test_a_session_ends_when_nobody_acts(self, cast: Cast, client_as: ClientAs, settings: Any) -> None:
        client = client_as(cast.analyst)
        assert client.get("/").status_code == 200
        pass_seconds(client, settings.SESSION_IDLE_SECONDS + 5)
        assert client.get("/").status_code == 302
        assert client.get("/runs/").status_code == 302

    def test_acts_keep_it_alive_and_polls_do_not(
        self, cast: Cast, client_as: ClientAs, settings: Any
    ) -> None:
        settings.SESSION_IDLE_SECONDS = 600
        client = client_as(cast.analyst)
        client.get("/")
        for _ in range(4):
            pass_seconds(client, 300)
            assert client.get("/runs/").status_code == 200
        for _ in range(2):
            pass_seconds(client, 301)
            polled = client.get("/runs/", headers={"HX-Request": "true"})
        assert (polled.status_code, polled["HX-Redirect"][:16]) == (204, "/accounts/login/")


def pass_seconds(client: Client, seconds: float) -> None:
    """As if the person had been away."""
    session = client.session
    session["acted_at"] -= seconds
    session.save()


#: Acts of an administrator, with what they send.
ACTS = {
    "/collections/alpha/people/invite/": {"email": "new@example.org", "role": "analyst"},
    "/collections/alpha/settings/change/": {"description": "Other words."}
    | dict.fromkeys(PROPERTIES, DEFAULT_WEIGHT),
    "/collections/alpha/review/": {"blind_share": "0.3", "second_share": "0.1"},
    "/tokens/": {"name": "job", "scopes": ["view"], "days": 3},
}


@pytest.mark.parametrize("address", ACTS)
def test_acts_of_an_administrator_ask_again(
    address: str, cast: Cast, client_as: ClientAs, settings: Any
) -> None:
    """After a while the password is asked once more; with it the act that waited is carried out."""
    settings.ASKS_AGAIN = True
    client = client_as(None)
    assert log_in(client, cast.admin.email, PASSWORD) == 302
    age_the_login(client, settings.ACCOUNT_REAUTHENTICATION_TIMEOUT + 5)
    assert client.get("/collections/alpha/people/").status_code == 200

    before = AuditEvent.objects.count()
    asked = client.post(address, ACTS[address])
    assert asked.status_code == 302
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    assert AuditEvent.objects.count() == before

    wrong = client.post(asked["Location"], {"password": "wrong"})
    assert wrong.status_code == 200
    assert not AuditEvent.objects.filter(action__in=["membership.granted", "token.created"]).exists()
    client.post(asked["Location"], {"password": PASSWORD}, follow=True)
    again = client.post(address, ACTS[address])
    assert again.status_code in {200, 302}
    assert AuditEvent.objects.count() > before


def test_a_login_of_just_now_is_not_asked_again(cast: Cast, client_as: ClientAs, settings: Any) -> None:
    settings.ASKS_AGAIN = True
    client = client_as(None)
    assert log_in(client, cast.admin.email, PASSWORD) == 302
    before = AuditEvent.objects.count()
    done = client.post("/collections/alpha/settings/change/", ACTS["/collections/alpha/settings/change/"])
    assert not done.headers.get("Location", "").startswith("/accounts/reauthenticate/")
    assert AuditEvent.objects.count() > before


def age_the_login(client: Client, seconds: float) -> None:
    """As if it had been longer ago."""
    session = client.session
    session["account_authentication_methods"] = [
        method | {"at": method["at"] - seconds} for method in session["account_authentication_methods"]
    ]
    session.save()


def test_the_admin_site_is_entered_by_the_same_door(cast: Cast, client_as: ClientAs) -> None:
    """Its own login page knows no second factor; it is not reachable."""
    client = client_as(None)
    data = {"username": cast.staff.email, "password": PASSWORD}
    for answer in (
        client.get("/backdoor/login/"),
        client.post("/backdoor/login/", data),
        client.get("/backdoor/"),
    ):
        assert answer.status_code == 302
    assert client.get("/backdoor/login/")["Location"].startswith("/accounts/login/")
    assert "_auth_user_id" not in client.session
    assert client_as(cast.analyst).get("/backdoor/login/").status_code == 403


def test_an_address_changes_after_asking_again_and_by_a_link_to_the_new_one(
    cast: Cast, client_as: ClientAs, settings: Any, mailoutbox: list[Any]
) -> None:
    """Whoever sits down at an open session cannot turn the account into theirs."""
    settings.PUBLIC_URL = "https://workbench.example"
    client, new = client_as(None), {"email": "renamed@example.org", "action_add": ""}
    log_in(client, cast.analyst.email, PASSWORD)
    asked = client.post("/accounts/email/", new)
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    assert mailoutbox == []
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    client.post("/accounts/email/", new, headers={"host": "evil"})
    (message,) = mailoutbox
    assert message.to == ["renamed@example.org"]
    link = re.search(r"https://workbench\.example(/accounts/confirm-email/\S+)", message.body)
    assert link
    assert "evil" not in message.body
    cast.analyst.refresh_from_db()
    assert cast.analyst.email == "analyst@example.org"
    client.post(link[1])
    cast.analyst.refresh_from_db()
    assert cast.analyst.email == "renamed@example.org"
    (changed,) = events("account.email_changed")
    assert changed.actor == cast.analyst
    assert (changed.after["before"], changed.after["email"]) == ("analyst@example.org", "renamed@example.org")
    assert [event.after["email"] for event in events("account.email_confirmed")] == ["renamed@example.org"]


def test_a_superuser_takes_a_lost_second_factor_away_on_record(cast: Cast, client_as: ClientAs) -> None:
    from allauth.mfa.models import Authenticator
    from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret

    lost = TOTP.activate(cast.analyst, generate_totp_secret()).instance
    address = f"/backdoor/mfa/authenticator/{lost.pk}/"
    client_as(cast.staff).post(f"{address}delete/", {"post": "yes"})
    assert Authenticator.objects.exists()
    with pytest.raises(NotAllowed):
        second_factor_remove(actor=cast.admin, authenticator=lost)
    root = User.objects.create_superuser("root@example.org", PASSWORD)
    shown = client_as(root).get(f"{address}change/").content.decode()
    assert lost.data["secret"] not in shown
    client_as(root).post(f"{address}delete/", {"post": "yes"})
    assert not Authenticator.objects.exists()
    event = AuditEvent.objects.get(action="account.authenticator_removed")
    assert (event.actor, event.object_id, event.before) == (root, str(cast.analyst.pk), {"kind": "totp"})


def test_a_copy_of_the_database_holds_no_second_factor(cast: Cast, settings: Any) -> None:
    from allauth.mfa.models import Authenticator
    from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
    from allauth.mfa.totp.internal.auth import (
        TOTP,
        format_hotp_value,
        generate_totp_secret,
        hotp_value,
        yield_hotp_counters_from_time,
    )

    secret = generate_totp_secret()
    factor = TOTP.activate(cast.analyst, secret)
    codes = RecoveryCodes.activate(cast.analyst).get_unused_codes()
    kept = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in kept
    code = format_hotp_value(hotp_value(secret, next(iter(yield_hotp_counters_from_time()))))
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another-key-of-another-installation-of-the-product"
    assert not factor.validate_code(code)
    assert RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).get_unused_codes() != codes
    settings.SECRET_KEY_FALLBACKS = [old]
    assert factor.validate_code(code), "a key that was changed is kept among the fallbacks"


def test_the_admin_site_offers_nothing_that_leaves_no_trace(cast: Cast, client_as: ClientAs) -> None:
    from django.contrib import admin

    assert [model._meta.label for model in admin.site._registry] == ["mfa.Authenticator"]
    answer = client_as(cast.staff).get("/backdoor/password_change/")
    assert answer["Location"] == "/accounts/password/change/"


def test_a_second_factor_stands_before_the_admin_site(cast: Cast, client_as: ClientAs) -> None:
    from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret

    TOTP.activate(cast.staff, generate_totp_secret())
    client = client_as(None)
    answer = client.post(
        "/accounts/login/?next=/backdoor/", {"login": cast.staff.email, "password": PASSWORD}
    )
    assert answer["Location"].startswith("/accounts/2fa/authenticate/")
    assert client.get("/backdoor/").status_code == 302


def test_guesses_are_limited(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(None)
    for _ in range(10):
        log_in(client, cast.analyst.email, "wrong")
    assert log_in(client, cast.analyst.email, PASSWORD) == 200
    assert "_auth_user_id" not in client.session


OPTIONAL = """
import django; django.setup()
from django.conf import settings
from django.urls import reverse
print("webauthn" in settings.MFA_SUPPORTED_TYPES, reverse("mfa_add_webauthn"), end=" ")
print(reverse("openid_connect_login", args=["oidc"]), reverse("saml_login", args=["saml"]), end=" ")
print(*settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]["form-action"][1:])
from django.core.management import call_command
call_command("check", "--deploy", "--fail-level", "WARNING")
"""


def test_passkeys_and_single_sign_on_are_settings() -> None:
    """Off unless wanted; on, their addresses are there and the deployment check has nothing to say."""
    wanted = {
        "DJANGO_SETTINGS_MODULE": "workbench.settings.production",
        "SECRET_KEY": "a-key-of-more-than-fifty-characters-that-nobody-else-has-57",
        "DATABASE_URL": "postgres://nobody@localhost/none",
        "ALLOWED_HOSTS": "workbench.example",
        "WEBAUTHN": "1",
        "OIDC_SERVER_URL": "https://idp.example/realms/house",
        "OIDC_CLIENT_ID": "workbench",
        "OIDC_CLIENT_SECRET": "between us",
        "SAML_SSO_URL": "https://login.example/saml/sso",
        "SAML_ENTITY_ID": "https://login.example/saml",
        "SAML_CERTIFICATE": "MIIC",
    }
    done = subprocess.run(
        [sys.executable, "-c", OPTIONAL],
        cwd=ROOT,
        env=os.environ | wanted,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == (
        "True /accounts/2fa/webauthn/add/ /accounts/oidc/oidc/login/ /accounts/saml/saml/login/"
        " https://idp.example https://login.example"
    )
