"""What all web processes count together: attempts at the door, used one-time codes, requests of programs.

It lies in the broker, beside the messages and under a prefix of its own. While the broker does not answer, each
process counts by itself: nobody is locked out of a product whose database works, and a limit is at most as many times
higher as there are processes, never gone. Values are JSON, never pickled: who can write to the broker runs no code.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

logger = structlog.get_logger(__name__)

#: Seconds that a request waits for the broker at most, and for which it is not asked again once it was silent.
ANSWERS_WITHIN, LEFT_ALONE = 0.5, 5.0


class JsonSerializer:
    """Values as JSON."""

    def dumps(self, value: Any) -> bytes:
        """The stored form. Raises ``TypeError`` for what JSON cannot hold."""
        return json.dumps(value).encode()

    def loads(self, stored: bytes) -> Any:
        """The value."""
        return json.loads(stored)


class _Client(RedisCacheClient):
    def clear(self, prefix: str = "") -> bool:
        """Removes our keys; Django's own would empty the whole database, with the messages of the workers."""
        client = self.get_client(None, write=True)
        keys = list(client.scan_iter(match=f"{prefix}:*"))
        return bool(client.delete(*keys)) if keys else True


class _Silence:
    """When the broker was last found silent, in this process."""

    until = 0.0


def _shared(name: str) -> Callable[..., Any]:
    """The operation in the broker, or in this process's own memory while the broker is silent."""
    there, here = getattr(RedisCache, name), getattr(LocMemCache, name)

    @wraps(there)
    def operation(self: SharedCache, *args: Any, **kwargs: Any) -> Any:
        if time.monotonic() < _Silence.until:
            return here(self.own, *args, **kwargs)
        try:
            return there(self, *args, **kwargs)
        except (RedisError, OSError) as error:
            _Silence.until = time.monotonic() + LEFT_ALONE
            logger.warning("shared_cache.broker_silent", error=type(error).__name__)
            return here(self.own, *args, **kwargs)

    return operation


class SharedCache(RedisCache):
    """Django's cache in the broker, with this process's memory in its place while the broker is silent."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _Client
        self._options = {
            "serializer": JsonSerializer,
            "socket_connect_timeout": ANSWERS_WITHIN,
            "socket_timeout": ANSWERS_WITHIN,
            "retry": Retry(NoBackoff(), 1),  # a connection from before the broker's last start
            **params.get("OPTIONS", {}),
        }
        self.own = LocMemCache("shared-cache", params | {"OPTIONS": {"MAX_ENTRIES": 10_000}})

    add = _shared("add")
    get = _shared("get")
    set = _shared("set")
    touch = _shared("touch")
    delete = _shared("delete")
    get_many = _shared("get_many")
    has_key = _shared("has_key")
    incr = _shared("incr")
    set_many = _shared("set_many")
    delete_many = _shared("delete_many")

    def clear(self) -> None:
        """Forgets everything, here and, if it answers, in the broker."""
        self.own.clear()
        try:
            self._cache.clear(self.key_prefix)
        except (RedisError, OSError) as error:
            logger.warning("shared_cache.broker_silent", error=type(error).__name__)


def count_hit(key: str, *, seconds: int) -> int:
    """Counts one more under the key and gives the number so far; it is forgotten after ``seconds``, so a key names its
    stretch of time. Exact with any number of processes."""
    cache.add(key, 0, seconds)
    try:
        return int(cache.incr(key))
    except ValueError:  # forgotten meanwhile, or the broker fell silent in between
        cache.set(key, 1, seconds)
        return 1
