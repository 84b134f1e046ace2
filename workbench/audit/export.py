"""Exports of the trail that can be checked without the product (``verifier.py``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Min

from workbench.documents.models import Collection

from .chain import SELECT_EVENT, canonical_event, iso_time, stream
from .models import AuditEvent, AuditSeal
from .services import audit_record
from .verifier import EXPORT_FORMAT, GENESIS, Signature
from .verify import snapshot

if TYPE_CHECKING:
    from workbench.accounts.models import User

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
        """Whether a canonical event belongs to the export."""
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


def audit_export(*, actor: User, scope: ExportScope, to: TextIO) -> dict[str, Any]:
    """Writes an export as JSON lines, records that it was made, and gives its header.

    The events of the scope stand whole between the links of all others, of which only hashes are shown; an
    event that is not sealed yet is left out. Ends at the head of the chain, so that it can be held against
    an anchor. With AUDIT_EXPORT_KEY the last line is a signature of all others.
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
        write(header)
        for link in _links(scope, header["start_position"], header["start_position"] + header["links"] - 1):
            write(link)
    if signature is not None:
        to.write(json.dumps({"signature": signature.value()}) + "\n")
    with transaction.atomic():
        audit_record(
            actor=actor,
            action="audit.exported",
            obj=scope.collection,
            after=scope.as_json()
            | {"events": header["events"], "head": header["head"], "signed": signature is not None},
        )
    return header


def _header(scope: ExportScope) -> dict[str, Any]:
    events = AuditEvent.objects.filter(seal__isnull=False)
    if scope.collection is not None:
        events = events.filter(collection_id=scope.collection.pk)
    if scope.since is not None:
        events = events.filter(created_at__gte=scope.since)
    if scope.until is not None:
        events = events.filter(created_at__lt=scope.until)
    found = events.aggregate(number=Count("pk"), first=Min("seal__position"))
    head = AuditSeal.objects.order_by("-position").first()
    end, head_hash = (head.position, head.hash) if head else (0, GENESIS)
    start = found["first"] or end + 1
    before = AuditSeal.objects.filter(position=start - 1).values_list("hash", flat=True).first()
    return {
        "format": EXPORT_FORMAT,
        "scope": scope.as_json(),
        "events": found["number"],
        "links": end - start + 1,
        "start_position": start,
        "start_hash": before or GENESIS,
        "head": head_hash,
    }


def _links(scope: ExportScope, first: int, last: int) -> Iterator[dict[str, Any]]:
    for position, digest, link_hash, *columns in stream(_LINKS, [first, last]):
        link = {"position": position, "event_hash": digest, "hash": link_hash}
        event = canonical_event(tuple(columns))
        yield link | {"event": event} if scope.covers(event) else link
