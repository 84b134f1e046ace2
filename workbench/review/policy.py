"""The shares of verdicts decided blind and by two people."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection
from workbench.errors import NotAllowed, WorkbenchError

from .models import ReviewPolicy


def policy_of(*, collection: Collection) -> ReviewPolicy:
    """The collection's shares, or the defaults."""
    return ReviewPolicy.objects.filter(collection=collection).first() or ReviewPolicy(collection=collection)


def policy_set(
    *,
    actor: User,
    collection: Collection,
    blind_share: float,
    second_share: float,
    check_share: float | None = None,
) -> ReviewPolicy:
    """Sets the shares (0 to 1) for later runs and bulk approvals. The share of bulk approvals is unchanged if omitted.
    Raises :class:`NotAllowed` for people who do not administer the collection."""
    if not has_permission(actor, collection, Permission.MANAGE):
        raise NotAllowed(_("Only admins of this collection change how it is reviewed."))
    given = {"blind_share": blind_share, "second_share": second_share}
    if check_share is not None:
        given["check_share"] = check_share
    if not all(0 <= share <= 1 for share in given.values()):
        raise WorkbenchError(_("A share is a number between 0 and 1."), code="share_invalid")
    with transaction.atomic():
        before = ReviewPolicy.objects.select_for_update().filter(collection=collection).first()
        policy, _created = ReviewPolicy.objects.update_or_create(
            collection=collection,
            defaults={**given, "changed_by": actor},
        )
        audit_record(
            actor=actor,
            action=Action.REVIEW_POLICY_CHANGED,
            obj=collection,
            before={name: getattr(before, name) for name in given} if before else None,
            after=given,
        )
    return policy
