"""Where buckets and mailboxes may lie: the product's one list of addresses, asked right before each connection."""

from __future__ import annotations

import socket

from django.conf import settings
from django.utils.translation import gettext as _

from workbench.errors import WorkbenchError
from workbench.infra.outbound import AddressRefused, address_allowed, host_allowed


def require_host(host: str, *, scheme: str) -> None:
    """Refuses a host that may not be called now. Raises :class:`WorkbenchError`."""
    allowed = host_allowed(host, scheme=scheme, networks=settings.SOURCE_NETWORKS)
    if allowed is None:
        raise WorkbenchError(
            _("“%(host)s” has no address. Is it spelled correctly?") % {"host": host}, code="host_unknown"
        )
    if not allowed:
        raise WorkbenchError(
            _(
                "This address is not allowed: sources are read from public addresses over TLS, and "
                "otherwise only from the networks named in SOURCE_NETWORKS."
            ),
            code="address_refused",
        )


def checked_connection(host: str, port: int, *, scheme: str, timeout: float) -> socket.socket:
    """A connection to the first address of the host that answers, each asked for before it is connected to.

    Raises :class:`AddressRefused` where one of them may not be called, ``OSError`` where none answers.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_rest, address in found:
        if not address_allowed(str(address[0]), scheme=scheme, networks=settings.SOURCE_NETWORKS):
            raise AddressRefused(host)
    failure = OSError("no address")
    for family, kind, protocol, _name, address in found:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(timeout)
            connection.connect(address)
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure
