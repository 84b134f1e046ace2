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
