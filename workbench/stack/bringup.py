"""Bringing up PostgreSQL and Valkey under a supervisor."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import database, locks, postgres, valkey
from .console import say
from .errors import StackError
from .home import Home, Secrets
from .ports import ServicePorts, choose_service_ports
from .services import Services
from .signals import Signals
from .state import Mode
from .supervisor import Supervisor

START_SECONDS = 120.0
#: After a crash PostgreSQL first replays its log.
RECOVERY_SECONDS = 120.0
ATTEMPTS = 3


def bring_up(supervisor: Supervisor, *, throwaway: bool = False) -> Services:
    """Start both services, make roles and database, and note the ports.

    Raises StackError when a service fails; a port lost to another program in between is chosen again.
    """
    home = supervisor.home
    secrets = home.secrets()
    if postgres.ensure_cluster(home, secrets):
        home.migrated_stamp.unlink(missing_ok=True)
    supervisor.signals.check()
    postgres.clear_stale_pid_file(home)
    for attempt in range(1, ATTEMPTS + 1):
        ports = choose_service_ports(home)
        try:
            _start(supervisor, secrets, ports, throwaway=throwaway)
            break
        except StackError:
            if attempt == ATTEMPTS or not _lost_a_port(home):
                raise
            say("a port was taken by another program meanwhile; choosing another")
            supervisor.discard("valkey")
            supervisor.discard("postgres")
    database.ensure_database(ports.postgres, secrets, for_tests=throwaway)
    supervisor.note(ports=ports)
    return Services(home, secrets, ports)


def _start(supervisor: Supervisor, secrets: Secrets, ports: ServicePorts, *, throwaway: bool) -> None:
    home = supervisor.home
    server = supervisor.start(postgres.program(home, ports.postgres, throwaway=throwaway))
    broker = supervisor.start(valkey.program(home, secrets, ports.valkey, throwaway=throwaway))
    supervisor.await_ready(broker, lambda: valkey.is_ready(ports.valkey, secrets), seconds=START_SECONDS)
    supervisor.await_ready(
        server, lambda: database.is_ready(ports.postgres, secrets), seconds=RECOVERY_SECONDS
    )


def _lost_a_port(home: Home) -> bool:
    logs = (home.log("postgres"), home.log("valkey"))
    return any(
        "Address already in use" in path.read_text(errors="replace")[-4096:] for path in logs if path.exists()
    )


@contextmanager
def temporary(signals: Signals) -> Iterator[tuple[Supervisor, Services]]:
    """Both services on free ports in a new folder, which is removed with all its content afterwards."""
    with tempfile.TemporaryDirectory(prefix="workbench-", ignore_cleanup_errors=True) as folder:
        home = Home(Path(folder).resolve())
        home.create()
        lock = locks.try_exclusive(home.stack_lock)
        assert lock is not None
        try:
            with Supervisor(
                home=home, mode=Mode.TEMPORARY, state_file=home.stack_state, signals=signals
            ) as supervisor:
                yield supervisor, bring_up(supervisor, throwaway=True)
        finally:
            lock.release()
