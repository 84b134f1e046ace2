"""One way to the rows of a document: where two indexes lead there, the planner sometimes takes the longer."""

from __future__ import annotations

import pytest
from django.db import connection

BULK = (
    "documents_page",
    "documents_section",
    "documents_line",
    "documents_passage",
    "documents_passagevector",
)
_INDEXES = """
    SELECT k.relname, i.indkey::int2[]::int[], i.indisunique
    FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid
    WHERE i.indrelid = %s::regclass AND i.indpred IS NULL AND i.indexprs IS NULL
"""


@pytest.mark.django_db
@pytest.mark.parametrize("table", BULK)
def test_no_index_of_a_table_written_by_the_million_is_the_beginning_of_another(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES, [table])
        indexes = cursor.fetchall()
    assert len(indexes) >= 2, "the key and what is unique"
    twice = [
        (name, other)
        for name, columns, is_unique in indexes
        for other, longer, _ in indexes
        if name != other and not is_unique and longer[: len(columns)] == columns
    ]
    assert twice == []
