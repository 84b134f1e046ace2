"""What every page's shell needs."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def shell(request: HttpRequest) -> dict[str, Any]:
    """Navigation entries of the signed-in person, with what waits for them."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"nav": []}
    from .selectors import navigation

    return {"nav": navigation(user=user, path=request.path)}
