"""Small middlewares of the product."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import structlog
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import resolve_url
from django.utils.translation import gettext as _
from django_htmx.middleware import HtmxDetails

from workbench.direction import is_steered, shown_in_html, shown_in_json

from .problems import is_api, problem_response


class Middleware:
    """The beginning of each: the rest of the product answers a request by ``get_response``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response


class RequestIdMiddleware(Middleware):
    """Returns the request id (bound by django-structlog) to the caller, so that people can quote it."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        request_id = structlog.contextvars.get_contextvars().get("request_id")
        if request_id:
            response["X-Request-Id"] = request_id
        return response


class NothingKeptMiddleware(Middleware):
    """Tells browsers and proxies to keep no answer: pages, API, fragments, originals and errors may all hold what
    people said in confidence. A view may name a short private life; nothing here is public but static files, which
    are answered before this."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        said = response.get("Cache-Control", "")
        if "private" not in said and "no-store" not in said:
            response["Cache-Control"] = "private, no-store"
        return response


class DirectionMiddleware(Middleware):
    """Shows what would change the direction of reading (:mod:`workbench.direction`), in pages, fragments and JSON."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        show = _SHOWN_AS.get(response.get("Content-Type", "").partition(";")[0])
        if show is not None and not response.streaming and is_steered(response.content):
            response.content = show(response.content.decode(response.charset)).encode(response.charset)
        return response


_SHOWN_AS = {
    "text/html": shown_in_html,
    "application/json": shown_in_json,
    "application/problem+json": shown_in_json,
}


#: Characters of one value in an address; the longest that the product itself writes is a question.
_LONGEST_VALUE = 4000


class AddressMiddleware(Middleware):
    """Refuses what no page can mean: NUL, which the database cannot hold, and endless values in an address."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        values = [value for _, many in request.GET.lists() for value in many]
        if "\x00" in request.path or any("\x00" in v or len(v) > _LONGEST_VALUE for v in values):
            said = _("This address holds something that no page can read. Shorten or correct it.")
            if is_api(request):
                return problem_response(status_code=400, code="bad_address", detail=said)
            return HttpResponseBadRequest(said, content_type="text/plain; charset=utf-8")
        return self.get_response(request)


class HtmxSessionExpiryMiddleware(Middleware):
    """An expired session must not swap the login page into a fragment: htmx is told to go there, and from there
    back to the page the person was on."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not request.htmx:
            return response
        location = response.get("Location", "")
        if response.status_code == 302 and location.startswith(resolve_url("account_login")):
            return HttpResponse(status=204, headers={"HX-Redirect": _login_url(request.htmx)})
        return response


def _login_url(htmx: HtmxDetails) -> str:
    """The sign-in page, with the way back to the page that htmx was working on."""
    login = resolve_url("account_login")
    # Given by the browser, so it may be anything: only the path on this host is used.
    page = htmx.current_url_abs_path
    return f"{login}?{urlencode({'next': page})}" if page else login


class CompressTextMiddleware(GZipMiddleware):
    """Compresses pages and JSON. Images and uploaded originals, which do not get smaller, pass as they are."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """The response, compressed where it is text and the browser takes it."""
        kind = response.get("Content-Type", "").split(";")[0]
        if response.streaming or kind not in {"text/html", "application/json", "text/csv"}:
            return response
        return super().process_response(request, response)
