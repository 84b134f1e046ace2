"""What pages read about exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import get_object_or_404

from .models import Export, ExportFile, ExportQuerySet

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: Exports listed on the page, newest first.
LISTED = 50


def exports_listed(*, user: User) -> ExportQuerySet:
    """The newest exports that the person may fetch."""
    return _fetchable(user).order_by("-pk")[:LISTED]


def export_for(*, user: User, pk: int) -> Export:
    """The export, if the person may fetch it; else 404."""
    return get_object_or_404(_fetchable(user), pk=pk)


def _fetchable(user: User) -> ExportQuerySet:
    rows = Export.objects.visible_to(user).listed()
    rows = rows.select_related("collection", "run__question", "requested_by")
    return rows.prefetch_related("files")


def file_for(*, user: User, pk: int) -> ExportFile:
    """A file of an export that the person may fetch; else 404."""
    files = ExportFile.objects.filter(
        export__in=Export.objects.visible_to(user).listed().order_by().values("pk")
    )
    return get_object_or_404(files.select_related("export__collection"), pk=pk)
