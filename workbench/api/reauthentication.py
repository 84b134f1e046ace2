"""Reauthentication for administrative actions of the API, as on the pages.

In a browser session, a POST or the download of a whole collection is allowed for REAUTHENTICATION_SECONDS after the
person confirmed their identity. Later it is refused with 403 ``reauthentication_required`` until they do so again. A
token needs no more: it was created on a page that asked, it can only do this with the scope ``manage``, which ends
after ``LONGEST_MANAGE_DAYS``, and the trail names it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http.response import HttpResponseBase as ResponseBase
from rest_framework.request import Request

from workbench.accounts.reauthentication import require_shown_lately

Action = Callable[..., ResponseBase]


def asks_again(method: Action) -> Action:
    """Guards an action of a viewset; use it directly above the definition. Reading needs no reauthentication."""
    return _guarded(method, methods=frozenset({"POST"}))


def asks_again_to_read(method: Action) -> Action:
    """Guards a response that contains a whole collection."""
    return _guarded(method, methods=frozenset({"GET", "HEAD", "POST"}))


def _guarded(method: Action, *, methods: frozenset[str]) -> Action:
    @wraps(method)
    def guarded(self: Any, request: Request, *args: Any, **kwargs: Any) -> ResponseBase:
        if request.method in methods and request.auth is None:
            require_shown_lately(request._request)
        return method(self, request, *args, **kwargs)

    return guarded
