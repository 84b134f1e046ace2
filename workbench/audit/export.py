"""Exports of the trail that can be checked without the product (``verifier.py``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from workbench.errors import Conflict

from .actions import Action
from .chain import SELECT_EVENT, canonical_event, iso_time, stream
from .models import AuditEvent, AuditSeal
from .services import audit_record, audit_seal
from .verifier import BOUND, EXPORT_FORMAT, GENESIS, Shown, Signature
from .verify import snapshot

if TYPE_CHECKING:
    from workbench.accounts.models import User
    from workbench.accounts.protocols import Collection

_LINKS = f"""
    SELECT s.position, s.event_hash, s.hash, {SELECT_EVENT}
    FROM audit_seal s JOIN audit_event e ON e.id = s.event_id
    WHERE s.position BETWEEN %s AND %s
    ORDER BY s.position
"""  # noqa: S608  (constants only)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportScope:
    """Which events an export shows: those of a collection (None = all) in a period, ``until`` excluded."""

    collection: Collection | None = None
    since: datetime | None = None
    until: datetime | None = None

    def covers(self, event: dict[str, Any]) -> bool:
        if self.collection is not None and event["collection_id"] != self.collection.pk:
            return False
        if self.since is not None and event["created_at"] < iso_time(self.since):
            return False
        return self.until is None or event["created_at"] < iso_time(self.until)

    def as_json(self) -> dict[str, Any]:
        """For the header."""
        return {
            "collection": self.collection.slug if self.collection else None,
            "since": iso_time(self.since) if self.since else None,
            "until": iso_time(self.until) if self.until else None,
        }


def head_anchor() -> dict[str, Any] | None:
    """Position, hash and time of the last seal; None before the first."""
    seal = AuditSeal.objects.order_by("-position").first()
    if seal is None:
        return None
    return {"position": seal.position, "hash": seal.hash, "time": iso_time(seal.sealed_at)}


def anchors_after(position: int) -> list[dict[str, Any]]:
    """The links to anchor when all up to ``position`` were: that of each export since, which binds what it shows, and
    the last seal. Empty before the first seal."""
    head = head_anchor()
    if head is None:
        return []
    seals = AuditSeal.objects.filter(
        event__action=Action.AUDIT_EXPORTED, position__gt=position, position__lt=head["position"]
    )
    exports = [
        {"position": seal.position, "hash": seal.hash, "time": iso_time(seal.sealed_at)}
        for seal in seals.order_by("position")
    ]
    return [*exports, head]


def audit_anchor(*, actor: User, after: int = 0) -> list[dict[str, Any]]:
    """The links to keep elsewhere, when all up to ``after`` were; who took them is on record. Raises :class:`Conflict`
    before the first seal."""
    with transaction.atomic():
        anchors = anchors_after(after)
        if not anchors:
            raise Conflict(_("No event is sealed yet. Try again in a few seconds."), code="nothing_sealed")
        head = anchors[-1]
        audit_record(
            actor=actor,
            action=Action.AUDIT_ANCHORED,
            after={"position": head["position"], "hash": head["hash"], "links": len(anchors)},
        )
    return anchors


def audit_export(*, actor: User, scope: ExportScope, to: TextIO) -> dict[str, Any]:
    """Records an export, writes it as JSON lines, and gives its header.

    The events of the scope stand whole between the links of all others, of which only hashes are shown; an
    event that is not sealed yet is left out. The event that records the export says what it shows and is its last link,
    so that whoever has an anchor of that link knows that nothing is missing. With AUDIT_EXPORT_KEY the last line is a
    signature of all others.
    """
    key = settings.AUDIT_EXPORT_KEY
    signature = Signature(key.encode("utf-8")) if key else None

    def write(row: dict[str, Any]) -> None:
        line = json.dumps(row) + "\n"
        to.write(line)
        if signature is not None:
            signature.add(line)

    with snapshot():
        header = _header(scope)
    with transaction.atomic():
        event = audit_record(
            actor=actor,
            action=Action.AUDIT_EXPORTED,
            obj=scope.collection,
            after=scope.as_json()
            | {name: header[name] for name in BOUND}
            | {"head": header["head"], "signed": signature is not None},
        )
    closing = _sealed(event)
    header |= {"links": closing.position - header["start_position"] + 1, "head": closing.hash}
    with snapshot():
        write(header)
        for link in _links(scope, header, closing.position):
            write(link)
    if signature is not None:
        to.write(json.dumps({"signature": signature.value()}) + "\n")
    return header


def _header(scope: ExportScope) -> dict[str, Any]:
    """What an export made now shows, up to the head of the chain."""
    seals = AuditSeal.objects.all()
    if scope.collection is not None:
        seals = seals.filter(event__collection_id=scope.collection.pk)
    if scope.since is not None:
        seals = seals.filter(event__created_at__gte=scope.since)
    if scope.until is not None:
        seals = seals.filter(event__created_at__lt=scope.until)
    head = AuditSeal.objects.order_by("-position").first()
    end, head_hash = (head.position, head.hash) if head else (0, GENESIS)
    shown, start = Shown(), end + 1
    for position in seals.order_by("position").values_list("position", flat=True).iterator():
        start = min(start, position)
        shown.add(position)
    before = AuditSeal.objects.filter(position=start - 1).values_list("hash", flat=True).first()
    return {
        "format": EXPORT_FORMAT,
        "scope": scope.as_json(),
        "collection_id": scope.collection.pk if scope.collection else None,
        "events": shown.number,
        "links": end - start + 1,
        "start_position": start,
        "start_hash": before or GENESIS,
        "end_position": end,
        "shown_sha256": shown.value(),
        "head": head_hash,
    }


def _sealed(event: AuditEvent) -> AuditSeal:
    """The event's place in the chain, which it gets at once."""
    while (seal := AuditSeal.objects.filter(event=event).first()) is None:
        audit_seal(wait=True)
    return seal


def _links(scope: ExportScope, header: dict[str, Any], closing: int) -> Iterator[dict[str, Any]]:
    for position, digest, link_hash, *columns in stream(_LINKS, [header["start_position"], closing]):
        link = {"position": position, "event_hash": digest, "hash": link_hash}
        event = canonical_event(tuple(columns))
        is_shown = scope.covers(event) if position <= header["end_position"] else position == closing
        yield link | {"event": event} if is_shown else link
