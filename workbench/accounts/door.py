"""Guessing passwords is slowed so that nobody can be locked out by a stranger.

Failures of a stranger count for the pair of account and address, and against wide ceilings for each of the two. A
browser in which the account has signed in before carries a signed cookie and is counted by itself: whatever strangers
try meanwhile, the right password works there. The cookie opens nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from allauth.core.internal import ratelimit
from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.shared_cache import count_hit

from .models import User

COOKIE = "device"
_SALT = "accounts.door.device"
#: Half a year without a login makes a device a stranger.
COOKIE_SECONDS = 180 * 24 * 3600
#: Accounts that a browser is known to; the oldest goes.
_ACCOUNTS = 5
_APP = "workbench.accounts"
#: Where a view says whose device this is, for the middleware.
_REMEMBER = "_device_of"
_HOUR = 3600


def attempt_count(request: HttpRequest, *, email: str) -> ratelimit.RateLimitUsage | None:
    """Counts an attempt before it is made; None when there were too many. A login that succeeds is taken back."""
    email = email.strip().lower()
    device = _devices(request).get(_account_mark(email))
    if device is not None:
        return _consume(request, "device", f"{device}|{email}")
    used = ratelimit.RateLimitUsage(usage=[])
    for limit, key in (
        ("pair", f"{ratelimit.get_ip(request)}|{email}"),
        ("account", email),
        ("address", ratelimit.get_ip(request)),
    ):
        more = _consume(request, limit, key)
        if more is None:
            used.rollback()
            return None
        used.usage += more.usage
    return used


def failure_count(*, user: User) -> None:
    """After a failed login: tells the account's owner once an hour, when there were LOGIN_FAILURES_TOLD."""
    hour = int(timezone.now().timestamp()) // _HOUR
    if count_hit(f"door:{user.pk}:{hour}", seconds=2 * _HOUR) == settings.LOGIN_FAILURES_TOLD:
        dispatch_on_commit("accounts.failures_mail", user_id=user.pk)


def device_remember(request: HttpRequest, *, user: User) -> None:
    """Marks the browser as one of the account's, once the answer is written."""
    setattr(request, _REMEMBER, user.email)


class KnownDeviceMiddleware:
    """Gives the browser of who signed in, or set a new password by mail, the cookie of a known device."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if email := getattr(request, _REMEMBER, ""):
            response.set_cookie(
                COOKIE,
                signing.dumps(_with(_devices(request), email), salt=_SALT),
                max_age=COOKIE_SECONDS,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response


def _with(devices: Mapping[str, str], email: str) -> dict[str, str]:
    mark = _account_mark(email.strip().lower())
    others = [(name, device) for name, device in devices.items() if name != mark]
    return dict([*others[-(_ACCOUNTS - 1) :], (mark, devices.get(mark) or secrets.token_urlsafe(12))])


def _devices(request: HttpRequest) -> dict[str, str]:
    """What the cookie says, if it is one of ours: a mark of each account, and this browser's number with it."""
    try:
        said = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=COOKIE_SECONDS)
    except signing.BadSignature:
        return {}
    return said if isinstance(said, dict) else {}


def _account_mark(email: str) -> str:
    """Stands for the account in the cookie, which whoever uses the browser can read."""
    return signing.Signer(salt=_SALT).signature(email)[:16]


def _consume(request: HttpRequest, limit: str, key: str) -> ratelimit.RateLimitUsage | None:
    return ratelimit.consume(
        request,
        app=_APP,
        action=f"door:{limit}",
        config={f"door:{limit}": settings.LOGIN_FAILURES[limit]},
        key=key,
    )
