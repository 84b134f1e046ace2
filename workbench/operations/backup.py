"""The whole installation into a folder, and back: every table by COPY, every file of the store, with their hashes.

A backup is one state: all tables are read in one snapshot of the database. Files never change once written, so they
are copied while the product runs. What is derived (lexical indexes, page images, static files) is left out and made
again. Secrets are left out too: whoever restores brings their own.

    manifest.json        format, time, migrations, tables, sequences, files, head of the audit chain
    tables/NAME.copy.gz  the rows of a table in PostgreSQL's COPY text format
    files/...            the file store as it is
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone
from psycopg import sql

from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.models import AuditSeal
from workbench.audit.services import audit_record, audit_seal_all, audit_verify
from workbench.documents.models import Collection
from workbench.documents.pages import FOLDER as PAGE_IMAGES
from workbench.errors import Conflict, WorkbenchError

FORMAT = 1
MANIFEST = "manifest.json"
#: Logins end with a restore; a request that is repeated after it is carried out; the index of words is derived.
LEFT_OUT = frozenset(
    {
        "django_session",
        "api_idempotentrequest",
        "documents_indexeddocument",
        "documents_indexedtext",
        "documents_indexedpart",
    }
)
_CHUNK = 1024 * 1024
_DATED = "%Y-%m-%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class TableCopy:
    """A table as it was copied; ``sha256`` is of the uncompressed rows."""

    columns: list[str]
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class FileCopy:
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup holds. ``audit_head`` is the last hash of the chain, empty for an empty one."""

    format: int
    made_at: str
    migrations: list[str]
    tables: dict[str, TableCopy]
    sequences: dict[str, list[int | bool]]
    files: dict[str, FileCopy]
    audit_head: str
    audit_position: int

    @classmethod
    def read(cls, folder: Path) -> Backup:
        """The manifest of a backup. Raises :class:`WorkbenchError` for a folder that holds none."""
        try:
            raw = json.loads((folder / MANIFEST).read_text("utf-8"))
            if raw["format"] != FORMAT:
                raise WorkbenchError(f"This backup has format {raw['format']}; this version reads {FORMAT}.")
            tables = {name: TableCopy(**table) for name, table in raw.pop("tables").items()}
            files = {name: FileCopy(**file) for name, file in raw.pop("files").items()}
            return cls(tables=tables, files=files, **raw)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WorkbenchError(f"{folder} holds no whole backup: {error}") from error


def backup_write(*, folder: Path) -> Backup:
    """Writes a backup into a new or empty folder; the manifest last, so that a broken off one is none.

    Raises :class:`Conflict` when the folder holds something.
    """
    if folder.exists() and any(folder.iterdir()):
        raise Conflict(f"{folder} is not empty. Give a new folder for each backup.")
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    audit_seal_all()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        head = AuditSeal.objects.order_by("-position").first()
        tables = {name: _copy_out(name, folder) for name in _tables() if name not in LEFT_OUT}
        sequences, migrations = _sequences(), _migrations()
    made = Backup(
        format=FORMAT,
        made_at=timezone.now().isoformat(),
        migrations=migrations,
        tables=tables,
        sequences=sequences,
        files=_copy_files_out(folder / "files"),
        audit_head=head.hash if head else "",
        audit_position=head.position if head else 0,
    )
    text = json.dumps(asdict(made), indent=1, sort_keys=True)
    (folder / MANIFEST).write_text(text + "\n", "utf-8")
    _record(Action.INSTALLATION_BACKED_UP, made, text)
    return made


def dated(folder: Path) -> Path:
    """A folder for a backup of this moment; names sort by time."""
    return folder / timezone.now().astimezone(UTC).strftime(_DATED)


def prune(folder: Path, *, keep: int) -> list[Path]:
    """Removes the oldest dated backups but for the newest ``keep`` whole ones; what was removed. A backup that broke
    off counts for nothing, and goes once a whole one is newer. Other folders are left alone."""
    found = sorted(path for path in folder.iterdir() if path.is_dir() and _is_dated(path.name))
    whole = [path for path in found if (path / MANIFEST).is_file()]
    kept = set(whole[-keep:])
    gone = [path for path in found if path not in kept and whole and path < whole[-1]]
    for path in gone:
        shutil.rmtree(path)
    return gone


