"""People, their roles, and what is on record of both. Everything here writes its audit event."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from workbench.accounts.door import failure_count
from workbench.accounts.memberships import roles_forget
from workbench.accounts.models import MemberRole, Membership, User
from workbench.accounts.permissions import Permission, has_permission, token_acts
from workbench.audit.actions import Action
from workbench.audit.models import ActorKind
from workbench.audit.services import audit_record
from workbench.direction import shown
from workbench.documents.models import Collection
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.shared_cache import count_hit

if TYPE_CHECKING:
    from allauth.mfa.models import Authenticator

    from workbench.audit.models import AuditEvent

#: Invitations by one person in an hour, and to one person in a day.
MOST_INVITATIONS_BY, MOST_INVITATIONS_TO = 30, 3
_HOUR, _DAY = 3600, 24 * 3600
#: Makes a path into an address that works in a message, as ``infra.addresses.public_address`` does.
BuildUrl = Callable[[str], str]


class TooManyInvitations(Conflict):
    """No further message is sent for now."""

    code = "too_many_invitations"


def user_create(
    *, actor: User, email: str, name: str = "", password: str | None = None, is_staff: bool = False
) -> User:
    """A new person; without a password they set one by themselves, through an invitation.

    Raises :class:`NotAllowed` unless the actor administers the installation, :class:`WorkbenchError` for an
    address that is none, :class:`Conflict` when somebody has it.
    """
    if not (actor.is_system or actor.is_staff):
        raise NotAllowed(_("Only an administrator of the installation makes accounts."))
    return _user_create(actor=actor, email=email, name=name, password=password, is_staff=is_staff)


def user_invite(
    *,
    actor: User,
    collection: Collection,
    email: str,
    role: str,
    name: str = "",
    build_url: BuildUrl,
) -> Membership:
    """Gives a person a role by e-mail address; somebody new gets an account and a message to set a password.

    Raises as :func:`membership_grant` does, :class:`WorkbenchError` for an address that is none, and
    :class:`TooManyInvitations` for somebody new.
    """
    require_manage(actor, collection)
    with transaction.atomic():
        user = User.objects.filter(email=email.strip().lower()).first()
        is_new = user is None
        if user is None:
            user = _user_create(actor=actor, email=email, name=name, collection_id=collection.pk)
        membership = membership_grant(actor=actor, user=user, collection=collection, role=role)
        if user.is_waiting:
            try:
                invitation_send(actor=actor, user=user, collection=collection, build_url=build_url)
            except TooManyInvitations:
                if is_new:
                    raise
                # Whoever has an account gets the role without one more message.
    return membership


def invitation_send(*, actor: User, user: User, collection: Collection, build_url: BuildUrl) -> None:
    """Sends, after commit, the message with which a new person sets a password; it can be sent again.

    Raises :class:`Conflict` when the person has a password or is switched off, :class:`TooManyInvitations` beyond the
    limits: anybody can make a collection and invite to it.
    """
    require_manage(actor, collection)
    if not user.is_active:
        raise Conflict(_("The account of %(person)s is switched off.") % {"person": user})
    if not user.is_waiting:
        raise Conflict(_("%(person)s has a password already.") % {"person": user})
    _invitation_count(actor=actor, user=user)
    key = f"{user_pk_to_url_str(user)}-{default_token_generator.make_token(user)}"
    path = reverse("account_reset_password_from_key", kwargs={"uidb36": "UID", "key": "KEY"})
    context = {
        "person": user,
        "collection": collection,
        "inviter": actor,
        "url": build_url(path.replace("UID-KEY", key)),
    }
    with translation.override(user.language or translation.get_language()):
        body = render_to_string("accounts/email/invitation.txt", context)
        subject = _("Your invitation to %(collection)s") % {"collection": collection.name}
    with transaction.atomic():
        audit_record(actor=actor, action=Action.ACCOUNT_INVITED, obj=user, collection_id=collection.pk)
        # One line: a name must not add headers.
        send = partial(send_mail, shown(" ".join(subject.split())), shown(body), None, [user.email])
        transaction.on_commit(send, robust=True)


def _invitation_count(*, actor: User, user: User) -> None:
    now = int(timezone.now().timestamp())
    if count_hit(f"invitations:by:{actor.pk}:{now // _HOUR}", seconds=2 * _HOUR) > MOST_INVITATIONS_BY:
        raise TooManyInvitations(
            _("You sent %(n)d invitations within an hour. Try again in an hour.") % {"n": MOST_INVITATIONS_BY}
        )
    if count_hit(f"invitations:to:{user.pk}:{now // _DAY}", seconds=2 * _DAY) > MOST_INVITATIONS_TO:
        raise TooManyInvitations(
            _("%(person)s was invited %(n)d times today. Try again tomorrow.")
            % {"person": user, "n": MOST_INVITATIONS_TO}
        )


def language_choose(*, user: User, language: str) -> None:
    """The language of a person's pages and mails; a preference, no event of the trail.

    Raises :class:`NotAllowed` for a program that may only read, :class:`WorkbenchError` for a language that the product
    does not speak.
    """
    if not token_acts(user):
        raise NotAllowed(_("This token may only read."))
    if language not in dict(settings.LANGUAGES):
        raise WorkbenchError(_("There is no such language here."), code="unknown_language")
    user.language = language
    user.save(update_fields=["language"])


def membership_grant(*, actor: User, user: User, collection: Collection, role: str) -> Membership:
    """Gives a person a role in a collection; gives the one that is there when they have it.

    Raises :class:`NotAllowed` without the right to manage the collection, :class:`WorkbenchError` for an
    unknown role and for an account that nobody logs in to.
    """
    require_manage(actor, collection)
    if role not in MemberRole.values:
        raise WorkbenchError(_("Choose one of the roles."), code="unknown_role")
    if user.is_system or not user.is_active:
        raise WorkbenchError(_("This account cannot be given a role."), code="not_a_person")
    with transaction.atomic():
        membership, created = Membership.objects.get_or_create(user=user, collection=collection, role=role)
        if created:
            audit_record(
                actor=actor,
                action=Action.MEMBERSHIP_GRANTED,
                obj=user,
                collection_id=collection.pk,
                after={"role": role},
            )
    roles_forget(user=actor)
    return membership


def membership_revoke(
    *, actor: User, user: User, collection: Collection, role: str, reason: str = ""
) -> None:
    """Takes a role in a collection away.

    Raises :class:`NotAllowed` without the right to manage the collection, :class:`Conflict` when the person
    does not hold the role, or would be the last to manage the collection.
    """
    require_manage(actor, collection)
    with transaction.atomic():
        # Two admins who remove each other at once would both find the other one there.
        # The key stays free: rows that are added elsewhere at the same time look at it.
        Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
        admins = Membership.objects.filter(collection=collection, role=MemberRole.ADMIN, user__is_active=True)
        if role == MemberRole.ADMIN and not admins.exclude(user=user).exists():
            raise Conflict(_("A collection keeps at least one admin. Make somebody else admin first."))
        deleted, _rows = Membership.objects.filter(user=user, collection=collection, role=role).delete()
        if not deleted:
            raise Conflict(_("%(person)s does not hold this role any more.") % {"person": user})
        audit_record(
            actor=actor,
            action=Action.MEMBERSHIP_REVOKED,
            obj=user,
            collection_id=collection.pk,
            before={"role": role},
            reason=reason,
        )
    roles_forget(user=actor)


def account_event_record(*, user: User | None, event: str, address: str = "", **details: str) -> AuditEvent:
    """Puts what happened at the door on record: ``logged_in``, ``login_failed``, ``password_changed``, ...

    ``user`` is None for a failed login of nobody we know; what was typed is not kept, people type passwords
    into the wrong field.
    """
    with transaction.atomic():
        return audit_record(
            actor=user,
            actor_kind=ActorKind.PERSON,
            action=Action(f"account.{event}"),
            obj=user,
            after={"address": address, **details} if address or details else None,
        )


def login_failure_record(*, email: str, address: str) -> AuditEvent:
    """A login that failed, on the record of the account that was tried, if there is one."""
    user = User.objects.filter(email=email.strip().lower()).first()
    with transaction.atomic():
        if user is not None:
            failure_count(user=user)
        return audit_record(
            actor=None,
            actor_kind=ActorKind.PERSON,
            action=Action.ACCOUNT_LOGIN_FAILED,
            obj=user,
            after={"address": address} if address else None,
        )


def failures_tell(*, user_id: int) -> None:
    """Writes to the owner of an account that its password was tried again and again."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or not user.email:
        return
    with translation.override(user.language or settings.LANGUAGE_CODE):
        context = {"person": user, "n": settings.LOGIN_FAILURES_TOLD}
        body = render_to_string("accounts/email/failures.txt", context)
        subject = _("Somebody failed to sign in to your account")
    send_mail(subject, body, None, [user.email])


