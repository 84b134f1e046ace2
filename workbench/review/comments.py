"""Comments on runs and candidates, and the people they mention."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from workbench.accounts.models import Membership, User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection
from workbench.errors import NotAllowed, WorkbenchError
from workbench.infra.storable import storable
from workbench.runs.models import Candidate, Run

from .models import Comment, NotificationKind
from .notifications import notify

MOST_CHARACTERS = 4000
#: ``@name``: the part of an e-mail address before its @, not inside another address.
_MENTION = re.compile(r"(?<![\w.+-])@([\w][\w.+-]{0,63})")


@dataclass(frozen=True, slots=True)
class CommentOutcome:
    """The comment, who was notified, and unknown names."""

    comment: Comment
    mentioned: list[User]
    unknown: list[str]


def comment_add(*, actor: User, run: Run, body: str, candidate: Candidate | None = None) -> CommentOutcome:
    """Posts a comment on a run or one of its candidates. Members mentioned as ``@name`` are notified. Any member who
    can see the run can comment. Raises :class:`NotAllowed` or :class:`WorkbenchError` (empty, too long, or a candidate
    of another run)."""
    if not has_permission(actor, run.collection, Permission.VIEW):
        raise NotAllowed(_("You may not comment here."))
    body = storable(body).strip()
    if not body:
        raise WorkbenchError(_("Write something."), code="comment_missing")
    if len(body) > MOST_CHARACTERS:
        raise WorkbenchError(
            _("At most %(limit)d characters.") % {"limit": MOST_CHARACTERS}, code="comment_too_long"
        )
    if candidate is not None and candidate.run_id != run.pk:
        raise WorkbenchError(_("This candidate belongs to another run."), code="elsewhere")
    people = handles_of(collection=run.collection)
    names = mentions_in(body)
    mentioned = {person.pk: person for name in names for person in people.get(name, [])}
    with transaction.atomic():
        comment = Comment.objects.create(run=run, candidate=candidate, author=actor, body=body)
        audit_record(
            actor=actor,
            action=Action.COMMENT_ADDED,
            obj=run,
            after={
                "comment": comment.pk,
                "candidate_id": candidate.candidate_id if candidate else None,
                "mentions": sorted(mentioned),
            },
        )
        notify(
            users=list(mentioned.values()),
            kind=NotificationKind.MENTION,
            actor=actor,
            run=run,
            candidate=candidate,
            comment=comment,
        )
    return CommentOutcome(comment, list(mentioned.values()), [name for name in names if name not in people])


def mentions_in(body: str) -> list[str]:
    """The mentioned names in order, without duplicates and without a trailing full stop."""
    found = (match.group(1).rstrip(".+-").casefold() for match in _MENTION.finditer(body))
    return list(dict.fromkeys(name for name in found if name))


def handles_of(*, collection: Collection) -> dict[str, list[User]]:
    """Members by mention name. Two people with the same name are both notified."""
    handles: dict[str, list[User]] = {}
    members = Membership.objects.filter(collection=collection, user__is_active=True)
    for person in User.objects.filter(pk__in=members.values("user_id")).order_by("name", "pk"):
        handles.setdefault(person.email.partition("@")[0].casefold(), []).append(person)
    return handles
