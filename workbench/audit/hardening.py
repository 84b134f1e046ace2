"""What keeps a session of the application from coming between our triggers and the tables that they look at.

A temporary table hides the real one of the same name from every query that does not name a schema. So the application's
role makes none, and every function of ours looks for its tables in its own schema before it looks among the session's.
"""

from __future__ import annotations

from typing import Any

from django.db import connections

from .protection import APPLICATION_ROLE

#: Every function in the schema of the tables that is ours and no extension's. The session's tables come last: a path
#: that does not name them has them first.
FIX_FUNCTIONS = """
DO $$
DECLARE
    one regprocedure;
    path text := 'pg_catalog, ' || quote_ident(current_schema()) || ', pg_temp';
BEGIN
    FOR one IN
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = current_schema()::regnamespace AND p.prokind IN ('f', 'p')
            AND pg_has_role(p.proowner, 'USAGE')
            AND NOT EXISTS (SELECT FROM pg_depend d
                            WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
            AND NOT COALESCE(p.proconfig @> ARRAY['search_path=' || path], false)
    LOOP
        EXECUTE format('ALTER ROUTINE %s SET search_path = %s', one, path);
    END LOOP;
END $$;
"""

#: Only where this connection may: on a server of others their administrator does it (docs/audit.md).
REVOKE_TEMPORARY = f"""
DO $$
DECLARE
    reader text;
BEGIN
    IF (SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database()) THEN
        FOR reader IN SELECT unnest(ARRAY['public', '{APPLICATION_ROLE}']) LOOP
            IF (reader = 'public' OR EXISTS (SELECT FROM pg_roles WHERE rolname = reader))
               AND has_database_privilege(reader, current_database(), 'TEMPORARY') THEN
                EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM %s', current_database(), reader);
            END IF;
        END LOOP;
    END IF;
    IF (SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = current_schema())
       AND has_schema_privilege('public', current_schema(), 'CREATE') THEN
        EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', current_schema());
    END IF;
END $$;
"""  # noqa: S608  (a constant only)


def harden_after_migrate(*, using: str, **_: Any) -> None:
    """Covers functions that later migrations made, and databases that were restored or made by hand."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('audit_event') IS NOT NULL")
        if cursor.fetchone() == (True,):
            cursor.execute(FIX_FUNCTIONS)
            cursor.execute(REVOKE_TEMPORARY)
