"""What keeps judgments from being changed or lost: triggers and privileges of the database.

Frozen with migration 0001: a change of the triggers is a new migration with SQL of its own.
"""

from __future__ import annotations

from typing import Any

from django.db import connections

from workbench.audit.protection import APPLICATION_ROLE

TABLES = (
    "labeling_label",
    "labeling_labelretraction",
    "labeling_labelimport",
    "labeling_guidelineversion",
    "labeling_questionplace",
)

_REFUSE = """
CREATE FUNCTION labeling_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Labels are append-only: % on % is refused.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege',
              HINT = 'Write a new label, or take the old one back with a retraction.';
END $$;
"""

CREATE_TRIGGERS = _REFUSE + "\n".join(
    f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}\n"
    "    FOR EACH STATEMENT EXECUTE FUNCTION labeling_refuse();"
    for table in TABLES
)

DROP_TRIGGERS = "\n".join(
    [
        *(f"DROP TRIGGER {table}_append_only ON {table};" for table in TABLES),
        "DROP FUNCTION labeling_refuse();",
    ]
)

_REVOKE = f"REVOKE UPDATE, DELETE, TRUNCATE ON {', '.join(TABLES)} FROM {APPLICATION_ROLE};"

PROTECT = f"""
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = '{APPLICATION_ROLE}') THEN
        {_REVOKE}
    END IF;
END $$;
"""


def protect_after_migrate(*, using: str, **_: Any) -> None:
    """Takes the privileges away again after every migration, in case somebody granted them on all tables.

    Leaves tables of another owner alone, and does nothing before the tables are there.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('labeling_label')"
        )
        if cursor.fetchone() == (True,):
            cursor.execute(PROTECT)