def address_vouch(*, user: User) -> None:
    """The address of an account is confirmed: an administrator gave it, or its owner followed the link sent to it.

    allauth takes an unconfirmed address for one that somebody is about to change to, and drops it for another.
    """
    if user.email and not EmailAddress.objects.filter(user=user, verified=True).exists():
        EmailAddress.objects.update_or_create(
            user=user, email=user.email, defaults={"primary": True, "verified": True}
        )


def second_factor_remove(*, actor: User, authenticator: Authenticator) -> None:
    """Takes the second factor of somebody who lost it away. Raises :class:`NotAllowed` for who is no superuser."""
    if not (actor.is_system or (actor.is_active and actor.is_superuser)):
        raise NotAllowed(_("Only an administrator of the installation takes a second factor away."))
    with transaction.atomic():
        audit_record(
            actor=actor,
            action=Action.ACCOUNT_AUTHENTICATOR_REMOVED,
            obj=authenticator.user,
            before={"kind": str(authenticator.type)},
        )
        authenticator.delete()


def address_checked(email: str) -> str:
    """An e-mail address as accounts keep it. Raises :class:`WorkbenchError` for what is none."""
    email = email.strip().lower()
    try:
        validate_email(email)
    except ValidationError as error:
        raise WorkbenchError(_("This is not an e-mail address."), code="bad_email") from error
    return email


def _user_create(
    *,
    actor: User,
    email: str,
    name: str = "",
    password: str | None = None,
    is_staff: bool = False,
    collection_id: int | None = None,
) -> User:
    email = address_checked(email)
    try:
        with transaction.atomic():
            user = User.objects.create_user(
                email, password, name=name.strip() or email.split("@")[0][:120], is_staff=is_staff
            )
            audit_record(
                actor=actor,
                action=Action.ACCOUNT_CREATED,
                obj=user,
                collection_id=collection_id,
                after={"email": email, "is_staff": is_staff},
            )
    except IntegrityError as error:
        raise Conflict(_("Somebody has this e-mail address already.")) from error
    return user


def require_manage(actor: User, collection: Collection) -> None:
    """Raises :class:`NotAllowed` unless the person is an admin of the collection."""
    if not has_permission(actor, collection, Permission.MANAGE):
        raise NotAllowed(_("Only an admin of the collection decides who belongs to it."))
