"""Errors of the API as application/problem+json (RFC 9457)."""

from __future__ import annotations

from typing import Any

import structlog
from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import exception_handler

from workbench.errors import WorkbenchError


def problem_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turns anticipated errors into problem+json; leaves the rest to Django."""
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
    else:
        detail = response.data.get("detail", "") if isinstance(response.data, dict) else ""
        problem = _problem(status_code=response.status_code, code=_code(error), detail=str(detail))
    for name, value in response.headers.items():
        problem.headers.setdefault(name, value)
    return problem


def _code(error: Exception) -> str:
    if isinstance(error, Http404):
        return "not_found"
    if isinstance(error, PermissionDenied):
        return "not_allowed"
    return str(getattr(error, "default_code", "error"))


def _problem(*, status_code: int, code: str, detail: str) -> Response:
    body = {
        "type": "about:blank",
        "title": {v: k for k, v in vars(status).items() if isinstance(v, int)}.get(status_code, "error"),
        "status": status_code,
        "code": code,
        "detail": detail,
        "request_id": structlog.contextvars.get_contextvars().get("request_id"),
    }
    return Response(body, status=status_code, content_type="application/problem+json")
