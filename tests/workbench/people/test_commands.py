"""``manage.py create_user``."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from tests.workbench.cast import Cast
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.models import AuditEvent
from workbench.people.management.commands.create_user import PASSWORD_VARIABLE

SECRET = "a-long-enough-secret-7"


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, SECRET)


def test_an_account_with_a_role(cast: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_user", "Ada@example.org", "--collection", "alpha", "--role", "reviewer", "--json")
    row = json.loads(capsys.readouterr().out)
    user = User.objects.get(pk=row["id"])
    assert row == {"id": user.pk, "email": "ada@example.org", "name": "ada", "roles": ["reviewer"]}
    assert user.check_password(SECRET)
    assert has_permission(user, cast.alpha, Permission.REVIEW)
    assert set(AuditEvent.objects.values_list("actor_name", flat=True)) == {"system"}


def test_an_unknown_collection_makes_no_account(cast: Cast) -> None:
    with pytest.raises(CommandError, match="no collection 'gamma'") as caught:
        call_command("create_user", "ada@example.org", "--collection", "gamma", "--role", "reviewer")
    assert caught.value.returncode == 1
    assert not User.objects.filter(email="ada@example.org").exists()


def test_a_role_needs_its_collection(cast: Cast) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("create_user", "ada@example.org", "--role", "reviewer")
    assert caught.value.returncode == 2


def test_a_weak_password_is_refused(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, "short")
    with pytest.raises(CommandError, match="too short"):
        call_command("create_user", "ada@example.org")
