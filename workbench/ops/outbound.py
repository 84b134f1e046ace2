"""Which addresses the product may call on somebody's word (server-side request forgery; trust.md).

A name that a person typed may lead anywhere, so the rule is asked of every numeric address right before it is
connected to (:mod:`arbitration.adapters.http_client`), not once when the name was typed.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from django.conf import settings

from arbitration.adapters.http_client import AddressRule
from arbitration.errors import LLMFailure

Numeric = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: IPv6 addresses that stand for an IPv4 one behind a translator: the well-known prefix, which ends in the IPv4 address
#: (RFC 6052), and the one for local use (RFC 8215).
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
_TRANSLATED_LOCALLY = ipaddress.IPv6Network("64:ff9b:1::/48")


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
    if scheme != "https" or numeric in _TRANSLATED_LOCALLY:
        return False
    return all(one.is_global and not one.is_multicast for one in _meant(numeric))


def host_allowed(host: str, *, scheme: str, networks: Sequence[Network]) -> bool | None:
    """Whether every address of a host may be called now; None where it has no address."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return all(address_allowed(str(entry[4][0]), scheme=scheme, networks=networks) for entry in found)


def _meant(numeric: Numeric) -> Iterator[Numeric]:
    """The address, and the IPv4 addresses that it carries inside."""
    yield numeric
    if isinstance(numeric, ipaddress.IPv4Address):
        return
    for inner in (numeric.ipv4_mapped, numeric.sixtofour, *(numeric.teredo or ())):
        if inner is not None:
            yield inner
    if numeric in _TRANSLATED:
        yield ipaddress.IPv4Address(int(numeric) & 0xFFFFFFFF)
