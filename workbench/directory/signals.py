"""What a provider says of somebody's groups when they sign on. No logic: it hands over to a service."""

from __future__ import annotations

from typing import Any

import structlog
from allauth.account.signals import user_logged_in
from django.conf import settings

from workbench.accounts.models import User

from .groups import groups_of_sign_on

logger = structlog.get_logger(__name__)


def connect() -> None:
    """Starts listening; called once, when the application is ready."""
    user_logged_in.connect(_groups_said, weak=False, dispatch_uid="directory.groups")


def _groups_said(*, user: User, sociallogin: Any = None, **_: Any) -> None:
    if sociallogin is None:
        return
    names = names_in(sociallogin.account.provider, sociallogin.account.extra_data)
    if names is not None:
        groups_of_sign_on(user=user, names=names)


def names_in(provider: str, said: dict[str, Any]) -> list[str] | None:
    """The groups that the provider named; None where they are not read, or it said nothing of groups at all: a provider
    that lost its setting must not take everybody's roles."""
    if provider in _saml_names():
        name, places = settings.SAML_GROUPS_ATTRIBUTE, [said]
    else:
        name, places = settings.OIDC_GROUPS_CLAIM, [said.get("userinfo"), said.get("id_token"), said]
    if not name:
        return None
    for place in places:
        if isinstance(place, dict) and name in place:
            given = place[name]
            listed = given if isinstance(given, list) else [given]
            return [one for one in listed if isinstance(one, str)]
    logger.warning("sign_on.no_groups", provider=provider, name=name)
    return None


def _saml_names() -> set[str]:
    apps = settings.SOCIALACCOUNT_PROVIDERS.get("saml", {}).get("APPS", [])
    return {"saml", *(app["provider_id"] for app in apps)}
