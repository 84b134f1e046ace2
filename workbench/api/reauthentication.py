"""Acts of an administrator by the API ask who it is, as the pages do.

In a browser's session a POST, and the taking away of a whole collection, goes through for REAUTHENTICATION_SECONDS
after the person showed who they are; later it is refused with 403 ``reauthentication_required`` until they did so
again. A program's token needs no more: it was made on a page that asked, it carries the act only with the scope
``manage``, which ends after ``LONGEST_MANAGE_DAYS``, and the trail names it.
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
    """Guards one action of a viewset, directly above its definition; reading is free."""
    return _guarded(method, methods=frozenset({"POST"}))


def asks_again_to_read(method: Action) -> Action:
    """Guards an answer that carries a whole collection away at once."""
    return _guarded(method, methods=frozenset({"GET", "HEAD", "POST"}))


def _guarded(method: Action, *, methods: frozenset[str]) -> Action:
    @wraps(method)
    def guarded(self: Any, request: Request, *args: Any, **kwargs: Any) -> ResponseBase:
        if request.method in methods and request.auth is None:
            require_shown_lately(request._request)
        return method(self, request, *args, **kwargs)

    return guarded
