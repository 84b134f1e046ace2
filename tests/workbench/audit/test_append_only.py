"""The database refuses to change the trail, whoever asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from tests.workbench.audit.conftest import Record
from workbench.audit.models import AuditEvent, AuditPending, AuditSeal
from workbench.audit.protection import protect_after_migrate
from workbench.audit.services import audit_seal_all

CHANGES = [
    "UPDATE audit_event SET reason = 'changed'",
    "UPDATE audit_event SET reason = 'changed' WHERE false",
    "DELETE FROM audit_event",
    "DELETE FROM audit_event WHERE false",
    "TRUNCATE audit_event CASCADE",
    "UPDATE audit_seal SET hash = 'changed'",
    "UPDATE audit_seal SET hash = 'changed' WHERE false",
    "DELETE FROM audit_seal WHERE false",
    "TRUNCATE audit_seal",
    "UPDATE audit_pending SET event_id = 7 WHERE false",
    "TRUNCATE audit_pending",
]


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        # Foreign keys are checked now: a table with checks to come cannot be truncated, trail or not.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(sql)


@contextmanager
def role(name: str) -> Iterator[None]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {name}")
        yield
        cursor.execute("RESET ROLE")


@pytest.mark.parametrize("sql", CHANGES)
def test_the_owner_is_refused_by_triggers(sql: str, record: Record) -> None:
    record()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        execute(sql)


@pytest.mark.parametrize("sql", CHANGES)
def test_the_application_has_no_privilege(sql: str, record: Record, application_role: str) -> None:
    record()
    with pytest.raises(DatabaseError, match="permission denied"), role(application_role):
        execute(sql)


@pytest.mark.parametrize("sql", CHANGES)
def test_a_careless_grant_does_not_open_the_trail(sql: str, record: Record, application_role: str) -> None:
    record()
    execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {application_role}")
    with pytest.raises(DatabaseError, match="append-only"), role(application_role):
        execute(sql)


def test_the_next_migration_takes_a_careless_grant_back(record: Record, application_role: str) -> None:
    execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {application_role}")
    protect_after_migrate(using="default")
    with pytest.raises(DatabaseError, match="permission denied"), role(application_role):
        AuditEvent.objects.update(reason="changed")


def test_the_application_cannot_switch_the_triggers_off(application_role: str) -> None:
    for sql in (
        "ALTER TABLE audit_event DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
        "DROP TABLE audit_event",
    ):
        with pytest.raises(DatabaseError), role(application_role):
            execute(sql)


def test_the_application_records_and_seals(record: Record, application_role: str) -> None:
    with role(application_role):
        record()
        assert audit_seal_all() == 1
    assert AuditSeal.objects.count() == 1


def test_an_event_cannot_be_kept_from_its_seal(record: Record, application_role: str) -> None:
    record()
    with pytest.raises(DatabaseError, match="has no seal yet"), role(application_role):
        AuditPending.objects.all().delete()


@pytest.mark.parametrize(
    ("position", "prev_hash", "own_hash"),
    [(3, None, None), (1, None, None), (2, "0" * 64, None), (2, None, "f" * 64)],
    ids=["gap", "taken", "wrong predecessor", "wrong hash"],
)
def test_a_seal_must_follow_the_head(
    record: Record, position: int, prev_hash: str | None, own_hash: str | None
) -> None:
    record()
    audit_seal_all()
    head = AuditSeal.objects.get()
    event = record()
    with pytest.raises(DatabaseError, match="Seal"), transaction.atomic():
        AuditSeal.objects.create(
            position=position,
            event=event,
            event_hash="a" * 64,
            prev_hash=prev_hash or head.hash,
            hash=own_hash or "b" * 64,
        )


@pytest.mark.django_db(transaction=True)
def test_a_transactional_test_can_still_be_cleaned_up(record: Record) -> None:
    record()
    audit_seal_all()
    call_command("flush", verbosity=0, interactive=False)
    assert not AuditEvent.objects.exists()
    # And the triggers are on again.
    with pytest.raises(DatabaseError, match="append-only"):
        AuditEvent.objects.update(reason="changed")
