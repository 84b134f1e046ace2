"""Whose file is read next.

A message says that some file waits, not which one comes next: it takes the file whose turn it is. The collection with
the fewest files in hand goes first, then the one that has waited longest since a file of it was done; inside a
collection the oldest goes first. Where a machine reads several files at once, one collection leaves one of the places
to others, so that a hundred files of one tenant hold up no other tenant's.
"""

from __future__ import annotations

import socket

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Max, Min, Q, QuerySet
from django.db.models.functions import Now

from workbench.audit.locks import LockSpace, advisory_lock
from workbench.infra.leases import HOST_CHARACTERS, lease_claim, lease_free

from .models import WORKING_STATUSES, Collection, Document


def turn_take(*, owner: str) -> int | None:
    """Claims the next file; None if none waits, or this machine has enough in progress."""
    with transaction.atomic():
        advisory_lock(LockSpace.INGEST_TURN)
        in_hand = _in_hand()
        if in_hand.aggregate(count=Count("pk"))["count"] >= settings.INGEST_AT_ONCE:
            return None
        full = [
            row["collection_id"]
            for row in in_hand.values("collection_id").annotate(count=Count("pk"))
            if row["count"] >= max(1, settings.INGEST_AT_ONCE - 1)
        ]
        document_id = _first_in_turn(without=full)
        if document_id is None:
            return None
        rows = Document.objects.filter(pk=document_id, status__in=WORKING_STATUSES)
        return document_id if lease_claim(rows, owner=owner) else None


def a_file_waits() -> int | None:
    """A file that nobody is processing, for the next message; None if there is none."""
    first = Document.objects.filter(lease_free(), status__in=WORKING_STATUSES).aggregate(first=Min("pk"))
    return first["first"]


def _in_hand() -> QuerySet[Document]:
    """Files that processes of this machine are reading."""
    host = f"{socket.gethostname()[:HOST_CHARACTERS]}:"
    return Document.objects.filter(
        status__in=WORKING_STATUSES, lease_until__gte=Now(), lease_owner__startswith=host
    )


def _first_in_turn(*, without: list[int]) -> int | None:
    waits = lease_free() & Q(status__in=WORKING_STATUSES)
    waiting = dict(
        Document.objects.filter(waits)
        .exclude(collection_id__in=without)
        .values_list("collection_id")
        .annotate(first=Min("pk"))
    )
    if not waiting:
        return None
    in_hand = Count(
        "documents",
        filter=Q(documents__status__in=WORKING_STATUSES, documents__lease_until__gte=Now()),
    )
    first = (
        Collection.objects.filter(pk__in=waiting)
        .annotate(in_hand=in_hand, served=Max("documents__finished_at"))
        .order_by("in_hand", F("served").asc(nulls_first=True), "pk")
        .values_list("pk", flat=True)
        .first()
    )
    return None if first is None else waiting[first]
