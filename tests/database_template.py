"""Test databases are copies of one that was migrated once.

Migrating takes many seconds, copying a fraction of one, and every worker of pytest wants a database of its own. The
first that asks a server for the template makes it while the others wait; it stays, for later runs against the same
server. Its name holds a hash of the migrations, so that an older one is never taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.stack.preparation import migration_fingerprint
from workbench.stack.project import Project

if TYPE_CHECKING:
    from django.db.backends.postgresql.base import DatabaseWrapper

#: Key of the advisory lock under which a template is made.
LOCK = 0x7E3_9A7E


def template_name() -> str:
    """The name of the database that holds what today's migrations make."""
    return f"workbench_template_{migration_fingerprint(Project())[:16]}"


def ensure_template(connection: DatabaseWrapper) -> str:
    """The template's name, once it is there. Needs a connection that may create databases."""
    name = template_name()
    with connection._nodb_cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        try:
            cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
            if cursor.fetchone() is None:
                _make(connection, cursor, name)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
    return name


def _make(connection: DatabaseWrapper, cursor: Any, name: str) -> None:
    # Under another name first: what was interrupted must not look like a template.
    unfinished = f"{name}_unfinished"
    given = connection.settings_dict["NAME"], connection.settings_dict["TEST"]["NAME"]
    connection.settings_dict["TEST"]["NAME"] = unfinished
    try:
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    finally:
        connection.close()
        connection.settings_dict["NAME"], connection.settings_dict["TEST"]["NAME"] = given
    cursor.execute(f'ALTER DATABASE "{unfinished}" RENAME TO "{name}"')
    # A session in it would be in the way of every copy.
    cursor.execute(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS false')
