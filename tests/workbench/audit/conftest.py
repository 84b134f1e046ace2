"""What tests of the trail do again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.audit.protection import APPLICATION_ROLE, protect_after_migrate
from workbench.audit.services import audit_record, audit_seal_all

Record = Callable[..., AuditEvent]


@pytest.fixture
def actor(db: None) -> User:
    return User.objects.create_user("ada@example.org", name="Ada")


@pytest.fixture
def record(actor: User) -> Record:
    """Records an event in a transaction of its own."""

    def write(action: str = "comment.added", **details: Any) -> AuditEvent:
        with transaction.atomic():
            return audit_record(**{"actor": actor, "action": action, **details})

    return write


@pytest.fixture
def sealed(record: Record) -> list[AuditEvent]:
    """Five events in the chain, positions 1 to 5."""
    events = [record("comment.added", object_type="thing", object_id=number) for number in range(1, 6)]
    assert audit_seal_all() == 5
    return events


def as_superuser(sql: str, *parameters: Any) -> None:
    """Runs a statement with all triggers off, as somebody does who owns the server."""
    with transaction.atomic(), connection.cursor() as cursor:
        # Checks of foreign keys that still wait see the rows as they were.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql, parameters)
        cursor.execute("SET LOCAL session_replication_role = origin")


@pytest.fixture
def application_role(db: None) -> str:
    """The application's role, as the migration leaves it: a member of nothing, the owner of nothing."""
    with connection.cursor() as cursor:
        # Roles belong to the whole server: another test process may make the same one at this moment.
        cursor.execute(
            f"DO $$ BEGIN CREATE ROLE {APPLICATION_ROLE}; "
            "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        )
    protect_after_migrate(using="default")
    return APPLICATION_ROLE
