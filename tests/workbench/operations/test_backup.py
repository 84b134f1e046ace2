"""Backup, wipe, restore: the same rows, the same files, a chain that verifies; and nothing less than that."""

from __future__ import annotations

import gzip
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from tests.workbench.cast import create_cast
from tests.workbench.scene import make_scene
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_seal_all, audit_verify
from workbench.documents.models import Document
from workbench.operations.backup import MANIFEST, Backup, backup_restore, backup_write
from workbench.review.rerun import run_again, runs_compared
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("here")]


def test_what_comes_back_is_what_was_there(tmp_path: Path) -> None:
    make_scene(create_cast())
    made = backup_write(folder=tmp_path / "one")
    document, run = Document.objects.get(), Run.objects.earliest("pk")
    assert made.tables["questions_candidate"].rows > 0
    assert document.file.name in made.files

    wipe()
    assert not Document.objects.exists()
    backup_restore(folder=tmp_path / "one")

    assert Document.objects.get().sha256 == document.sha256
    assert default_storage.open(document.file.name).read().startswith(b"1 Purpose")
    again = backup_write(folder=tmp_path / "two")
    assert differing(made, again) <= {"audit_event", "audit_seal", "documents_collection"}
    assert again.files == made.files
    report = audit_verify(anchors={made.audit_position: made.audit_head})
    assert report.ok
    assert AuditEvent.objects.filter(action="installation.restored").count() == 1
    # The trail is append-only again, and new rows take new keys.
    assert Run.objects.create(**copied(run)).pk > Run.objects.exclude(pk=run.pk).earliest("pk").pk
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        AuditEvent.objects.all()._raw_delete("default")
    assert not (tmp_path / "index").exists()
    replays_as_before(Run.objects.get(pk=run.pk))


def replays_as_before(run: Run) -> None:
    """Asked again of the restored documents, by an index made anew, the question is answered as it was."""
    again = run_again(actor=User.objects.get(email="analyst@example.org"), run=run)
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=again.pk)
    again.refresh_from_db()
    rows = runs_compared(run, again)
    assert rows
    assert not [row for row in rows if row.differs]
    assert again.answers.get().body == run.answers.get().body
    assert audit_verify().ok


def test_it_refuses_to_overwrite_and_says_how(tmp_path: Path) -> None:
    make_scene(create_cast())
    call_command("backup", str(tmp_path / "one"))
    with pytest.raises(CommandError, match="not empty"):
        call_command("backup", str(tmp_path / "one"))
    with pytest.raises(CommandError, match="--replace"):
        call_command("restore", str(tmp_path / "one"))
    document = Document.objects.get()
    stored = Path(default_storage.path(document.file.name))
    content = stored.read_bytes()
    stored.write_bytes(b"x" * len(content))
    call_command("restore", str(tmp_path / "one"), "--replace")
    assert Document.objects.get().pk == document.pk
    assert stored.read_bytes() == content, "a file of the same size is not taken for the same"


@pytest.mark.parametrize("harm", ["row", "file", "missing", "version", "cut"])
def test_a_damaged_backup_changes_nothing(harm: str, tmp_path: Path) -> None:
    make_scene(create_cast())
    folder = tmp_path / "one"
    made = backup_write(folder=folder)
    rows = folder / "tables" / "accounts_user.copy.gz"
    if harm == "row":
        content = gzip.decompress(rows.read_bytes()).replace(b"analyst@", b"anybody@")
        rows.write_bytes(gzip.compress(content))
    elif harm == "file":
        (folder / "files" / next(iter(made.files))).write_bytes(b"other")
    elif harm == "missing":
        rows.unlink()
    elif harm == "cut":
        (folder / MANIFEST).write_text("{", "utf-8")
    else:
        raw = json.loads((folder / MANIFEST).read_text("utf-8"))
        (folder / MANIFEST).write_text(json.dumps(raw | {"migrations": ["documents.0001_initial"]}), "utf-8")
    audit_seal_all()
    events = AuditEvent.objects.count()
    with pytest.raises(CommandError):
        call_command("restore", str(folder), "--replace")
    assert AuditEvent.objects.count() == events
    assert Document.objects.count() == 1
    assert audit_verify().ok


def wipe() -> None:
    """Every table empty, every file gone, as on a new machine."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        names = [name for name in connection.introspection.table_names() if name != "django_migrations"]
        cursor.execute(f"TRUNCATE {', '.join(names)}")
        cursor.execute("SET session_replication_role = origin")
    for name in list(default_storage.listdir("")[0]):
        for file in default_storage.listdir(name)[1]:
            default_storage.delete(f"{name}/{file}")


def differing(one: Backup, other: Backup) -> set[str]:
    """Tables that hold other rows."""
    return {name for name in one.tables if one.tables[name] != other.tables[name]}


def copied(run: Run) -> dict[str, Any]:
    """The fields of a run for a new one."""
    skipped = {"id", "idempotency_key", "public_id"}
    return {
        field.attname: getattr(run, field.attname)
        for field in Run._meta.concrete_fields
        if field.attname not in skipped
    }


def test_a_dated_backup_has_a_folder_of_its_moment_and_old_ones_go(tmp_path: Path) -> None:
    for name, is_whole in (
        ("2026-11-20T020000Z", True),
        ("2026-11-21T020000Z", False),
        ("2026-11-22T020000Z", True),
        ("before the move", True),
    ):
        (tmp_path / name).mkdir()
        if is_whole:
            (tmp_path / name / MANIFEST).write_text("{}")
    (tmp_path / "anchors.jsonl").touch()

    call_command("backup", str(tmp_path), "--dated", "--keep", "2", stdout=StringIO())

    left = sorted(path.name for path in tmp_path.iterdir())
    assert left[0] == "2026-11-22T020000Z"
    assert left[2:] == ["anchors.jsonl", "before the move"]
    assert Backup.read(tmp_path / left[1]).tables


def test_without_a_number_to_keep_nothing_goes(tmp_path: Path) -> None:
    (tmp_path / "2020-11-20T020000Z").mkdir()
    call_command("backup", str(tmp_path), "--dated", stdout=StringIO())
    assert (tmp_path / "2020-11-20T020000Z").is_dir()


@pytest.mark.parametrize("options", [["--keep", "3"], ["--dated", "--keep", "0"]])
def test_a_number_to_keep_that_means_nothing_is_refused(options: list[str], tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--keep"):
        call_command("backup", str(tmp_path / "new"), *options, stdout=StringIO())
    assert not (tmp_path / "new").exists()