def _is_dated(name: str) -> bool:
    try:
        datetime.strptime(name, _DATED).replace(tzinfo=UTC)
    except ValueError:
        return False
    return True


def backup_restore(*, folder: Path, replace: bool = False) -> Backup:
    """Puts everything back as it was, in one transaction; checks every hash before it ends, and the audit chain after.

    Needs the owner of the tables, since the trail's triggers are off while its rows are written. Raises
    :class:`Conflict` when the database holds documents already and ``replace`` is not given, or when the backup was
    made by another version; :class:`WorkbenchError` for a damaged backup.
    """
    made = Backup.read(folder)
    _check_files(made, folder)
    call_command("migrate", verbosity=0, interactive=False)
    if made.migrations != _migrations():
        raise Conflict(
            "This backup was made by another version of the product. Restore it with that version, then update."
        )
    if not replace and _count("documents_document"):
        raise Conflict(
            "There are documents here already. Use an empty installation, or --replace to lose them."
        )
    with transaction.atomic():
        _load(made, folder)
    _copy_files_in(made, folder / "files")
    shutil.rmtree(Path(settings.WORKBENCH_HOME) / "index", ignore_errors=True)
    _record(Action.INSTALLATION_RESTORED, made, (folder / MANIFEST).read_text("utf-8"))
    audit_seal_all()
    report = audit_verify(anchors={made.audit_position: made.audit_head} if made.audit_head else {})
    if not report.ok:
        raise WorkbenchError(f"The audit trail of this backup is broken: {report.problem}.")
    return made


def _record(action: str, made: Backup, manifest: str) -> None:
    with transaction.atomic():
        audit_record(
            actor=User.objects.system(),
            action=action,
            object_type="backup",
            object_id=hashlib.sha256(manifest.encode()).hexdigest(),
            after={
                "made_at": made.made_at,
                "rows": sum(table.rows for table in made.tables.values()),
                "files": len(made.files),
                "audit_head": made.audit_head,
                "audit_position": made.audit_position,
            },
        )


# --- tables -------------------------------------------------------------------------------------------------


def _tables() -> list[str]:
    return _names("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")


def _columns(table: str) -> list[str]:
    return _names(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s"
        " AND is_generated = 'NEVER' ORDER BY ordinal_position",
        table,
    )


def _names(query: str, *values: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return [row[0] for row in cursor.fetchall()]


def _migrations() -> list[str]:
    return _names("SELECT app || '.' || name FROM django_migrations ORDER BY 1")


def _sequences() -> dict[str, list[int | bool]]:
    """Name to last value, and whether it was used."""
    names = _names("SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1")
    with connection.cursor() as cursor:
        found: dict[str, list[int | bool]] = {}
        for name in names:
            cursor.execute(sql.SQL("SELECT last_value, is_called FROM {}").format(sql.Identifier(name)))
            found[name] = list(cursor.fetchone())
    return found


def _count(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
        return int(cursor.fetchone()[0])


def _statement(words: str, table: str, columns: list[str]) -> sql.Composed:
    return sql.SQL(words).format(sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns)))


def _rows_file(folder: Path, table: str) -> Path:
    return folder / "tables" / f"{table}.copy.gz"


def _copy_out(table: str, folder: Path) -> TableCopy:
    columns, digest = _columns(table), hashlib.sha256()
    rows = 0
    with (
        gzip.open(_rows_file(folder, table), "wb", compresslevel=3) as file,
        connection.cursor() as cursor,
        # In the order of the first column, which is the key: equal tables give equal files.
        cursor.copy(_statement("COPY (SELECT {1} FROM {0} ORDER BY 1) TO STDOUT", table, columns)) as copy,
    ):
        for block in copy:
            content = bytes(block)
            digest.update(content)
            rows += content.count(b"\n")
            file.write(content)
    return TableCopy(columns, rows, digest.hexdigest())


