"""Small middlewares of the product."""

from __future__ import annotations

from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url

GetResponse = Callable[[HttpRequest], HttpResponse]


class RequestIdMiddleware:
    """Returns the request id (bound by django-structlog) to the caller, so that people can quote it."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        request_id = structlog.contextvars.get_contextvars().get("request_id")
        if request_id:
            response["X-Request-Id"] = request_id
        return response


class HtmxSessionExpiryMiddleware:
    """An expired session must not swap the login page into a fragment: htmx is told to go there."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not request.htmx:
            return response
        location = response.get("Location", "")
        if response.status_code == 302 and location.startswith(resolve_url("account_login")):
            redirect = HttpResponse(status=204)
            redirect["HX-Redirect"] = resolve_url("account_login")
            return redirect
        return response
