"""What pages, commands and tasks read about collections and documents."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Q
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from workbench.accounts.permissions import Permission

from .models import WORKING_STATUSES, Collection, Document, DocumentQuerySet

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: A queued row whose message should have arrived long ago.
LOST_AFTER = timedelta(seconds=15)


def collection_for(*, user: User, slug: str, permission: Permission = Permission.VIEW) -> Collection:
    """The collection, if the user may do this in it; else 404, as if it did not exist."""
    return get_object_or_404(Collection.objects.visible_to(user, permission), slug=slug)


def document_for(*, user: User, pk: int, permission: Permission = Permission.VIEW) -> Document:
    """The document, if the user may do this with it; else 404, as if it did not exist."""
    documents = Document.objects.visible_to(user, permission).select_related("collection", "uploaded_by")
    return get_object_or_404(documents, pk=pk)


def documents_of(*, collection: Collection) -> DocumentQuerySet:
    """A collection's documents, newest first."""
    return Document.objects.filter(collection=collection).select_related("uploaded_by")


def document_named(*, collection: Collection, name: str) -> Document | None:
    """A document by file name, newest first, or by id (``42`` or ``d42``)."""
    documents = Document.objects.filter(collection=collection)
    by_name = documents.filter(name=name).order_by("-id").first()
    if by_name:
        return by_name
    digits = name.removeprefix("d")
    return documents.filter(pk=int(digits)).first() if digits.isdecimal() else None


def documents_to_wake(*, free: Q) -> list[int]:
    """Documents that nobody works on although they have not ended: the message was lost, or the worker."""
    stale = Q(lease_until__isnull=False) | Q(created_at__lt=Now() - LOST_AFTER)
    rows = Document.objects.filter(free, stale, status__in=WORKING_STATUSES)
    return list(rows.order_by("id").values_list("pk", flat=True)[:100])