def _load(made: Backup, folder: Path) -> None:
    """Empties every table and fills it again, our triggers off meanwhile; foreign keys are checked at the end."""
    names = _tables()
    if missing := set(made.tables) - set(names):
        raise Conflict(f"These tables are not in the database: {', '.join(sorted(missing))}.")
    epoch = max(Collection.objects.values_list("index_epoch", flat=True), default=0)
    guarded = _names(_GUARDED)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for name in guarded:
            cursor.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(sql.Identifier(name)))
        cursor.execute(sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(map(sql.Identifier, names))))
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        for name, table in made.tables.items():
            _copy_in(cursor, name, table, folder)
        for name, (last, used) in made.sequences.items():
            cursor.execute("SELECT setval(%s, %s, %s)", [f'public."{name}"', last, used])
        # A worker that kept its index in memory must not take it for one of the restored state.
        cursor.execute("UPDATE documents_collection SET index_epoch = greatest(index_epoch, %s) + 1", [epoch])
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for name in guarded:
            cursor.execute(sql.SQL("ALTER TABLE {} ENABLE TRIGGER USER").format(sql.Identifier(name)))


#: Tables with triggers of ours. On a table that a cluster has spread Citus refuses to name any.
_GUARDED = """
    SELECT DISTINCT c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND NOT t.tgisinternal ORDER BY 1
"""


def _copy_in(cursor: Any, name: str, table: TableCopy, folder: Path) -> None:
    digest = hashlib.sha256()
    statement = _statement("COPY {} ({}) FROM STDIN", name, table.columns)
    with gzip.open(_rows_file(folder, name), "rb") as file, cursor.copy(statement) as copy:
        while block := file.read(_CHUNK):
            digest.update(block)
            copy.write(block)
    if digest.hexdigest() != table.sha256 or _count(name) != table.rows:
        raise WorkbenchError(f"The rows of {name} are not those that were backed up.")


# --- files --------------------------------------------------------------------------------------------------


def _stored(folder: str = "") -> Iterator[str]:
    """Every name in the file store."""
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:  # nothing was stored yet
        return
    prefix = f"{folder}/" if folder else ""
    for name in sorted(files):
        yield prefix + name
    for name in sorted(folders):
        if prefix + name != PAGE_IMAGES:  # made again when somebody looks
            yield from _stored(prefix + name)


def _copy_files_out(target: Path) -> dict[str, FileCopy]:
    copies = {}
    for name in _stored():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with default_storage.open(name, "rb") as source, path.open("wb") as copy:
            copies[name] = _copied(source, copy)
    return copies


def _copied(source: Any, copy: Any) -> FileCopy:
    digest, size = hashlib.sha256(), 0
    while block := source.read(_CHUNK):
        digest.update(block)
        size += len(block)
        copy.write(block)
    return FileCopy(size, digest.hexdigest())


def _check_files(made: Backup, folder: Path) -> None:
    """Before anything is touched: every file and table of the backup is there, every file as it was."""
    for name in made.tables:
        if not _rows_file(folder, name).is_file():
            raise WorkbenchError(f"The backup is not whole: tables/{name}.copy.gz is missing.")
    for name, copy in made.files.items():
        path = folder / "files" / name
        if not path.resolve().is_relative_to((folder / "files").resolve()) or not path.is_file():
            raise WorkbenchError(f"The backup is not whole: files/{name} is missing.")
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != copy.sha256:
                raise WorkbenchError(f"The backup is damaged: files/{name} is not what was backed up.")


def _copy_files_in(made: Backup, folder: Path) -> None:
    for name, copy in made.files.items():
        if default_storage.exists(name):
            if _is_stored(name, copy):
                continue
            default_storage.delete(name)
        with (folder / name).open("rb") as file:
            default_storage.save(name, File(file))


def _is_stored(name: str, copy: FileCopy) -> bool:
    """Whether the store holds these bytes under the name: a file harmed on disk keeps its name and often its size."""
    if default_storage.size(name) != copy.size:
        return False
    digest = hashlib.sha256()
    with default_storage.open(name, "rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest() == copy.sha256
