"""Creates, revokes and recognises tokens."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError

from .models import ApiToken

PREFIX = "wbk_"
LONGEST_DAYS = 366
#: A key that manages collections acts without asking who uses it: its owner shows that again now and then.
LONGEST_MANAGE_DAYS = 90
MOST_TOKENS = 20
#: A token's last use is written at most this often.
_USE_WRITTEN_EVERY = timedelta(minutes=1)


def token_create(*, actor: User, name: str, scopes: Sequence[str], days: int) -> tuple[ApiToken, str]:
    """Creates a token of the actor. Returns it with its key, which cannot be read again. Raises :class:`NotAllowed` if
    a token tries to create another, :class:`WorkbenchError` without a name, for unknown or no scopes, or for an invalid
    lifetime."""
    _require_person(actor)
    name = " ".join(name.split())[:80]
    unknown = [scope for scope in scopes if scope not in set(Permission)]
    if not name:
        raise WorkbenchError(_("Give the token a name that says what it is for."), code="name_missing")
    if unknown or not scopes:
        raise WorkbenchError(_("Choose at least one of the scopes."), code="bad_scopes")
    most = LONGEST_MANAGE_DAYS if Permission.MANAGE in scopes else LONGEST_DAYS
    if not 1 <= days <= most:
        raise WorkbenchError(
            _("A token with these scopes lasts between 1 and %(most)d days.") % {"most": most},
            code="bad_days",
        )
    if tokens_of(user=actor).filter(_living()).count() >= MOST_TOKENS:
        raise Conflict(_("You have %(n)d tokens. Revoke one that you no longer use.") % {"n": MOST_TOKENS})
    key = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = ApiToken.objects.create(
            owner=actor,
            name=name,
            start=key[:12],
            key_hash=_hash(key),
            scopes=sorted(set(scopes)),
            expires_at=timezone.now() + timedelta(days=days),
        )
        audit_record(
            actor=actor,
            action=Action.TOKEN_CREATED,
            obj=token,
            after={"name": name, "scopes": token.scopes, "expires_at": token.expires_at},
        )
    return token, key


def token_revoke(*, actor: User, token: ApiToken) -> None:
    """Revokes the token. Raises :class:`NotAllowed`, or :class:`Conflict` if it is already revoked."""
    _require_person(actor)
    if token.owner_id != actor.pk:
        raise NotAllowed(_("This is not your token."))
    with transaction.atomic():
        if not ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=Now()):
            raise Conflict(_("This token is already revoked."))
        audit_record(actor=actor, action=Action.TOKEN_REVOKED, obj=token, before={"name": token.name})


def tokens_revoke_all(*, actor: User, user: User, reason: str) -> int:
    """Revokes every token of a person who is locked out; gives their number, which is on record with each. Whoever
    comes back makes new ones."""
    with transaction.atomic():
        tokens = list(tokens_of(user=user).filter(_living()).select_for_update())
        ApiToken.objects.filter(pk__in=[token.pk for token in tokens]).update(revoked_at=Now())
        for token in tokens:
            audit_record(
                actor=actor,
                action=Action.TOKEN_REVOKED,
                obj=token,
                before={"name": token.name},
                after={"tokens_revoked": len(tokens)},
                reason=reason,
            )
    return len(tokens)


def tokens_of(*, user: User) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(owner=user).order_by("-id")


def token_for(*, user: User, pk: int) -> ApiToken:
    """A person's own token; else 404."""
    return get_object_or_404(tokens_of(user=user), pk=pk)


def token_with_key(key: str) -> ApiToken | None:
    """The valid token of an active person with this key. Records its use."""
    if not key.startswith(PREFIX):
        return None
    token = (
        ApiToken.objects.select_related("owner")
        .filter(_living(), key_hash=_hash(key), owner__is_active=True, owner__is_system=False)
        .first()
    )
    if token is not None:
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=timezone.now() - _USE_WRITTEN_EVERY)
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=Now())
    return token


def _living() -> Q:
    return Q(revoked_at__isnull=True, expires_at__gt=Now())


def _hash(key: str) -> str:
    """Hashes a key. Keys are random with 256 bits, so a plain hash is enough and can be looked up."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def _require_person(actor: User) -> None:
    if getattr(actor, "token_scopes", None) is not None:
        raise NotAllowed(_("Sign in to create or revoke tokens. A token cannot do this."))
