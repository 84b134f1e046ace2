"""What the engine and the settings page read."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from arbitration.strategies.multi_criteria import DEFAULT_WEIGHT
from arbitration.strategies.rubrics import PROPERTIES
from arbitration.triage import GateProfile
from workbench.documents.embedding import active_space
from workbench.documents.models import Collection

from .models import CollectionGates, GateProposal


def gates_row(*, collection: Collection) -> CollectionGates | None:
    """The thresholds in use, on the scale of the embedder in use; None where nobody set any."""
    return (
        CollectionGates.objects.filter(collection=collection, space=active_space().name)
        .select_related("applied_by", "proposal")
        .first()
    )


def gates_of(*, collection: Collection) -> GateProfile | None:
    """The profile for the engine; None leaves everything to be verified."""
    row = gates_row(collection=collection)
    return row.profile if row else None


def criteria_weights_of(*, collection: Collection) -> dict[str, float]:
    """How much each property of multi-criteria counts in the collection, 0 to 1."""
    return weights_given(collection.criteria_weights)


def weights_given(given: dict[str, float]) -> dict[str, float]:
    """All properties with their weights, where a collection names some."""
    return dict.fromkeys(PROPERTIES, DEFAULT_WEIGHT) | given


def proposals_for(*, collection: Collection) -> QuerySet[GateProposal]:
    """Proposals that fit the collection and the embedder in use, newest first."""
    return (
        GateProposal.objects.filter(
            Q(collection=collection) | Q(collection__isnull=True), space=active_space().name
        )
        .select_related("created_by")
        .order_by("-id")
    )
