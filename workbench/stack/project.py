"""The Django project that the stack runs, and the environment its processes get."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from workbench.paths import ROOT, STATIC

from . import bytecode, postgres, valkey
from .home import Home, Secrets
from .ports import ServicePorts
from .processes import Program

#: Questions have processes of their own: whatever is being read, trained or exported, nobody waits for it.
QUESTION_QUEUES, OTHER_QUEUES = "llm", "ingest,default,train"
#: Two files at once (WORKBENCH_INGEST_AT_ONCE), one look at a source (SOURCES_AT_ONCE), and one process that is free
#: for all else.
QUESTION_PROCESSES, OTHER_PROCESSES = 2, 4
#: How much other work steps back from pages and questions where the machine has no core to spare.
OTHER_NICE = 5
#: Measured on two cores with fifty reviewers: see docs/performance.md.
WEB_PROCESSES, WEB_THREADS = 2, 4
WEB_WORKER = "workbench.operations.server.GatheringWorker"
#: Variables of another environment that would mislead ours.
FOREIGN = ("VIRTUAL_ENV", "PYTHONHOME", "DATABASE_URL_FILE", "BROKER_URL_FILE", "SECRET_KEY_FILE")


@dataclass(frozen=True)
class Project:
    """What to start: tests put a small stand-in here."""

    root: Path = ROOT
    manage: tuple[str, ...] = ("-m", "workbench", "manage")
    wsgi: str = "workbench.wsgi:application"
    celery: str = "workbench.celery:app"
    schedule: str = "workbench.schedule:app"
    settings: str = "workbench.settings.dev"
    stack: tuple[str, ...] = ("-m", "workbench.stack")

    @property
    def static(self) -> Path:
        """The product's own static files; those beside a stand-in's packages are its own."""
        return STATIC if self.root == ROOT else self.root / "static"

    def environment(self, home: Home, secrets: Secrets, ports: ServicePorts) -> dict[str, str]:
        """The variables for web, worker, beat and commands: ours, over the caller's own."""
        environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        environment |= {
            "DATABASE_URL": postgres.url(postgres.APP_ROLE, secrets.app_password, ports.postgres),
            "BROKER_URL": valkey.url(secrets.broker_password, ports.valkey),
            "SECRET_KEY": secrets.secret_key,
            "WORKBENCH_HOME": str(home.root),
            "PYTHONUNBUFFERED": "1",
            # psql, pg_dump and pg_restore of the same version as the server.
            "PATH": os.pathsep.join(filter(None, (os.environ.get("PATH"), str(postgres.BINARIES)))),
        }
        if self.settings:
            environment.setdefault("DJANGO_SETTINGS_MODULE", self.settings)
        environment.setdefault("WORKBENCH_MEDIA_ROOT", str(home.files))
        return bytecode.kept(environment, self.root)

    def command(self, home: Home, name: str, *arguments: str, environment: Mapping[str, str]) -> Program:
        """One manage.py command, logged under its own name."""
        return Program(
            name=name,
            argv=(sys.executable, *self.manage, name, *arguments),
            env=environment,
            cwd=self.root,
            log=home.log(name),
            stop=((signal.SIGTERM, 5.0),),
        )

    def web(self, home: Home, environment: Mapping[str, str], *, host: str, port: int) -> Program:
        """The application server: processes, because pages are made by the processor and Python uses one at a time;
        threads, because requests also wait for the database. Loaded before it forks, so that processes share it."""
        shown = f"[{host}]" if ":" in host else host
        arguments = (
            *("--bind", f"{shown}:{port}", "--worker-class", WEB_WORKER, "--preload"),
            *("--workers", os.environ.get("WEB_CONCURRENCY") or str(WEB_PROCESSES)),
            *("--threads", os.environ.get("WEB_THREADS") or str(WEB_THREADS)),
            # Longer than people think: a browser that sends a form on a connection just closed sees an error.
            *("--keep-alive", "75"),
            *("--timeout", "120", "--graceful-timeout", "5", "--no-control-socket"),
        )
        return Program(
            name="web",
            argv=(sys.executable, "-m", "gunicorn", *arguments, self.wsgi),
            env={**environment, **_allowed_hosts(environment, host)},
            cwd=self.root,
            log=home.log("web"),
            stop=((signal.SIGTERM, 8.0),),
        )

    def workers(self, home: Home, environment: Mapping[str, str]) -> tuple[Program, ...]:
        """The Celery workers: one for questions, one for all other work."""
        return (
            self._worker("questions", QUESTION_QUEUES, QUESTION_PROCESSES, home, environment),
            self._worker("worker", OTHER_QUEUES, OTHER_PROCESSES, home, environment, nice=OTHER_NICE),
        )

    def _worker(
        self,
        name: str,
        queues: str,
        processes: int,
        home: Home,
        environment: Mapping[str, str],
        *,
        nice: int = 0,
    ) -> Program:
        """One Celery worker: warm shutdown first, then cold."""
        arguments = (
            *("-n", f"{name}@%h", "-Q", queues, "--concurrency", str(processes)),
            *("--prefetch-multiplier", "1", "--loglevel", "INFO", "--without-gossip", "--without-mingle"),
        )
        return Program(
            name=name,
            argv=(sys.executable, "-m", "celery", "-A", self.celery, "worker", *arguments),
            env=environment,
            cwd=self.root,
            log=home.log(name),
            stop=((signal.SIGTERM, 10.0), (signal.SIGQUIT, 5.0)),
            orphan_signal=signal.SIGQUIT,
            nice=nice,
        )

    def beat(self, home: Home, environment: Mapping[str, str]) -> Program:
        """The scheduler; its memory of past runs is a file in the home."""
        arguments = ("--schedule", str(home.run / "beat"), "--pidfile", "", "--loglevel", "INFO")
        return Program(
            name="beat",
            argv=(sys.executable, "-m", "celery", "-A", self.schedule, "beat", *arguments),
            env=environment,
            cwd=self.root,
            log=home.log("beat"),
            stop=((signal.SIGTERM, 5.0),),
        )


def _allowed_hosts(environment: Mapping[str, str], host: str) -> dict[str, str]:
    """Names the site answers to: loopback, and where it listens wider, this machine's own names."""
    if environment.get("ALLOWED_HOSTS"):
        return {}
    names = ["localhost", "127.0.0.1", "[::1]"]
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - asked for by HOST
        names += [socket.gethostname(), socket.getfqdn(), *_own_addresses()]
    else:
        names.append(f"[{host}]" if ":" in host else host)
    return {"ALLOWED_HOSTS": ",".join(dict.fromkeys(names))}


def _own_addresses() -> list[str]:
    found = []
    with suppress(OSError, psutil.Error):
        for addresses in psutil.net_if_addrs().values():
            found += [entry.address for entry in addresses if entry.family == socket.AF_INET]
    return found
