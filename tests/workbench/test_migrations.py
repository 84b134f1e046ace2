"""New migrations are safe on a live system: while one runs, and until every process is restarted, the version before it
still reads and writes the same tables.

What is not, is changed in two releases (docs/operating.md, "Migrations on a live system"), or stands in ``REVIEWED``
with the reason why it is safe all the same.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.contrib.postgres.operations import (
    AddConstraintNotValid,
    AddIndexConcurrently,
    RemoveIndexConcurrently,
)
from django.core.management import CommandError, call_command
from django.db import connection, migrations, models, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState
from django.db.models.functions import Now

#: Where each app stood before the first release: nobody had people at work on them.
BEFORE_THE_FIRST_RELEASE = {
    "accounts": "0003_user_language",
    "api": "0001_initial",
    "audit": "0001_initial",
    "collection_settings": "0001_initial",
    "documents": "0006_hold_is_closed",
    "exports": "0001_initial",
    "labeling": "0003_supply_and_unclear",
    "models_registry": "0001_initial",
    "question_sets": "0002_round_finished",
    "questions": "0007_llmcall_by_time",
    "review": "0008_waiting_items_covered",
    "vocabulary": "0001_initial",
    "webhooks": "0001_initial",
}
#: ``app.name`` of a migration to the reason why what is found in it harms nobody.
REVIEWED: dict[str, str] = {
    "documents.0008_one_index_per_way": "drops indexes CONCURRENTLY, which waits for others and locks nobody out; "
    "each has another that begins with the same column",
    "accounts.0005_tour_of_those_who_know": "one statement over people, of whom there are thousands at most",
    "audit.0003_functions_name_their_schema": "locks no table; the version before makes no temporary table either",
    "collection_settings.0002_same_question": "updates a few rows a collection in two tables that only admins write",
    "documents.0012_passage_tokens": "changes how a table that it makes is kept",
    "questions.0012_model_prices": "writes one row into a table that it makes",
    "questions.0016_run_follows": "makes its index CONCURRENTLY; the new foreign key is NOT VALID first, and its check "
    "locks nobody out",
    "review.0011_blind_items_are_alike": "locks the rows of blind cards that wait, for the time of one statement; the "
    "version that still runs writes nothing that contradicts it",
}

GONE = (
    migrations.RemoveField,
    migrations.DeleteModel,
    migrations.RenameField,
    migrations.RenameModel,
    migrations.AlterModelTable,
)


def findings(migration: Any, before: ProjectState) -> Iterator[str]:
    """What would lock a table for long, rewrite it, or break the version that still runs."""
    state = before.clone()
    made: set[str] = set()
    for operation in migration.operations:
        table = getattr(operation, "model_name_lower", getattr(operation, "name_lower", ""))
        if isinstance(operation, migrations.CreateModel):
            made.add(operation.name_lower)
        elif table not in made or isinstance(operation, migrations.RunPython | migrations.RunSQL):
            for what in _of_operation(operation, migration.app_label, state):
                yield f"{type(operation).__name__} {table}: {what}".replace(" :", ":")
        operation.state_forwards(migration.app_label, state)


def _of_operation(operation: Any, app: str, state: ProjectState) -> Iterator[str]:
    match operation:
        case AddIndexConcurrently() | RemoveIndexConcurrently() | AddConstraintNotValid():
            return
        case migrations.AddIndex() | migrations.RemoveIndex():
            yield "locks the table; use AddIndexConcurrently and RemoveIndexConcurrently with atomic = False"
        case migrations.AddConstraint():
            yield "reads the whole table under a lock; use AddConstraintNotValid, and ValidateConstraint in the next"
        case migrations.AddField(field=field):
            yield from _of_new_field(field)
        case migrations.AlterField():
            model = state.models[app, operation.model_name_lower]
            yield from _of_changed_field(model.fields[operation.name], operation.field)
        case migrations.RunPython() | migrations.RunSQL():
            yield "look how long it locks what, and say so in REVIEWED"
        case _ if isinstance(operation, GONE):
            yield "the version that still runs uses it; take it away in the release after the last that reads it"


def _of_new_field(field: models.Field[Any, Any]) -> Iterator[str]:
    if field.many_to_many:
        return
    if not field.null and not field.has_db_default():
        yield "the version that still runs leaves it empty; make it nullable or give it a db_default"
    if field.unique or field.db_index:
        yield "makes an index under a lock; add the field without, and the index by AddIndexConcurrently"


def _of_changed_field(old: models.Field[Any, Any], new: models.Field[Any, Any]) -> Iterator[str]:
    types = [field.db_parameters(connection)["type"] for field in (old, new)]
    longer = types[0].startswith("varchar(") and (
        types[1] == "text"
        or (types[1].startswith("varchar(") and (old.max_length or 0) <= (new.max_length or 0))
    )
    if types[0] != types[1] and not longer:
        yield f"{types[0]} becomes {types[1]}, which rewrites the table"
    if old.null and not new.null:
        yield "reads the whole table under a lock; a check that is NOT VALID first does not"
    if (not old.unique and new.unique) or (not old.db_index and new.db_index):
        yield "makes an index under a lock; use AddIndexConcurrently"


@pytest.fixture(scope="module")
def loader() -> MigrationLoader:
    """All migrations, read without a database."""
    return MigrationLoader(None)


def test_new_migrations_are_safe_on_a_live_system(loader: MigrationLoader) -> None:
    found = []
    for app, name in sorted(loader.disk_migrations):
        if not apps.get_app_config(app).name.startswith("workbench."):
            continue
        if name <= BEFORE_THE_FIRST_RELEASE.get(app, "") or f"{app}.{name}" in REVIEWED:
            continue
        before = loader.project_state((app, name), at_end=False)
        found += [f"{app}.{name}: {what}" for what in findings(loader.disk_migrations[app, name], before)]
    assert found == []


def test_rows_that_were_changed_are_checked_before_their_table_is(loader: MigrationLoader) -> None:
    """PostgreSQL changes no table of which a reference is still to be checked; without rows nobody would notice."""
    updates = {
        f"{app}.{name}": operation.sql
        for (app, name), migration in loader.disk_migrations.items()
        for operation in migration.operations
        if isinstance(operation, migrations.RunSQL) and re.match(r"\s*UPDATE ", str(operation.sql))
    }
    assert "review.0005_second_review" in updates
    assert [name for name, sql in updates.items() if "SET CONSTRAINTS ALL IMMEDIATE" not in sql] == []


def test_what_was_reviewed_exists(loader: MigrationLoader) -> None:
    known = {f"{app}.{name}" for app, name in loader.disk_migrations}
    assert set(REVIEWED) <= known
    assert {f"{app}.{name}" for app, name in BEFORE_THE_FIRST_RELEASE.items()} <= known


def checked(*operations: Any) -> list[str]:
    state = ProjectState()
    fields = [
        ("id", models.BigAutoField(primary_key=True)),
        ("name", models.CharField(max_length=20, null=True)),
    ]
    migrations.CreateModel("Thing", fields).state_forwards("audit", state)
    migration = SimpleNamespace(app_label="audit", operations=operations)
    return list(findings(migration, state))


INDEX = models.Index(fields=["name"], name="by_name")
NAMED = models.CheckConstraint(condition=~models.Q(name=""), name="has_a_name")


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddIndex("thing", INDEX),
        migrations.AddConstraint("thing", NAMED),
        migrations.AddField("thing", "size", models.IntegerField(default=0)),
        migrations.AddField("thing", "code", models.CharField(max_length=9, null=True, unique=True)),
        migrations.AddField("thing", "other", models.ForeignKey("audit.Thing", models.PROTECT, null=True)),
        migrations.AlterField("thing", "name", models.IntegerField(null=True)),
        migrations.AlterField("thing", "name", models.CharField(max_length=10, null=True)),
        migrations.AlterField("thing", "name", models.CharField(max_length=20)),
        migrations.AlterField("thing", "name", models.CharField(max_length=20, null=True, db_index=True)),
        migrations.RemoveField("thing", "name"),
        migrations.RenameField("thing", "name", "title"),
        migrations.DeleteModel("Thing"),
        migrations.RunSQL("UPDATE audit_thing SET name = ''"),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_what_harms_a_live_system_is_found(operation: Any) -> None:
    assert len(checked(operation)) == 1


def test_what_harms_nobody_is_not_found() -> None:
    assert not checked(
        AddIndexConcurrently("thing", INDEX),
        AddConstraintNotValid("thing", NAMED),
        migrations.AddField("thing", "size", models.IntegerField(null=True)),
        migrations.AddField("thing", "made_at", models.DateTimeField(db_default=Now())),
        migrations.AlterField(
            "thing", "name", models.CharField(max_length=40, null=True, choices=[("a", "a")])
        ),
        migrations.CreateModel("Other", [("id", models.BigAutoField(primary_key=True))]),
        migrations.AddIndex("other", models.Index(fields=["id"], name="of_other")),
        migrations.AddField("other", "size", models.IntegerField(default=0)),
    )


# --- the command itself -------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_migration_gives_up_rather_than_let_people_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody reads the table of migrations in a long transaction; people who come later are not held up."""
    from workbench.operations.management.commands import migrate

    monkeypatch.setattr(migrate, "MIGRATE_LOCK_SECONDS", 0.05)
    held, done = threading.Event(), threading.Event()

    def reader() -> None:
        try:
            with transaction.atomic():
                connection.cursor().execute("LOCK TABLE django_migrations IN ACCESS EXCLUSIVE MODE")
                held.set()
                done.wait(10)
        finally:
            connection.close()

    thread = threading.Thread(target=reader)
    thread.start()
    assert held.wait(10)
    try:
        with pytest.raises(CommandError, match="Run migrate again"):
            call_command("migrate", verbosity=0)
    finally:
        done.set()
        thread.join()
    assert MigrationRecorder(connection).applied_migrations()
    assert _lock_timeout() == "0"


@pytest.mark.django_db(transaction=True)
def test_what_runs_beside_the_product_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.operations.management.commands import migrate

    seen: list[str] = []

    def execute(sql: str, params: Any, many: bool, context: dict[str, Any]) -> None:
        seen.append(_lock_timeout())

    for sql in ("CREATE INDEX CONCURRENTLY x ON y (z)", "CREATE INDEX x ON y (z)"):
        migrate._patient_where_nobody_waits(execute, sql, None, False, {"connection": connection})
    migrate._limit(connection, "0")
    assert seen == ["0", f"{migrate.MIGRATE_LOCK_SECONDS}s"]


def _lock_timeout() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        return str(cursor.fetchone()[0])
