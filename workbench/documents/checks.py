"""System checks of search: the index named by SEARCH_BACKEND must exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import DatabaseError

from .bm25_indexes import indexes_lacking
from .search_backend import is_in_database


@register(Tags.database)
def words_are_in_the_database(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Checks that the word index exists, because otherwise every question would fail."""
    if not is_in_database() or not databases or "default" not in databases:
        return []
    try:
        lacking = indexes_lacking()
    except DatabaseError:  # no tables yet, or no answer: told elsewhere
        return []
    if not lacking:
        return []
    return [
        Error(
            "SEARCH_BACKEND is database, but the database has no index to rank words by.",
            hint="As the owner of the tables run: manage.py search_backend database. Or set SEARCH_BACKEND=embedded.",
            id="documents.E001",
        )
    ]
