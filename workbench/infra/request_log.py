"""A line when a request has ended: method, path, status, how long it took, who, from where.

Never what people searched for or asked, which stands behind the question mark of an address and may be words of a
document, and never the key of a link that was mailed: who reads the logs must not set somebody's password.
"""

from __future__ import annotations

import re
import time

import structlog
from django.http import HttpRequest, HttpResponse
from django_structlog.middlewares import RequestMiddleware

from .addresses import address_of

#: Paths that end in a key: those that allauth mails, and links for outsiders.
_KEYED = re.compile(r"(/(?:accounts/(?:password/reset/key|confirm-email)|shared)/)[^/]+")


class RequestLogMiddleware(RequestMiddleware):
    """The library's, with less in its lines, and the address that :data:`TRUSTED_PROXIES` says to believe."""

    def prepare(self, request: HttpRequest) -> None:
        """Also notes when it began."""
        request.began_at = time.perf_counter()
        super().prepare(request)

    def handle_response(self, request: HttpRequest, response: HttpResponse) -> None:
        """Also says how long the answer took to make, in milliseconds."""
        spent = time.perf_counter() - request.began_at
        structlog.contextvars.bind_contextvars(milliseconds=round(1000 * spent, 1))
        super().handle_response(request, response)

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        path = _KEYED.sub(r"\1…", request.path)
        return f"{request.method} {path}"

    @classmethod
    def bind_ip(cls, request: HttpRequest) -> None:
        """Not what the caller claims to be forwarded for."""
        structlog.contextvars.bind_contextvars(ip=address_of(request))
