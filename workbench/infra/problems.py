"""Errors of the API as application/problem+json (RFC 9457)."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from workbench.errors import WorkbenchError


def problem_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turns anticipated errors into problem+json, and leaves the rest to Django."""
    if isinstance(error, WorkbenchError):
        return _problem(status_code=error.status, code=error.code, detail=error.message)
    response = exception_handler(error, context)
    if response is None:
        return None
    if isinstance(error, exceptions.ValidationError):
        problem = _problem(
            status_code=response.status_code, code="invalid", detail="The request has invalid fields."
        )
        problem.data["errors"] = response.data
    elif isinstance(error, Http404):  # whose own message names our classes
        problem = _problem(status_code=404, code="not_found", detail=_("Not found, or not visible to you."))
    else:
        detail = response.data.get("detail", "") if isinstance(response.data, dict) else ""
        problem = _problem(status_code=response.status_code, code=_code(error), detail=str(detail))
    for name, value in response.headers.items():
        problem.headers.setdefault(name, value)
    return problem


def is_api(request: HttpRequest) -> bool:
    """Whether this is an API request. Such requests get problems even if no view of the API was reached."""
    return request.path.startswith("/api/")


def problem_response(*, status_code: int, code: str, detail: str) -> HttpResponse:
    """A problem response outside the REST framework."""
    body = json.dumps(_body(status_code=status_code, code=code, detail=detail))
    return HttpResponse(body, status=status_code, content_type="application/problem+json")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's ``handler400``."""
    if not is_api(request):
        return defaults.bad_request(request, exception)
    if isinstance(exception, RequestDataTooBig):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        detail = _("The request is too large. Send at most %(most)s bytes, not counting files.") % {
            "most": most
        }
        return problem_response(status_code=413, code="too_large", detail=detail)
    return problem_response(status_code=400, code="bad_request", detail=_("This request cannot be read."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's ``handler403``."""
    if not is_api(request):
        return defaults.permission_denied(request, exception)
    return problem_response(status_code=403, code="not_allowed", detail=_("You are not allowed to do this."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's ``handler404``."""
    if not is_api(request):
        return defaults.page_not_found(request, exception)
    return problem_response(status_code=404, code="not_found", detail=_("Not found, or not visible to you."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's ``handler500``."""
    if not is_api(request):
        return defaults.server_error(request)
    detail = _("Internal error. It is logged under the request ID.")
    return problem_response(status_code=500, code="server_error", detail=detail)


def _code(error: Exception) -> str:
    if isinstance(error, Http404):
        return "not_found"
    if isinstance(error, PermissionDenied):
        return "not_allowed"
    return str(getattr(error, "default_code", "error"))


def _problem(*, status_code: int, code: str, detail: str) -> Response:
    body = _body(status_code=status_code, code=code, detail=detail)
    return Response(body, status=status_code, content_type="application/problem+json")


def _body(*, status_code: int, code: str, detail: str) -> dict[str, Any]:
    return {
        "type": "about:blank",
        "title": HTTPStatus(status_code).phrase,
        "status": status_code,
        "code": code,
        "detail": detail,
        "request_id": structlog.contextvars.get_contextvars().get("request_id"),
    }
