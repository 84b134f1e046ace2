"""Restricts a document to some members of its collection, or opens it to all of them again."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.utils.translation import gettext as _

from workbench.accounts.models import Membership, User
from workbench.accounts.permissions import Permission, has_permission, roles_with
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import NotAllowed, WorkbenchError

from .models import Collection, Document
from .restrictions import Restriction

LONGEST_REASON = 500


def restriction_set(
    *, actor: User, document: Document, readers: Iterable[int] | None, reason: str
) -> Document:
    """Restricts the document to these members and the admins of its collection; None opens it to every member.
    ``readers`` are keys of people; if empty, only admins can see it. Raises :class:`NotAllowed` for people who do not
    manage the collection, :class:`WorkbenchError` without a reason or for a person who is not a member."""
    if not has_permission(actor, document.collection, Permission.MANAGE):
        raise NotAllowed(_("Only admins of this collection may say who sees a document."))
    if not reason.strip():
        raise WorkbenchError(_("Say why. The reason goes on record."), code="reason_missing")
    wanted = None if readers is None else _members(document.collection, readers)
    with transaction.atomic():
        locked = Document.objects.select_for_update(of=("self",), no_key=True).get(pk=document.pk)
        _put(actor=actor, document=locked, wanted=wanted, reason=reason.strip())
    document.refresh_from_db()
    return document


def restriction_inherit(*, actor: User, document: Document, older: Document) -> None:
    """Restricts a version of a restricted document to the same people, unless it has its own restriction. Call it
    inside the transaction that makes it a version."""
    known = Restriction.objects.filter(document=older).first()
    if known is not None and not Restriction.objects.filter(document=document).exists():
        readers = set(known.readers.values_list("pk", flat=True))
        _put(actor=actor, document=document, wanted=readers, reason="")


def readers_to_choose(*, collection: Collection) -> list[User]:
    """The members, by name, who only see a restricted document if it names them."""
    admins = Membership.objects.filter(collection=collection, role__in=roles_with(Permission.MANAGE))
    members = User.objects.filter(memberships__collection=collection).exclude(pk__in=admins.values("user"))
    return list(members.distinct().order_by("name", "email"))


def _members(collection: Collection, readers: Iterable[int]) -> set[int]:
    wanted = set(readers)
    known = set(
        Membership.objects.filter(collection=collection, user__in=wanted).values_list("user_id", flat=True)
    )
    if wanted - known:
        raise WorkbenchError(
            _("Name members of this collection only. Others do not see it at all."), code="not_a_member"
        )
    return wanted


def _put(*, actor: User, document: Document, wanted: set[int] | None, reason: str) -> None:
    known = Restriction.objects.filter(document=document).first()
    before = None if known is None else set(known.readers.values_list("pk", flat=True))
    if before == wanted:
        return
    if wanted is None:
        Restriction.objects.filter(document=document).delete()
    else:
        known = known or Restriction.objects.create(document=document, set_by=actor)
        known.readers.set(wanted)
    audit_record(
        actor=actor,
        action=Action.DOCUMENT_OPENED if wanted is None else Action.DOCUMENT_RESTRICTED,
        obj=document,
        collection_id=document.collection_id,
        before={"readers": None if before is None else sorted(before)},
        after={"readers": None if wanted is None else sorted(wanted)},
        reason=reason,
    )
