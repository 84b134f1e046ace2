"""Accounts as a directory makes, changes and withdraws them. None is ever deleted: what it did stays on record."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.people.services import address_vouch, user_create

from .groups import roles_sync
from .models import MAX_NAME, DirectoryPerson


def accounts_seen() -> QuerySet[User]:
    """The accounts that a directory sees: of people, without those it withdrew."""
    rows = User.objects.filter(is_system=False).exclude(directory__withdrawn_at__isnull=False)
    return rows.select_related("directory").order_by("pk")


def account_provision(*, user_name: str, email: str, name: str, external_id: str, is_active: bool) -> User:
    """A new account, or the one that the directory withdrew under this name.

    Raises :class:`Conflict` when somebody has the name or the address, :class:`WorkbenchError` for an address that is
    none.
    """
    system = User.objects.system()
    with transaction.atomic():
        withdrawn = DirectoryPerson.objects.select_related("user").filter(
            Q(user_name__iexact=user_name) | Q(user__email=email.lower()), withdrawn_at__isnull=False
        )
        former = withdrawn.first()
        if former is None:
            user = user_create(actor=system, email=email, name=name)
            address_vouch(user=user)
        else:
            user = former.user
        try:
            with transaction.atomic():
                DirectoryPerson.objects.update_or_create(
                    user=user, defaults={"user_name": user_name, "withdrawn_at": None}
                )
        except IntegrityError as error:
            raise _taken() from error
        account_change(
            user=user,
            user_name=user_name,
            email=email,
            name=name,
            external_id=external_id,
            is_active=is_active,
        )
    return user


def account_change(
    *, user: User, user_name: str, email: str, name: str, external_id: str, is_active: bool
) -> None:
    """What the directory says of an account from now on.

    Raises :class:`NotAllowed` for an administrator of the installation, whom no directory can lock out or become;
    :class:`Conflict` for a name or an address that somebody else has.
    """
    _require_ordinary(user)
    email = _address(email)
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
    """The directory has deleted the account: it is switched off, holds no role through a group, and stays."""
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


def _address(email: str) -> str:
    email = email.strip().lower()
    try:
        validate_email(email)
    except ValidationError as error:
        raise WorkbenchError(_("This is not an e-mail address."), code="bad_email") from error
    return email


def _taken() -> Conflict:
    return Conflict(_("Somebody has this name or address already."), code="uniqueness")


def _require_ordinary(user: User) -> None:
    if user.is_staff or user.is_superuser or user.is_system:
        raise NotAllowed(_("Accounts of administrators are managed in the product, not by a directory."))
