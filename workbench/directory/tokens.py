"""Keys of directories: made and revoked by who operates the installation, and good for SCIM alone."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, WorkbenchError

from .models import DirectoryToken

PREFIX = "wbs_"
LONGEST_DAYS = 366
_USE_WRITTEN_EVERY = timedelta(minutes=1)


def directory_token_create(*, name: str, days: int) -> tuple[DirectoryToken, str]:
    """A new key, which nobody can read again. Raises :class:`WorkbenchError` for no name or a time out of range."""
    name = " ".join(name.split())[:80]
    if not name:
        raise WorkbenchError(_("Give the token a name that says what it is for."), code="name_missing")
    if not 1 <= days <= LONGEST_DAYS:
        raise WorkbenchError(
            _("A token lasts between 1 and %(most)d days.") % {"most": LONGEST_DAYS}, code="bad_days"
        )
    key = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = DirectoryToken.objects.create(
            name=name, start=key[:12], key_hash=_hash(key), expires_at=timezone.now() + timedelta(days=days)
        )
        audit_record(
            actor=User.objects.system(),
            action=Action.TOKEN_CREATED,
            obj=token,
            after={"name": name, "scopes": ["scim"], "expires_at": token.expires_at},
        )
    return token, key


def directory_token_revoke(*, pk: int) -> None:
    """The key opens nothing from now on. Raises :class:`Conflict` where it did not before."""
    with transaction.atomic():
        token = DirectoryToken.objects.select_for_update().filter(pk=pk, revoked_at__isnull=True).first()
        if token is None:
            raise Conflict(_("There is no such token, or it is revoked already."))
        DirectoryToken.objects.filter(pk=pk).update(revoked_at=Now())
        audit_record(
            actor=User.objects.system(), action=Action.TOKEN_REVOKED, obj=token, before={"name": token.name}
        )


class DirectoryTokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer wbs_…``: the request is the installation's own, and on record with the token."""

    def authenticate(self, request: Request) -> tuple[User, DirectoryToken] | None:
        """The system user and the token. Raises 401 for anything that opens nothing."""
        parts = get_authorization_header(request).split()
        key = parts[1].decode("latin-1") if len(parts) == 2 and parts[0].lower() == b"bearer" else ""
        token = _token_with_key(key)
        if token is None:
            raise AuthenticationFailed(_("This token is unknown, revoked or has expired."))
        structlog.contextvars.bind_contextvars(directory_token=token.pk)
        return User.objects.system(), token

    def authenticate_header(self, request: Request) -> str:
        """What a client is told to send."""
        return "Bearer"


def _token_with_key(key: str) -> DirectoryToken | None:
    if not key.startswith(PREFIX):
        return None
    living = Q(revoked_at__isnull=True, expires_at__gt=Now())
    token = DirectoryToken.objects.filter(living, key_hash=_hash(key)).first()
    if token is not None:
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=timezone.now() - _USE_WRITTEN_EVERY)
        DirectoryToken.objects.filter(stale, pk=token.pk).update(last_used_at=Now())
    return token


def _hash(key: str) -> str:
    """Keys are random, 256 bits: a plain hash is enough, and can be looked up."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
