"""How allauth behaves here."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):
    """Accounts are made by an administrator, never by a stranger; failed logins are on record."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Nobody signs up by themselves."""
        return False

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Puts a failed login on record."""
        from .services import login_failure_record
        from .signals import address_of

        login_failure_record(email=str(credentials.get("email", "")), address=address_of(request))
