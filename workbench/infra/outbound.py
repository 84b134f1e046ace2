"""Which addresses the product may call on somebody's word (server-side request forgery; trust.md).

A name that a person typed may lead anywhere, so the rule is asked of every numeric address right before it is
connected to (:mod:`arbitration.adapters.http_client`), not once when the name was typed.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from django.conf import settings

from arbitration.adapters.http_client import AddressRule
from arbitration.errors import LLMFailure

Numeric = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: IPv6 addresses that stand for an IPv4 one behind a translator end in it (RFC 6052).
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
#: The only IPv6 addresses that are given out to be reached from anywhere (IANA, IPv6 address space). Site-local
#: fec0::/10, IPv4-compatible ::/96, local and multicast ones lie outside.
_REACHABLE = ipaddress.IPv6Network("2000::/3")
#: What is not for everybody, by the IANA registries of special-purpose addresses; written down, since what Python
#: counts as public differs between its versions.
_SPECIAL: tuple[Network, ...] = tuple(
    ipaddress.ip_network(name)
    for name in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by customers of a carrier
        "127.0.0.0/8",  # this machine
        "168.63.129.16/32",  # a cloud's own services, reached from inside of it only
        "169.254.0.0/16",  # link-local
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # measurements
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "2001::/23",  # protocol assignments: Teredo, measurements, identifiers
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which carries an IPv4 address
        "3fff::/20",  # documentation
    )
)


class AddressRefused(Exception):
    """The address is not one that may be called."""


def outbound_rule(*, scheme: str) -> AddressRule:
    """The rule for webhooks: ``https`` to public addresses and to those in WEBHOOK_NETWORKS, ``http`` to the latter
    alone."""

    def check(host: str, address: str) -> None:
        if not address_allowed(address, scheme=scheme, networks=settings.WEBHOOK_NETWORKS):
            raise AddressRefused(host)

    return check


def model_rule(*, base_url: str) -> AddressRule:
    """The rule for a language model or an embedding model at this address: the same with MODEL_NETWORKS. A refused
    address ends the call as ``not_allowed``, before anything is sent."""
    scheme = urlsplit(base_url).scheme

    def check(host: str, address: str) -> None:
        if not address_allowed(address, scheme=scheme, networks=settings.MODEL_NETWORKS):
            raise LLMFailure(
                "not_allowed",
                f"{host} may not be asked over {scheme}: outside of MODEL_NETWORKS models are asked at public "
                "addresses over https. The operator names the model's network there.",
            )

    return check


def address_allowed(address: str, *, scheme: str, networks: Sequence[Network]) -> bool:
    """Whether a numeric address may be called; anything that is none may not. ``networks`` are allowed although they
    are not public, over http too."""
    try:
        numeric = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if any(numeric in network for network in networks):
        return True
    return scheme == "https" and _is_public(numeric)


def _is_public(numeric: Numeric) -> bool:
    """Whether an address is for everybody to reach, and the IPv4 address that it may stand for too."""
    if isinstance(numeric, ipaddress.IPv6Address):
        inner = numeric.ipv4_mapped
        if inner is None and numeric in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(numeric) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(inner)
        if numeric not in _REACHABLE:
            return False
    return numeric.is_global and not any(numeric in network for network in _SPECIAL)


def host_allowed(host: str, *, scheme: str, networks: Sequence[Network]) -> bool | None:
    """Whether every address of a host may be called now; None where it has no address."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return all(address_allowed(str(entry[4][0]), scheme=scheme, networks=networks) for entry in found)
