"""Inside the running PostgreSQL: readiness, roles, the database, the extension, default privileges."""

from __future__ import annotations

import psycopg
from psycopg import sql

from .home import Secrets
from .postgres import APP_ROLE, DATABASE, OWNER_ROLE, SUPERUSER, url


def is_ready(port: int, secrets: Secrets) -> bool:
    """Whether the server takes connections."""
    try:
        with psycopg.connect(_superuser_url(port, secrets), connect_timeout=2):
            return True
    except psycopg.OperationalError:
        return False


def ensure_database(port: int, secrets: Secrets, *, owner_creates_databases: bool) -> None:
    """Make roles, database, extension and default privileges; does nothing the second time.

    template1 gets the extension and the privileges too, so that test databases, which are copies
    of it, need no superuser. `owner_creates_databases` is for those tests.
    """
    with psycopg.connect(_superuser_url(port, secrets), autocommit=True) as connection:
        _ensure_role(connection, OWNER_ROLE, secrets.owner_password, create_databases=owner_creates_databases)
        _ensure_role(connection, APP_ROLE, secrets.app_password, create_databases=False)
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if not known:
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(
                    sql.Identifier(DATABASE), sql.Identifier(OWNER_ROLE)
                )
            )
        name = sql.Identifier(DATABASE)
        connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name))
        connection.execute(
            sql.SQL("GRANT CONNECT, TEMPORARY ON DATABASE {} TO {}").format(name, sql.Identifier(APP_ROLE))
        )
    for database in ("template1", DATABASE):
        with psycopg.connect(_superuser_url(port, secrets, database), autocommit=True) as connection:
            _prepare_database(connection)


def _prepare_database(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    owner, app = sql.Identifier(OWNER_ROLE), sql.Identifier(APP_ROLE)
    connection.execute("SET client_min_messages = warning")
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(app))
    for grant in ("SELECT, INSERT, UPDATE, DELETE ON TABLES", "USAGE, SELECT ON SEQUENCES"):
        connection.execute(
            sql.SQL("ALTER DEFAULT PRIVILEGES FOR ROLE {} IN SCHEMA public GRANT {} TO {}").format(
                owner, sql.SQL(grant), app
            )
        )


def _ensure_role(
    connection: psycopg.Connection[tuple[object, ...]], name: str, password: str, *, create_databases: bool
) -> None:
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone()
    connection.execute(
        sql.SQL("{} ROLE {} LOGIN NOSUPERUSER NOCREATEROLE {} PASSWORD {}").format(
            sql.SQL("ALTER" if known else "CREATE"),
            sql.Identifier(name),
            sql.SQL("CREATEDB" if create_databases else "NOCREATEDB"),
            sql.Literal(password),
        )
    )


def _superuser_url(port: int, secrets: Secrets, database: str = "postgres") -> str:
    return url(SUPERUSER, secrets.superuser_password, port, database)
