"""Caches: what web processes count together lies in the broker, answers for some seconds in each process."""

from __future__ import annotations

from urllib.parse import urlsplit

from . import env

#: Where limits are counted: the broker, unless it is reached by a scheme that only Celery understands.
LIMITS_URL = env.text("LIMITS_URL") or env.text("BROKER_URL", "redis://127.0.0.1:6379/0")
LIMITS_SCHEMES = frozenset({"redis", "rediss", "unix"})
_PER_PROCESS = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
CACHES = {
    "default": {
        "BACKEND": "workbench.infra.shared_cache.SharedCache",
        "LOCATION": LIMITS_URL,
        "KEY_PREFIX": "workbench",
    }
    if urlsplit(LIMITS_URL).scheme in LIMITS_SCHEMES
    else _PER_PROCESS | {"LOCATION": "limits"},
    #: Objects of this program, which leave the process in no form.
    "process": _PER_PROCESS | {"LOCATION": "process", "OPTIONS": {"MAX_ENTRIES": 2_000}},
}
