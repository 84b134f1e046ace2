"""Counts requests."""

from __future__ import annotations

import time

from django.http import HttpRequest, HttpResponse

from workbench.infra.middleware import Middleware

from . import counters


class MetricsMiddleware(Middleware):
    """Counts each request by the name of its view, never by its address, and takes its time."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        response = self.get_response(request)
        counters.request_ended(
            view=request.resolver_match.view_name if request.resolver_match else "",
            method=request.method or "",
            status=response.status_code,
            seconds=time.perf_counter() - started,
        )
        return response
