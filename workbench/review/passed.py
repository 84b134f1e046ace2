"""What a person passed over in the queue since they signed in: ``k`` leads back, the last one first.

Kept with the session: it is a way back like the browser's own, and nothing of it is a matter of record.
"""

from __future__ import annotations

from django.http import HttpRequest

_KEY = "review.passed"
#: How far back the way leads.
_MOST = 20


def passed_over(request: HttpRequest) -> list[int]:
    """Keys of items, the last passed over at the end."""
    return list(request.session.get(_KEY, []))


def remember(request: HttpRequest, key: int) -> None:
    """This item was passed over just now."""
    before = [known for known in passed_over(request) if known != key]
    request.session[_KEY] = [*before, key][-_MOST:]


def forget_from(request: HttpRequest, key: int) -> None:
    """The person went back to this item: it and what they passed over after it are no longer behind them."""
    known = passed_over(request)
    if key in known:
        request.session[_KEY] = known[: known.index(key)]
