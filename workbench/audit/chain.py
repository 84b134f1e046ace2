"""Events as the hash chain sees them: one SQL for the sealer, the verification and the export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db import connection

COLUMNS = (
    "id",
    "created_at",
    "actor_id",
    "actor_name",
    "actor_kind",
    "action",
    "object_type",
    "object_id",
    "collection_id",
    "before",
    "after",
    "reason",
    "request_id",
    "salt",
)
#: ``e`` is the alias of audit_event.
SELECT_EVENT = ", ".join(f'e."{column}"' for column in COLUMNS)

_CHUNK = 2000


def canonical_event(row: tuple[Any, ...]) -> dict[str, Any]:
    """An event as it is hashed and exported, from the columns of ``SELECT_EVENT``."""
    event: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
    event["created_at"] = iso_time(event["created_at"])
    event["before"] = _json(event["before"])
    event["after"] = _json(event["after"])
    event["salt"] = str(event["salt"])
    return event


def iso_time(moment: datetime) -> str:
    """A time in UTC with microseconds: ``2026-01-31T09:30:00.000001Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def stream(sql: str, parameters: list[Any] | None = None) -> Iterator[tuple[Any, ...]]:
    """Rows of a query through a server-side cursor, so that a long trail never fills the memory.

    Needs an open transaction.
    """
    with connection.chunked_cursor() as cursor:
        cursor.execute(sql, parameters or [])
        while rows := cursor.fetchmany(_CHUNK):
            yield from rows


def _json(value: Any) -> Any:
    # The raw cursor gives jsonb as text.
    return json.loads(value) if isinstance(value, str) else value
