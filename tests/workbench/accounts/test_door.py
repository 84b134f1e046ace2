"""What happens at the door is on record: logins, logouts, failures, changed passwords."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from tests.workbench.cast import PASSWORD, Cast
from workbench.audit.models import AuditEvent

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
