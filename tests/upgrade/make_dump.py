"""Makes the installation that ``make upgrade-test`` upgrades: ``python -m tests.upgrade.make_dump``.

It checks the last commit before the apps were split out into a temporary folder, runs that product's own stack there,
lets ``month.py`` live a month in it, and keeps what is left: the database as plain SQL, and the files of its store.
To be run again only when the month changes: what it makes is committed.
"""

from __future__ import annotations

import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from workbench.stack import postgres

#: The last commit before the apps of the product were split and renamed.
COMMIT = "0932dc9"
ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).resolve().parent
DUMP, FILES = FOLDER / "dump.sql.xz", FOLDER / "files.tar.xz"
#: Of the installation that the dump is of: sessions, second factors and webhooks are bound to it.
SECRET_KEY = "of-the-installation-that-is-upgraded-in-tests-and-of-no-other-one"
PASSWORD = "only-for-the-upgraded-demo"
#: What can be made again, or never leaves a backup.
NOT_KEPT = ("pages",)


def main() -> None:
    """Makes both files."""
    with tempfile.TemporaryDirectory(prefix="workbench-old-") as folder:
        old = Path(folder)
        archive = subprocess.run(["git", "archive", COMMIT], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
        (old / "tests" / "upgrade").mkdir()
        for name in ("__init__.py", "month.py", "make_dump.py"):
            shutil.copy(FOLDER / name, old / "tests" / "upgrade" / name)
        environment = {
            **os.environ,
            "PYTHONPATH": folder,
            "SECRET_KEY": SECRET_KEY,
            "WORKBENCH_DEMO_PASSWORD": PASSWORD,
            "UPGRADE_FOLDER": str(FOLDER),
        }
        command = [sys.executable, "-m", "workbench.stack", "exec", "--migrated", "--", sys.executable]
        subprocess.run(
            [*command, "-m", "tests.upgrade.make_dump", "--inside"], cwd=old, env=environment, check=True
        )


def inside() -> None:
    """In the checkout, beside its running services."""
    from tests.upgrade import month

    month.main()
    target = Path(os.environ["UPGRADE_FOLDER"])
    address = os.environ["DATABASE_OWNER_URL"]
    options = ["--no-owner", "--no-privileges", "--no-comments", "--exclude-extension=vector"]
    dumped = subprocess.run(
        [str(postgres.BINARIES / "pg_dump"), *options, address], check=True, capture_output=True
    ).stdout
    (target / DUMP.name).write_bytes(lzma.compress(dumped, preset=9 | lzma.PRESET_EXTREME))
    store = Path(os.environ["WORKBENCH_HOME"]) / "files"
    with tarfile.open(target / FILES.name, "w:xz") as tar:
        for path in sorted(store.rglob("*")):
            if path.is_file() and path.relative_to(store).parts[0] not in NOT_KEPT:
                tar.add(path, arcname=str(path.relative_to(store)))
    report(address)


def report(address: str) -> None:
    """What is in it, and which tables are empty."""
    import psycopg

    with psycopg.connect(address) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        ).fetchall()
        counts = {
            name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for (name,) in tables
        }
    print({name: count for name, count in counts.items() if count})
    print("empty:", ", ".join(name for name, count in counts.items() if not count))


if __name__ == "__main__":
    inside() if "--inside" in sys.argv else main()
