"""The settings of ``make run`` for a product under test: nobody waits long for a model, and no circuit opens between
two tests. They are called ``dev``, because demo users are made under settings for trials alone."""

from __future__ import annotations

import ipaddress

from tests.integration.llm_faults import TIMEOUT_S
from workbench.settings.dev import *  # noqa: F403

LLM_TIMEOUT_SECONDS = TIMEOUT_S
LLM_BREAKER_FAILURES = 0
#: Odd requests come by the thousand.
API_REQUESTS_PER_MINUTE = 0
#: Receivers of tests listen on this machine.
WEBHOOK_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]
