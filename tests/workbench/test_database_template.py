"""The test databases are copies of one that was migrated once."""

from __future__ import annotations

import pytest
from django.db import connection

from tests.database_template import ensure_template, template_name

pytestmark = pytest.mark.django_db


def _oid(name: str) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT oid FROM pg_database WHERE datname = %s AND NOT datallowconn", [name])
        row = cursor.fetchone()
    return row[0] if row else None


def test_this_database_was_copied_from_the_template() -> None:
    assert connection.settings_dict["TEST"]["TEMPLATE"] == template_name()
    assert _oid(template_name()), "the template is there, and closed to connections"


def test_a_template_that_is_there_is_taken_as_it_is() -> None:
    names = connection.settings_dict["NAME"], connection.settings_dict["TEST"]["NAME"]
    before = _oid(template_name())

    assert ensure_template(connection) == template_name()

    assert _oid(template_name()) == before
    assert (connection.settings_dict["NAME"], connection.settings_dict["TEST"]["NAME"]) == names


def test_what_an_interrupted_run_left_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "workbench_template_of_a_test"
    monkeypatch.setattr("tests.database_template.template_name", lambda: name)
    monkeypatch.setattr("django.db.backends.base.creation.BaseDatabaseCreation.create_test_db", _only_create)
    # A connection of its own: making a template closes it, and this one holds the test's transaction.
    own = connection.copy()
    with own._nodb_cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}_unfinished"')
        try:
            ensure_template(own)

            assert _oid(name)
            assert _oid(f"{name}_unfinished") is None
        finally:
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}"')
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}_unfinished"')


def _only_create(creation, *, verbosity: int, autoclobber: bool, serialize: bool) -> None:
    """As Django makes a test database, without the migrations."""
    creation._create_test_db(verbosity, autoclobber)
