"""Inside the running PostgreSQL: readiness, roles, the database, the extension, default privileges."""

from __future__ import annotations

import psycopg
from psycopg import sql

from .home import Secrets
from .postgres import APP_ROLE, DATABASE, OWNER_ROLE, SUPERUSER, TEXT_SEARCH, url


def is_ready(port: int, secrets: Secrets) -> bool:
    """Whether the server takes connections."""
    try:
        with psycopg.connect(_superuser_url(port, secrets), connect_timeout=2):
            return True
    except psycopg.OperationalError:
        return False


def ensure_database(port: int, secrets: Secrets, *, for_tests: bool) -> None:
    """Make roles, database, extension and default privileges; does nothing the second time.

    `for_tests` prepares template1 likewise: test databases are copies of it, made by the superuser,
    and the application's role must find there what it finds in the real one.
    """
    with psycopg.connect(_superuser_url(port, secrets), autocommit=True) as connection:
        _ensure_role(connection, OWNER_ROLE, secrets.owner_password)
        _ensure_role(connection, APP_ROLE, secrets.app_password)
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        name, app = sql.Identifier(DATABASE), sql.Identifier(APP_ROLE)
        if not known:
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(name, sql.Identifier(OWNER_ROLE))
            )
        connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name))
        # No temporary tables: one would hide the table of the same name from whoever does not name a schema.
        connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM {}").format(name, app))
        connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(name, app))
    _prepare(_superuser_url(port, secrets, DATABASE), creators=(OWNER_ROLE,))
    if for_tests:
        _prepare(_superuser_url(port, secrets, "template1"), creators=(OWNER_ROLE, SUPERUSER))


def _prepare(address: str, *, creators: tuple[str, ...]) -> None:
    """The extension, and for each creator of tables the default privileges of the application's role."""
    app = sql.Identifier(APP_ROLE)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        if connection.execute(
            "SELECT 1 FROM pg_available_extensions WHERE name = %s", [TEXT_SEARCH]
        ).fetchone():
            connection.execute(
                sql.SQL("CREATE EXTENSION IF NOT EXISTS {}").format(sql.Identifier(TEXT_SEARCH))
            )
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(app))
        for creator in map(sql.Identifier, creators):
            for grant in ("SELECT, INSERT, UPDATE, DELETE ON TABLES", "USAGE, SELECT ON SEQUENCES"):
                connection.execute(
                    sql.SQL("ALTER DEFAULT PRIVILEGES FOR ROLE {} IN SCHEMA public GRANT {} TO {}").format(
                        creator, sql.SQL(grant), app
                    )
                )


def _ensure_role(connection: psycopg.Connection[tuple[object, ...]], name: str, password: str) -> None:
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone()
    connection.execute(
        sql.SQL("{} ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD {}").format(
            sql.SQL("ALTER" if known else "CREATE"), sql.Identifier(name), sql.Literal(password)
        )
    )


def _superuser_url(port: int, secrets: Secrets, database: str = "postgres") -> str:
    return url(SUPERUSER, secrets.superuser_password, port, database)
