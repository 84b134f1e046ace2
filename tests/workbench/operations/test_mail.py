"""Mails hold links that set passwords: production's log never holds a mail."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.core.mail.backends.console import EmailBackend

from workbench.operations import checks
from workbench.settings.mail import CONSOLE, backend_of_production
from workbench.stack.project import ROOT

SMTP = "django.core.mail.backends.smtp.EmailBackend"
SECRET = "https://workbench.example/accounts/password/reset/key/1-abc/"
SEND = (
    "from django.core.mail import send_mail; from django.conf import settings; "
    f"print('sent', send_mail('A new password', '{SECRET}', None, ['ada@example.org']), settings.EMAIL_BACKEND)"
)


class Derived(EmailBackend):
    """The console's under another name."""


def in_production(**variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EMAIL_")}
    return subprocess.run(
        [sys.executable, "-c", f"import django; django.setup(); {SEND}"],
        cwd=ROOT,
        env=kept
        | {
            "DJANGO_SETTINGS_MODULE": "workbench.settings.production",
            "SECRET_KEY": "a-key-of-more-than-fifty-characters-that-nobody-else-has-57",
            "DATABASE_URL": "postgres://nobody@localhost/none",
        }
        | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )


def test_production_without_a_mail_server_prints_no_mail() -> None:
    done = in_production()
    assert (done.returncode, "sent 0 workbench.operations.mail.UnsentMail" in done.stdout) == (0, True), (
        done.stderr
    )
    said = done.stdout + done.stderr
    assert "mail.not_sent" in said
    for word in ("password/reset", "A new password", "ada@example.org"):
        assert word not in said


def test_production_does_not_start_with_the_consoles_backend() -> None:
    done = in_production(EMAIL_BACKEND=CONSOLE)
    assert done.returncode != 0
    assert "Set EMAIL_HOST to a mail server" in done.stderr


def test_another_backend_stays_as_it_was_chosen() -> None:
    assert backend_of_production(SMTP, is_chosen=True) == SMTP
    assert backend_of_production(SMTP, is_chosen=False) == SMTP
    assert backend_of_production(CONSOLE, is_chosen=False) != CONSOLE
    with pytest.raises(ImproperlyConfigured, match="log of production"):
        backend_of_production(CONSOLE, is_chosen=True)


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        (CONSOLE, ["ops.E011"]),
        (f"{__name__}.Derived", ["ops.E011"]),
        (SMTP, []),
        ("workbench.operations.mail.UnsentMail", []),
    ],
)
def test_the_deployment_check_names_a_backend_that_prints(
    backend: str, expected: list[str], settings: Any
) -> None:
    settings.EMAIL_BACKEND = backend
    assert [message.id for message in checks.mail_is_not_printed()] == expected


def test_an_unsent_mail_is_no_failure(settings: Any) -> None:
    settings.EMAIL_BACKEND = "workbench.operations.mail.UnsentMail"
    assert mail.send_mail("A", SECRET, None, ["ada@example.org"]) == 0
    assert mail.get_connection().send_messages([]) == 0
