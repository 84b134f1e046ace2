"""Loopback ports: which are free, who holds one, and the two that the services used last time."""

from __future__ import annotations

import secrets
import socket
from dataclasses import asdict, dataclass

import psutil

from workbench.paths import RUN

from .errors import StackError
from .home import Home, read_json, write_json

LOOPBACK = "127.0.0.1"
#: The system takes ports of connections from here on (Linux, ``ip_local_port_range``).
_CONNECTIONS_FROM = 32_768
_FIRST, _TRIES = 20_000, 50


@dataclass(frozen=True)
class ServicePorts:
    """The loopback ports of the two services."""

    postgres: int
    valkey: int


def choose_service_ports(home: Home) -> ServicePorts:
    """The ports used last time where they are free, else new ones; remembered in the home."""
    last = read_json(home.ports_file)
    last = last if isinstance(last, dict) else {}
    taken: set[int] = set()
    chosen = {}
    for name in ("postgres", "valkey"):
        port = last.get(name)
        if not isinstance(port, int) or port in taken or not is_free(LOOPBACK, port):
            port = free_port(LOOPBACK)
        taken.add(port)
        chosen[name] = port
    ports = ServicePorts(**chosen)
    write_json(home.ports_file, asdict(ports))
    return ports


def free_port(host: str) -> int:
    """A free port. One from below those that the system gives to connections: a connection could take it before the
    server listens."""
    for _ in range(_TRIES):
        port = _FIRST + secrets.randbelow(_CONNECTIONS_FROM - _FIRST)
        if is_free(host, port):
            return port
    with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        # As servers do: a port whose last connections are still in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except (OSError, OverflowError):
            return False
    return True


def require_free(host: str, port: int) -> None:
    """Refuse an occupied web port with the command that would work."""
    if is_free(host, port):
        return
    try:
        spare = next(number for number in range(port + 1, port + 50) if is_free(host, number))
    except StopIteration:
        spare = free_port(host)
    raise StackError(
        f"port {port} on {host} is occupied{_holder(port)}. "
        f"Stop that program, or choose another port: PORT={spare} {RUN}"
    )


def parse_port(raw: str) -> int:
    """A port number from PORT."""
    if raw.isascii() and raw.isdecimal() and 1 <= int(raw) <= 65535:
        return int(raw)
    raise StackError(f"PORT must be a number from 1 to 65535, not {raw!r}. For example: PORT=8080 {RUN}")


def is_address(host: str) -> bool:
    """Whether this machine can listen at that address."""
    try:
        free_port(host)
    except OSError:
        return False
    return True


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _holder(port: int) -> str:
    try:
        connections = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return ""
    for connection in connections:
        address = tuple(connection.laddr)
        listens = connection.status == psutil.CONN_LISTEN
        if listens and address[1:2] == (port,) and connection.pid:
            try:
                return f" by process {connection.pid} ({psutil.Process(connection.pid).name()})"
            except psutil.Error:
                return f" by process {connection.pid}"
    return ""
