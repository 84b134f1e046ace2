"""What people read of the trail."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from django.db.models import Exists, Model, OuterRef, Q
from django.urls import NoReverseMatch, reverse

from workbench.accounts.models import Membership
from workbench.accounts.permissions import Permission, roles_with
from workbench.audit.actions import label_of
from workbench.audit.models import AuditEvent, AuditEventQuerySet, object_type_of
from workbench.audit.withholding import withheld_from
from workbench.documents.models import Collection

from .diff import Change, changes_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from workbench.accounts.models import User

PAGE_SIZE = 50

#: Where an object of the trail can be looked at: the name of a page that takes the object's id.
_PAGES = {"document": "documents:document", "run": "questions:run"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailFilter:
    """What to show of the trail; empty values filter nothing.

    ``action`` is a prefix (``verdict.``), ``actor`` an e-mail address or a part of a name, ``since`` is
    included and ``until`` is not.
    """

    collection: Collection | None = None
    installation_only: bool = False
    action: str = ""
    actor: str = ""
    object_type: str = ""
    object_id: str = ""
    since: datetime | None = None
    until: datetime | None = None
    request_id: str = ""

    def apply(self, events: AuditEventQuerySet) -> AuditEventQuerySet:
        """The events that pass."""
        exact = {
            "collection_id": self.collection.pk if self.collection else None,
            "action__startswith": self.action,
            "object_type": self.object_type,
            "object_id": self.object_id,
            "created_at__gte": self.since,
            "created_at__lt": self.until,
            "request_id": self.request_id,
        }
        events = events.filter(**{lookup: value for lookup, value in exact.items() if value})
        if self.installation_only:
            events = events.filter(collection_id__isnull=True)
        if self.actor:
            events = events.filter(Q(actor__email__iexact=self.actor) | Q(actor_name__icontains=self.actor))
        return events


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailRow:
    """One event, as ``partials/_audit_row.html`` shows it."""

    id: int
    at: datetime
    actor: str
    actor_kind: str
    action: str
    action_label: str
    object_label: str
    object_url: str
    reason: str
    changes: list[Change]
    request_id: str
    sequence: int | None
    hash: str
    previous_hash: str


@dataclass(frozen=True, slots=True)
class TrailPage:
    """A stretch of the trail, newest first; cursors are ids of events, None at the ends."""

    rows: list[TrailRow]
    older: int | None
    newer: int | None


def audited_collections(*, user: User) -> list[Collection]:
    """The collections whose trail the user may read."""
    return list(Collection.objects.visible_to(user, Permission.AUDIT))


def may_read_trail(*, user: User) -> bool:
    """Whether there is any trail that the user may read."""
    return user.is_staff or Collection.objects.visible_to(user, Permission.AUDIT).exists()


def events_visible_to(user: User | AnonymousUser) -> AuditEventQuerySet:
    """Events of the collections that the user audits.

    Staff also read the events that belong to no living collection: those of the installation, and the trail that a
    deleted collection left behind. Left out is what the person must not know yet (``audit/withholding.py``).
    """
    events = AuditEvent.objects.all()
    if not user.is_authenticated or not user.is_active:
        return events.none()
    if user.is_system:
        return events
    allowed = Membership.objects.filter(user=user, role__in=roles_with(Permission.AUDIT))
    readable = Q(collection_id__in=allowed.values("collection_id"))
    if user.is_staff:
        readable |= ~Exists(Collection.objects.filter(pk=OuterRef("collection_id")))
    shown = events.filter(readable)
    for condition in withheld_from(user):
        shown = shown.exclude(condition)
    return shown


def trail_page(
    *,
    user: User,
    filters: TrailFilter,
    before: int | None = None,
    after: int | None = None,
    collections: Sequence[Collection] = (),
    limit: int = PAGE_SIZE,
) -> TrailPage:
    """The events that pass and that the user may read: older than ``before``, or newer than ``after``, or the
    newest. One query; ``collections`` gives the names to show."""
    events = filters.apply(events_visible_to(user)).select_related("seal")
    if after is not None:
        found = list(events.filter(pk__gt=after).order_by("pk")[: limit + 1])
        has_more, found = len(found) > limit, found[:limit][::-1]
        older, newer = True, has_more
    else:
        events = events.filter(pk__lt=before) if before is not None else events
        found = list(events.order_by("-pk")[: limit + 1])
        older, newer = len(found) > limit, before is not None
        found = found[:limit]
    names = {collection.pk: collection.slug for collection in collections}
    return TrailPage(
        rows=[_row(event, names) for event in found],
        older=found[-1].pk if found and older else None,
        newer=found[0].pk if found and newer else None,
    )


def history_of(obj: Model, *related: Model, limit: int = 500) -> list[TrailRow]:
    """The trail of one object, and of those that belong to it, oldest first: for its own page.

    Any member who may see an object may see its history, so give only objects that came from
    ``visible_to(user)``. One query.
    """
    ids: dict[str, list[str]] = defaultdict(list)
    for item in (obj, *related):
        ids[object_type_of(item)].append(str(item.pk))
    condition = reduce(or_, (Q(object_type=kind, object_id__in=keys) for kind, keys in ids.items()))
    events = AuditEvent.objects.filter(condition).select_related("seal").order_by("-pk")[:limit]
    return [_row(event, {}) for event in reversed(events)]


def _row(event: AuditEvent, collections: Mapping[int, str]) -> TrailRow:
    seal = getattr(event, "seal", None)
    return TrailRow(
        id=event.pk,
        at=event.created_at,
        actor=event.actor_name,
        actor_kind=event.actor_kind,
        action=event.action,
        action_label=label_of(event.action),
        object_label=_object_label(event, collections),
        object_url=_object_url(event),
        reason=event.reason,
        changes=changes_of(event.before, event.after),
        request_id=event.request_id,
        sequence=seal.position if seal else None,
        hash=seal.hash if seal else "",
        previous_hash=seal.prev_hash if seal else "",
    )


def _object_label(event: AuditEvent, collections: Mapping[int, str]) -> str:
    label = f"{event.object_type} {event.object_id}".strip()
    slug = collections.get(event.collection_id) if event.collection_id else None
    return f"{label} · {slug}" if slug else label


def _object_url(event: AuditEvent) -> str:
    kind, key = event.object_type, event.object_id
    if kind == "candidate":
        # A candidate is looked at on the page of its run, which its events name.
        kind, key = "run", str((event.after or {}).get("run", ""))
    if kind not in _PAGES or not key:
        return ""
    try:
        return reverse(_PAGES[kind], args=[key])
    except NoReverseMatch:
        return ""
