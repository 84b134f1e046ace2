"""The system check says when the trail is not protected."""

from __future__ import annotations

from django.core.checks import run_checks
from django.db import connection, transaction

from workbench.audit.checks import trail_is_not_owned


def test_a_connection_that_could_rewrite_the_trail_is_warned_about(db: None) -> None:
    (warning,) = trail_is_not_owned(databases=["default"])
    assert (warning.id, "workbench_app" in str(warning.hint)) == ("audit.W001", True)
    assert warning in run_checks(databases=["default"])


def test_the_applications_role_is_fine(application_role: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {application_role}")
        assert trail_is_not_owned(databases=["default"]) == []
        cursor.execute("RESET ROLE")


def test_without_a_database_nothing_is_asked() -> None:
    assert trail_is_not_owned(databases=None) == []
