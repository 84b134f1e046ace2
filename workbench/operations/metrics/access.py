"""Who may read the figures: whoever has the token, from a network that is named."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from django.conf import settings
from django.utils.crypto import constant_time_compare


@dataclass(frozen=True, slots=True)
class Refusal:
    """The status and words of an answer that shows nothing."""

    status: int
    words: str


def is_set_up() -> bool:
    """Whether anybody may read them at all."""
    return bool(settings.METRICS_TOKEN or settings.METRICS_NETWORKS)


def refusal(*, authorization: str, address: str) -> Refusal | None:
    """Why a request is not answered; None for one that is. What is set up is demanded: token, network, or both.

    ``authorization`` is the header, ``address`` where the request came from ("" when nobody can tell).
    """
    if settings.METRICS_NETWORKS and not _in_networks(address):
        return Refusal(403, "This address is in no network of METRICS_NETWORKS.\n")
    if settings.METRICS_TOKEN and not _has_token(authorization):
        return Refusal(401, "Send the header 'Authorization: Bearer' with the METRICS_TOKEN.\n")
    return None


def _has_token(authorization: str) -> bool:
    scheme, _, given = authorization.partition(" ")
    return scheme.lower() == "bearer" and constant_time_compare(given.strip(), settings.METRICS_TOKEN)


def _in_networks(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    found = getattr(found, "ipv4_mapped", None) or found
    return any(found in network for network in settings.METRICS_NETWORKS)
