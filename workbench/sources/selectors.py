"""What pages, the API and the sweeper read of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count, Q
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from workbench.documents.models import Collection
from workbench.infra.leases import lease_free

from .models import FileState, Source, SourceFile, SourceQuerySet, SourceState

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: Files shown on a source's page, newest first.
SHOWN = 100
_MOST_AT_ONCE = 200


def source_for(*, user: User, pk: int) -> Source:
    """The source, if the user manages its collection; else 404."""
    return get_object_or_404(
        Source.objects.visible_to(user).select_related("collection", "created_by"), pk=pk
    )


def source_file_for(*, user: User, pk: int) -> SourceFile:
    """The file, if the user manages its collection; else 404."""
    return get_object_or_404(SourceFile.objects.visible_to(user).select_related("source__collection"), pk=pk)


def sources_of(*, collection: Collection) -> SourceQuerySet:
    """A collection's sources with how many files came in, and how many did not."""
    rows = Source.objects.filter(collection=collection).exclude(state=SourceState.REMOVED)
    return rows.annotate(
        taken=Count("files", filter=Q(files__state=FileState.TAKEN)),
        failed=Count("files", filter=Q(files__state=FileState.FAILED)),
    )


def files_shown(*, source: Source) -> list[SourceFile]:
    """What came in last, or did not."""
    return list(source.files.select_related("document__collection").order_by("-at", "-pk")[:SHOWN])


def sources_due() -> list[int]:
    """Keys of sources to look at now, the longest due first."""
    due = Source.objects.filter(lease_free(), state=SourceState.ACTIVE, next_look_at__lte=Now())
    return list(due.order_by("next_look_at", "pk").values_list("pk", flat=True)[:_MOST_AT_ONCE])
