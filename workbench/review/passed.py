"""The cards that a person skipped since signing in: ``k`` goes back, latest first. Kept in the session, like the
browser's history, and not recorded."""

from __future__ import annotations

from django.http import HttpRequest

_KEY = "review.passed"
#: How far back the way leads.
_MOST = 20


def passed_over(request: HttpRequest) -> list[int]:
    """Keys of skipped items, the latest last."""
    return list(request.session.get(_KEY, []))


def remember(request: HttpRequest, key: int) -> None:
    """Records that this item was just skipped."""
    before = [known for known in passed_over(request) if known != key]
    request.session[_KEY] = [*before, key][-_MOST:]


def forget_from(request: HttpRequest, key: int) -> None:
    """Records that the person went back to this item. It and later skipped items are forgotten."""
    known = passed_over(request)
    if key in known:
        request.session[_KEY] = known[: known.index(key)]
