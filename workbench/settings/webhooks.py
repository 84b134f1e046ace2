"""Webhooks: which private networks they may reach."""

from __future__ import annotations

import ipaddress

from django.core.exceptions import ImproperlyConfigured

from . import env


def _networks() -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    try:
        return [ipaddress.ip_network(word) for word in env.words("WEBHOOK_NETWORKS")]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"WEBHOOK_NETWORKS: {error}. Give networks such as 10.1.0.0/16, separated by commas."
        ) from error


#: Networks that are not public and that webhooks may reach all the same, over http too. Empty: none.
WEBHOOK_NETWORKS = _networks()
