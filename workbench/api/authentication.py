"""``Authorization: Bearer <token>``: a program acts as the token's owner, within the token's scopes."""

from __future__ import annotations

import structlog
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from workbench.accounts.models import User

from .models import ApiToken
from .tokens import token_with_key


class TokenAuthentication(BaseAuthentication):
    """Marks the user with the token's scopes, which every permission check honours. A token never carries rights of the
    installation's administrators."""

    keyword = "Bearer"

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Returns the owner and the token; None without such a header. Raises 401 for an invalid token."""
        parts = get_authorization_header(request).split()
        if not parts or parts[0].lower() != self.keyword.lower().encode():
            return None
        token = token_with_key(parts[1].decode("latin-1")) if len(parts) == 2 else None
        if token is None:
            raise AuthenticationFailed(_("This token is unknown, revoked or has expired."))
        user = token.owner
        user.token_scopes = token.permissions
        # Every event and every line of the log of this request names the token (``audit.services``).
        structlog.contextvars.bind_contextvars(api_token=token.pk)
        user.is_staff = user.is_superuser = False  # in this request only; nobody saves the object
        return user, token

    def authenticate_header(self, request: Request) -> str:
        """The challenge sent with a 401 response."""
        return self.keyword


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "workbench.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """A bearer token of our own format."""
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "API token, created on the API tokens page.",
        }
