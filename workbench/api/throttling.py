"""How many requests a person's programs and pages may send to the API in a minute."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from workbench.infra.shared_cache import count_hit

if TYPE_CHECKING:  # the framework's views read this class while they are being imported
    from rest_framework.views import APIView

_MINUTE = 60


class PersonThrottle(BaseThrottle):
    """``API_REQUESTS_PER_MINUTE`` for each person, whatever the number of their tokens; 0 for no limit.

    Counted per minute of the clock over all processes; who is over it is told when the next one begins.
    """

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Counts the request; False when it is one too many. Strangers are refused before."""
        most = settings.API_REQUESTS_PER_MINUTE
        if not most or not request.user.is_authenticated:
            return True
        minute = int(time.time()) // _MINUTE
        return count_hit(f"api:{request.user.pk}:{minute}", seconds=2 * _MINUTE) <= most

    def wait(self) -> float:
        """Seconds until the next minute: the answer's ``Retry-After``."""
        return _MINUTE - time.time() % _MINUTE
