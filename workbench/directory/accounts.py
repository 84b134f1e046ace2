"""Accounts as a directory makes, changes and withdraws them. None is ever deleted: what it did stays on record."""

from __future__ import annotations

from contextlib import suppress

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.accounts.models import Membership, User
from workbench.accounts.sessions import sessions_end
from workbench.api.tokens import tokens_revoke_all
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed
from workbench.people.services import (
    address_checked,
    address_vouch,
    membership_revoke,
    second_factor_remove,
    user_create,
)

from .groups import roles_sync
from .models import MAX_NAME, DirectoryPerson

_WITHDRAWN = "account withdrawn by the directory"


def accounts_seen() -> QuerySet[User]:
    """The accounts that a directory sees: of people, without those it withdrew."""
    rows = User.objects.filter(is_system=False).exclude(directory__withdrawn_at__isnull=False)
    return rows.select_related("directory").order_by("pk")


def account_provision(*, user_name: str, email: str, name: str, external_id: str, is_active: bool) -> User:
    """A new account, or the one that the directory withdrew of this person. Either holds no role, no password and no
    token: a name that is given again may be somebody else's.

    Raises :class:`Conflict` when somebody has the name or the address, :class:`WorkbenchError` for an address that is
    none.
    """
    email = address_checked(email)
    said = {"user_name": user_name, "email": email, "external_id": external_id}
    with transaction.atomic():
        user = _former(**said)
        _make_way(user_name=user_name, email=email, besides=user)
        if user is None:
            user = user_create(actor=User.objects.system(), email=email, name=name)
            address_vouch(user=user)
        try:
            with transaction.atomic():
                DirectoryPerson.objects.update_or_create(
                    user=user, defaults={"user_name": user_name[:MAX_NAME], "withdrawn_at": None}
                )
        except IntegrityError as error:
            raise _taken() from error
        account_change(user=user, name=name, is_active=is_active, **said)
    return user


def _former(*, user_name: str, email: str, external_id: str) -> User | None:
    """The withdrawn account of the same person: the directory's key agrees, or user name and address do and no key
    says otherwise. It comes back without what it could do."""
    rows = _withdrawn()
    known = rows.filter(external_id=external_id).first() if external_id else None
    if known is not None:
        _close(known.user)
        return known.user
    alike = rows.filter(user_name__iexact=user_name, user__email=email).first()
    if alike is None or (alike.external_id and external_id):
        return None
    _close(alike.user)
    # The last admin of a collection: a key must say that it is the same person.
    return None if Membership.objects.filter(user=alike.user).exists() else alike.user


def _make_way(*, user_name: str, email: str, besides: User | None) -> None:
    """Withdrawn accounts keep their records and give name and address to who has them now."""
    taken = Q(user_name__iexact=user_name) | Q(user__email=email)
    for row in _withdrawn().filter(taken).exclude(user=besides):
        _require_ordinary(row.user)
        _unlink(row.user)  # once more: whoever tried to sign in meanwhile was linked again, in vain
        row.user_name = f"withdrawn-{row.user_id}:{row.user_name}"[:MAX_NAME]
        row.save(update_fields=["user_name"])
        _rename(row.user, email=f"withdrawn-{row.user_id}@workbench.invalid", name=row.user.name)


def _withdrawn() -> QuerySet[DirectoryPerson]:
    rows = DirectoryPerson.objects.filter(withdrawn_at__isnull=False).select_related("user")
    return rows.order_by("-withdrawn_at").select_for_update(of=("self",))


def account_change(
    *, user: User, user_name: str, email: str, name: str, external_id: str, is_active: bool
) -> None:
    """What the directory says of an account from now on.

    Raises :class:`NotAllowed` for an administrator of the installation, whom no directory can lock out or become;
    :class:`Conflict` for a name or an address that somebody else has.
    """
    _require_ordinary(user)
    email = address_checked(email)
    with transaction.atomic():
        try:
            with transaction.atomic():
                DirectoryPerson.objects.update_or_create(
                    user=user,
                    defaults={
                        "user_name": user_name[:MAX_NAME],
                        "external_id": external_id[:MAX_NAME],
                        "changed_at": Now(),
                    },
                )
                _rename(user, email=email, name=name.strip()[:120] or user.name)
        except IntegrityError as error:
            raise _taken() from error
        _switch(user, is_active=is_active)
    user.refresh_from_db()


def account_withdraw(*, user: User) -> None:
    """The directory has deleted the account: it is switched off and stays for the trail. It holds no role any more but
    that of the last admin of a collection, and nothing that opened it opens it again."""
    _require_ordinary(user)
    with transaction.atomic():
        DirectoryPerson.objects.update_or_create(
            user=user,
            defaults={"withdrawn_at": Now()},
            create_defaults={"user_name": user.email, "withdrawn_at": Now()},
        )
        for group in user.directory_groups.all():
            group.members.remove(user)
        _switch(user, is_active=False)
        roles_sync(users=[user])
        _close(user)


def _close(user: User) -> None:
    """Takes away what opened the account, and what it could do."""
    _require_ordinary(user)
    system = User.objects.system()
    user.set_unusable_password()  # no session outlives it
    user.save(update_fields=["password"])
    tokens_revoke_all(actor=system, user=user, reason=_WITHDRAWN)
    for authenticator in Authenticator.objects.filter(user=user):
        second_factor_remove(actor=system, authenticator=authenticator)
    _unlink(user)
    for membership in (
        Membership.objects.filter(user=user).select_related("collection").order_by("collection_id")
    ):
        with suppress(Conflict):  # the last admin
            membership_revoke(
                actor=system,
                user=user,
                collection=membership.collection,
                role=membership.role,
                reason=_WITHDRAWN,
            )
    audit_record(actor=system, action=Action.ACCOUNT_WITHDRAWN, obj=user)


def _unlink(user: User) -> None:
    """Single sign-on leads to the account no more: the provider may give its name of the person to somebody else."""
    if apps.is_installed("allauth.socialaccount"):
        apps.get_model("socialaccount", "SocialAccount").objects.filter(user=user).delete()


def _rename(user: User, *, email: str, name: str) -> None:
    before = {"email": user.email, "name": user.name}
    after = {"email": email, "name": name}
    if before == after:
        return
    user.email, user.name = email, name
    user.save(update_fields=["email", "name"])
    if before["email"] != email:
        EmailAddress.objects.filter(user=user).delete()
        address_vouch(user=user)
    audit_record(
        actor=User.objects.system(), action=Action.ACCOUNT_CHANGED, obj=user, before=before, after=after
    )


def _switch(user: User, *, is_active: bool) -> None:
    if user.is_active == is_active:
        return
    user.is_active = is_active
    user.save(update_fields=["is_active"])
    action = Action.ACCOUNT_SWITCHED_ON if is_active else Action.ACCOUNT_SWITCHED_OFF
    audit_record(actor=User.objects.system(), action=action, obj=user)
    if is_active:
        roles_sync(users=[user])
    else:
        # Both would work again once the account is switched on.
        sessions_end(user=user)
        tokens_revoke_all(actor=User.objects.system(), user=user, reason="account switched off")


def _taken() -> Conflict:
    return Conflict(_("Somebody has this name or address already."), code="uniqueness")


def _require_ordinary(user: User) -> None:
    if user.is_staff or user.is_superuser or user.is_system:
        raise NotAllowed(_("Accounts of administrators are managed in the product, not by a directory."))
