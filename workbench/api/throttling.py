"""Limits how many API requests a person's programs and pages may send per minute."""

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
    """``API_REQUESTS_PER_MINUTE`` for each person, however many tokens they have; 0 for no limit. Counted per clock
    minute over all processes. The response says when the next minute begins."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Counts the request; False if it exceeds the limit. Anonymous requests are refused earlier."""
        most = settings.API_REQUESTS_PER_MINUTE
        if not most or not request.user.is_authenticated:
            return True
        minute = int(time.time()) // _MINUTE
        return count_hit(f"api:{request.user.pk}:{minute}", seconds=2 * _MINUTE) <= most

    def wait(self) -> float:
        """Seconds until the next minute: the answer's ``Retry-After``."""
        return _MINUTE - time.time() % _MINUTE
