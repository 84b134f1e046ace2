"""What every page's shell needs."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from workbench.review.waiting import number_told, waiting_for
from workbench.version import version

from .help import help_for
from .selectors import degraded, health, navigation


def shell(request: HttpRequest) -> dict[str, Any]:
    """Version, navigation of the signed-in person with what waits for them, whether work gets done and models
    answer."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"nav": [], "app_version": version()}
    # Lazy: a fragment for htmx has no shell and must not pay for one.
    waiting = SimpleLazyObject(lambda: waiting_for(user=user))
    nav = SimpleLazyObject(lambda: navigation(user=user, path=request.path, to_review=waiting.to_review))
    return {
        "nav": nav,
        "nav_keys": SimpleLazyObject(lambda: " ".join(item["key"] for item in nav)),
        "nav_state": SimpleLazyObject(
            lambda: " ".join(f"{item['key']}{'*' * item['active']}{item['count']}" for item in nav)
        ),
        "health": SimpleLazyObject(health),
        "degraded": SimpleLazyObject(degraded),
        "page_help": SimpleLazyObject(lambda: help_for(_view_name(request))),
        "unread": SimpleLazyObject(lambda: number_told(waiting.unread) if waiting.unread else ""),
        "app_version": version(),
    }


def _view_name(request: HttpRequest) -> str:
    match = request.resolver_match
    return match.view_name if match else ""
