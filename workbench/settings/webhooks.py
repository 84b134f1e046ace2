"""Webhooks: which private networks they may reach."""

from __future__ import annotations

from . import env

#: Networks that are not public and that webhooks may reach all the same, over http too. Empty: none.
WEBHOOK_NETWORKS = env.networks("WEBHOOK_NETWORKS")
