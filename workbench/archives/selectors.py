"""What pages read about archives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import get_object_or_404

from workbench.documents.models import Collection

from .models import Direction, Transfer, TransferQuerySet

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: Archives listed on a page, newest first.
LISTED = 20


def transfer_for(*, user: User, pk: int, direction: Direction | None = None) -> Transfer:
    """The archive, if the person may see it; else 404."""
    rows = _shown(user)
    return get_object_or_404(rows.filter(direction=direction) if direction else rows, pk=pk)


def transfers_of(*, user: User, collection: Collection) -> TransferQuerySet:
    """The newest archives that left the collection."""
    return _shown(user).filter(direction=Direction.OUT, collection=collection)[:LISTED]


def transfers_sent(*, user: User) -> TransferQuerySet:
    """The newest archives that the person sent."""
    return _shown(user).filter(direction=Direction.IN)[:LISTED]


def _shown(user: User) -> TransferQuerySet:
    return Transfer.objects.visible_to(user).select_related("collection", "requested_by")
