"""How allauth behaves here."""

from __future__ import annotations

import base64
import secrets
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from workbench.accounts.door import attempt_count
from workbench.accounts.second_factors import opened, sealed
from workbench.infra.addresses import address_of, public_address

from .services import address_vouch, login_failure_record

PRODUCT = "Arbiter Workbench"


class AccountAdapter(DefaultAccountAdapter):
    """Accounts are made by an administrator, never by a stranger; failed logins are on record."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Nobody signs up by themselves."""
        return False

    def get_reset_password_from_key_url(self, key: str) -> str:
        """The link of the message that resets a password, on the public address."""
        path = reverse("account_reset_password_from_key", kwargs={"uidb36": "UID", "key": "KEY"})
        return public_address(path.replace("UID-KEY", key), self.request)

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        """The link of the message that confirms a new address, on the public address."""
        path = reverse("account_confirm_email", args=[emailconfirmation.key])
        return public_address(path, request)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """A message names the product and its public host, never a host that the request made up."""
        site = {"name": PRODUCT, "domain": urlsplit(settings.PUBLIC_URL).hostname or PRODUCT}
        super().send_mail(template_prefix, email, context | {"current_site": site})

    def login(self, request: HttpRequest, user: Any) -> None:
        """Signs in."""
        address_vouch(user=user)
        super().login(request, user)

    error_messages = DefaultAccountAdapter.error_messages | {
        "too_many_login_attempts": _(
            "Too many failed attempts. Wait ten minutes, use a browser you have signed in with before, "
            "or reset your password."
        )
    }

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Counts the attempt. Raises ``ValidationError`` when there were too many."""
        # allauth takes it back under this name when the login succeeds.
        self._login_failed_rl_usage = attempt_count(request, email=str(credentials.get("email", "")))
        if self._login_failed_rl_usage is None:
            raise self.validation_error("too_many_login_attempts")

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Puts a failed login on record."""
        login_failure_record(email=str(credentials.get("email", "")), address=address_of(request))


class SecondFactorAdapter(DefaultMFAAdapter):
    """Secrets of second factors lie in the database under a key of the installation (``second_factors.py``)."""

    def encrypt(self, text: str) -> str:
        """The stored form."""
        return sealed(text)

    def decrypt(self, encrypted_text: str) -> str:
        """The secret; one that nobody knows where SECRET_KEY is no longer the one it was stored under, so that no code
        fits and an administrator takes the factor away."""
        secret = opened(encrypted_text)
        return base64.b32encode(secrets.token_bytes(20)).decode() if secret is None else secret


class SingleSignOnAdapter(DefaultSocialAccountAdapter):
    """People come in by single sign-on when somebody has made them an account; it makes none."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Nobody signs up by themselves."""
        return False
