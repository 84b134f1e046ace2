"""Links by which an outsider reads the report of one signed run, and nothing else: made with a reason, for a time, each
opening on record, revoked at any moment."""

from __future__ import annotations

import hashlib
import secrets
import time
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from workbench.accounts.permissions import Permission, has_any_permission, member_condition
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.shared_cache import count_hit
from workbench.review.blindness import require_sight
from workbench.review.signing import standing_signature
from workbench.runs.models import Run
from workbench.runs.restrictions import runs_open_to

from .models import Export, ExportFile, ExportKind, ExportState, ReportLink
from .services import export_ask

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: A link lasts at most so many days; so many of a run are open at once.
LONGEST_DAYS, MOST_OPEN = 90, 20
#: Openings a minute, from one address and of one link.
MOST_OPENINGS = 30
_MINUTE = 60


class LinkClosed(WorkbenchError):
    """The token opens nothing: unknown, expired, revoked, its signature was set aside, or its maker may no
    longer make it or see a document. The answer is one for all."""

    code = "link_closed"
    status = 404


class TooManyOpenings(WorkbenchError):
    """The link, or somebody at that address, was at it too often."""

    code = "too_many_openings"
    status = 429


#: Whoever makes a link or revokes one holds one of these; a link lives as long as its maker does.
_MAKERS = (Permission.REVIEW, Permission.MANAGE)


def link_make(*, actor: User, run: Run, reason: str, days: int) -> tuple[ReportLink, str]:
    """A link to the report of a signed run, and its token, which nobody can read again. A worker makes the report.

    Raises :class:`NotAllowed` for who may neither sign nor manage, :class:`Conflict` for a run that is not signed or
    has many open links, :class:`WorkbenchError` without a reason or for a time out of range.
    """
    if not has_any_permission(actor, run.collection, *_MAKERS):
        raise NotAllowed(_("Only reviewers and admins of this collection may make a link."))
    require_sight(user=actor, runs=[run])
    if not reason.strip():
        raise WorkbenchError(_("Say who gets the link, and what for."), code="reason_missing")
    if not 1 <= days <= LONGEST_DAYS:
        raise WorkbenchError(
            _("A link lasts between 1 and %(most)d days.") % {"most": LONGEST_DAYS}, code="bad_days"
        )
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        locked = Run.objects.select_for_update(of=("self",)).select_related("collection").get(pk=run.pk)
        signature = standing_signature(run=locked)
        if signature is None:
            raise Conflict(
                _("Only a signed run can be shown to an outsider. Sign it first."), code="not_signed"
            )
        if ReportLink.objects.filter(run=locked, revoked_at=None, expires_at__gt=Now()).count() >= MOST_OPEN:
            raise Conflict(
                _("This run has %(n)d open links. Revoke one that is not used any more.") % {"n": MOST_OPEN},
                code="too_many_links",
            )
        asked = Export(collection=locked.collection, run=locked, kind=ExportKind.LINK, total=1)
        link = ReportLink.objects.create(
            collection=locked.collection,
            run=locked,
            signature=signature,
            export=export_ask(asked, actor=actor),
            reason=reason.strip(),
            token_hash=_hash(token),
            made_by=actor,
            expires_at=timezone.now() + timedelta(days=days),
        )
        audit_record(
            actor=actor,
            action=Action.LINK_MADE,
            obj=link,
            after={"run": run.pk, "signature": signature.pk, "expires_at": link.expires_at},
            reason=link.reason[:300],
        )
    return link, token


def link_revoke(*, actor: User, link: ReportLink) -> None:
    """The link opens nothing from now on. Raises :class:`NotAllowed`, or :class:`Conflict` when it did not before."""
    if not has_any_permission(actor, link.collection, *_MAKERS):
        raise NotAllowed(_("Only reviewers and admins of this collection may revoke a link."))
    with transaction.atomic():
        changed = ReportLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(
            revoked_at=Now(), revoked_by=actor
        )
        if not changed:
            raise Conflict(_("This link is revoked already."), code="revoked")
        audit_record(
            actor=actor,
            action=Action.LINK_REVOKED,
            obj=link,
            after={"run": link.run_id},
        )


def link_open(*, token: str, address: str) -> bytes | None:
    """The report behind a link, and a record that it was opened from this address; None while it is being made.

    Raises :class:`LinkClosed` and :class:`TooManyOpenings`.
    """
    _count(f"address:{address}")
    link = _living(token)
    _count(f"link:{link.pk}")
    export = link.export
    if export.state == ExportState.WAITING:
        return None
    file: ExportFile | None = export.files.first() if export.state == ExportState.READY else None
    if file is None or not default_storage.exists(file.path):
        raise LinkClosed(closed_words())
    with transaction.atomic():
        audit_record(
            actor=None,
            actor_kind="person",
            action=Action.LINK_OPENED,
            obj=link,
            after={"run": link.run_id, "address": address, "sha256": file.sha256},
        )
    with default_storage.open(file.path, "rb") as content:
        return bytes(content.read())


def _living(token: str) -> ReportLink:
    links = ReportLink.objects.filter(
        token_hash=_hash(token),
        revoked_at__isnull=True,
        expires_at__gt=Now(),
        signature__reopening__isnull=True,
    )
    link = links.select_related("export", "made_by").first()
    if link is None or not _is_open_to_maker(link):
        raise LinkClosed(closed_words())
    return link


def _is_open_to_maker(link: ReportLink) -> bool:
    """Whether whoever made the link may still make it, and see all that the run rests on: nobody shows what they may
    not see, and nobody's link outlives their role."""
    may_make = reduce(
        or_, (member_condition(link.made_by, permission, prefix="collection") for permission in _MAKERS)
    )
    return Run.objects.filter(may_make, runs_open_to(link.made_by), pk=link.run_id).exists()


def _count(key: str) -> None:
    minute = int(time.time()) // _MINUTE
    if count_hit(f"report-link:{key}:{minute}", seconds=2 * _MINUTE) > MOST_OPENINGS:
        raise TooManyOpenings(_("Too many openings. Wait a minute, then open the link again."))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def closed_words() -> str:
    """What whoever opens it reads, whatever the cause."""
    return _("This link does not work, or no longer works. Ask the person who sent it.")


def links_of(*, user: User, run: Run | None = None) -> QuerySet[ReportLink]:
    """The links that the person may see, newest first."""
    links = ReportLink.objects.visible_to(user).select_related(
        "run__question", "collection", "made_by", "revoked_by", "export"
    )
    links = links.select_related("signature__reopening")
    return (links if run is None else links.filter(run=run)).order_by("-pk")


def link_state(link: ReportLink) -> str:
    """What a link is: open, preparing, or why it opens nothing."""
    export_states = {ExportState.WAITING: "preparing", ExportState.READY: "open"}
    if link.revoked_at is not None:
        return "revoked"
    if link.expires_at <= timezone.now():
        return "expired"
    if hasattr(link.signature, "reopening"):
        return "reopened"
    if not _is_open_to_maker(link):
        return "restricted"
    return export_states.get(ExportState(link.export.state), "removed")


def link_for(*, user: User, pk: int) -> ReportLink:
    """A link that the person may see; else 404."""
    return get_object_or_404(links_of(user=user), pk=pk)
