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
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now

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
    waiting = Document.objects.filter(lease_free(), status__in=WORKING_STATUSES)
    return waiting.order_by("collection_id", "pk").values_list("pk", flat=True).first()


def _in_hand() -> QuerySet[Document]:
    """Files that processes of this machine are reading."""
    host = f"{socket.gethostname()[:HOST_CHARACTERS]}:"
    return Document.objects.filter(
        status__in=WORKING_STATUSES, lease_until__gte=Now(), lease_owner__startswith=host
    )


def _first_in_turn(*, without: list[int]) -> int | None:
    """One look into an index for each collection, however many files wait or are done."""
    documents = Document.objects.filter(collection=OuterRef("pk"))
    waits = documents.filter(lease_free(), status__in=WORKING_STATUSES).order_by("pk").values("pk")
    done = documents.filter(finished_at__isnull=False).order_by("-finished_at").values("finished_at")
    held = documents.filter(status__in=WORKING_STATUSES, lease_until__gte=Now()).order_by()
    in_hand = held.values("collection").annotate(count=Count("pk")).values("count")
    return (
        Collection.objects.exclude(pk__in=without)
        .annotate(first=Subquery(waits[:1]))
        .filter(first__isnull=False)
        .annotate(in_hand=Coalesce(Subquery(in_hand), 0), served=Subquery(done[:1]))
        .order_by("in_hand", F("served").asc(nulls_first=True), "pk")
        .values_list("first", flat=True)
        .first()
    )
