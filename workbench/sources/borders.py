"""No source reads what another collection's source reads: the single rule, when one is added and at each look."""

from __future__ import annotations

from django.utils.translation import gettext as _

from workbench.documents.models import Collection
from workbench.errors import Conflict

from .kinds import kind_named
from .models import Source, SourceState
from .protocol import Values


def require_own_place(*, collection: Collection, kind: str, settings: Values) -> None:
    """Raises :class:`Conflict` where a source of another collection, also a paused one, reads some of the same. It does
    not say whose."""
    chosen = kind_named(kind)
    others = (
        Source.objects.filter(kind=kind).exclude(collection=collection).exclude(state=SourceState.REMOVED)
    )
    if any(chosen.overlaps(settings, other) for other in others.values_list("settings", flat=True)):
        raise Conflict(
            _(
                "Another collection has a source with the same files, or with some of them. Choose a place of its own, "
                "or ask the operator."
            ),
            code="source_overlaps",
        )
