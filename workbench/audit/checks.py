"""System checks of the trail: what an operator can get wrong is said at start, with a hint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DatabaseError, connections

from .protection import APPLICATION_ROLE, TABLES


@register(Tags.database)
def trail_is_not_owned(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Warns where the role that serves requests could switch the trail's triggers off."""
    if not databases or "default" not in databases:
        return []
    try:
        powers = _powers()
    except DatabaseError:
        return []
    if not powers:
        return []
    return [
        Warning(
            f"The database role of this connection {' and '.join(powers)}: it could rewrite the audit trail.",
            hint=f"Let web and worker connect as {APPLICATION_ROLE}; keep the owner's role for migrations.",
            id="audit.W001",
        )
    ]


@register(Tags.database)
def nothing_is_shadowed(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Warns where a role that serves requests may make tables of its own beside those that the triggers read."""
    if not databases or "default" not in databases:
        return []
    try:
        found = _shadowing()
    except DatabaseError:
        return []
    return [
        Warning(
            f"The database role {role} may make {what}.",
            hint=f"Run manage.py migrate as the owner of the database, or as its administrator: {statement}",
            id="audit.W002",
        )
        for role, what, statement in found
    ]


def _shadowing() -> list[tuple[str, str, str]]:
    """(role, what it may make, the statement that takes it away); nothing for owners, who need no table for that."""
    with connections["default"].cursor() as cursor:
        cursor.execute(
            """
            SELECT r.rolname, quote_ident(current_database()), quote_ident(current_schema()),
                   has_database_privilege(r.oid, current_database(), 'TEMPORARY'),
                   has_schema_privilege(r.oid, current_schema(), 'CREATE')
              FROM pg_roles r, pg_class t
             WHERE r.rolname IN (current_user, %s) AND t.oid = to_regclass('audit_event')
               AND NOT r.rolsuper AND NOT pg_has_role(r.oid, t.relowner, 'USAGE')
             ORDER BY 1
            """,
            [APPLICATION_ROLE],
        )
        rows = cursor.fetchall()
    found = []
    for role, database, schema, makes_temporary, makes_lasting in rows:
        if makes_temporary:
            revoke = f"REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC, {role};"
            found.append((role, "temporary tables", revoke))
        if makes_lasting:
            revoke = f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC, {role};"
            found.append((role, "tables and functions in the product's schema", revoke))
    return found


def _powers() -> list[str]:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        row = cursor.fetchone()
        is_superuser = bool(row and row[0])
        cursor.execute(
            "SELECT count(*) FROM pg_tables WHERE tablename = ANY(%s) AND tableowner = current_user",
            [list(TABLES)],
        )
        owned = cursor.fetchone()[0]
    powers = ["is a superuser"] if is_superuser else []
    return [*powers, "owns its tables"] if owned else powers
