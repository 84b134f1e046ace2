"""What is on record of one model for a person: the figures of its card, on pages and by the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, Count, F, FloatField, Q, QuerySet
from django.db.models.functions import Abs

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, member_condition
from workbench.documents.models import Collection
from workbench.documents.restrictions import open_to

from .lineage import labels_of_model
from .models import GateDecision, ModelVersion, Origin, ShadowScore, SnapshotLabel
from .seed import seed_card
from .selectors import decisions_of

#: The figures that are compared, in the order they are read.
FIGURES = (
    "f1", "precision", "recall", "roc_auc", "brier", "ece", "mrr", "p_at_1", "ndcg_at_5", "uncertain_share", "pairs",
)  # fmt: skip
DECISIONS_SHOWN = 5
_NO_LABELS = {"labels": 0, "overturned": 0, "withdrawn": 0}


@dataclass(frozen=True, slots=True)
class CollectionFigures:
    """``f1`` and ``pairs`` of a model on the pairs of one collection."""

    collection: Collection
    figures: dict[str, float]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model's newest decisions; its report, on gold pairs where ``is_gold``, else on questions it had not seen; what
    it learned from, and what it said in shadow (None while it said nothing)."""

    version: ModelVersion
    decisions: list[GateDecision]
    report: dict[str, Any]
    is_gold: bool
    by_collection: list[CollectionFigures]
    labels: dict[str, int]
    in_shadow: dict[str, Any] | None


def model_card(*, version: ModelVersion, user: User) -> ModelCard:
    """The card; of collections only those that the person sees. Four queries."""
    decisions = list(decisions_of(version=version)[:DECISIONS_SHOWN])
    gold = decisions[0].challenger_report if decisions else None
    report = gold or version.report or {}
    return ModelCard(
        version=version,
        decisions=decisions,
        report=report,
        is_gold=bool(gold),
        by_collection=_by_collection(report, user),
        labels=label_counts(version=version),
        in_shadow=shadow_comparison(version=version),
    )


def seed_of(version: ModelVersion) -> dict[str, Any] | None:
    """The card of the shipped model, when this is the one that ships with this release."""
    if version.origin != Origin.SEED:
        return None
    card = seed_card()
    return card if card.get("digest") == version.digest else None


def _by_collection(report: dict[str, Any], user: User) -> list[CollectionFigures]:
    """A model learns from all collections; a name reaches only members."""
    table = report.get("by_collection", {})
    visible = Collection.objects.visible_to(user).filter(slug__in=list(table))
    return [CollectionFigures(collection, table[collection.slug]) for collection in visible]


def labels_seen(*, version: ModelVersion, user: User) -> QuerySet[SnapshotLabel]:
    """The labels a model was trained on, of collections the person sees."""
    # By collection, not by a list of labels: a model has a hundred thousand of them.
    return labels_of_model(version=version).filter(
        member_condition(user, Permission.VIEW, prefix="label__collection"), open_to(user, "label__document")
    )


def label_counts(*, version: ModelVersion) -> dict[str, int]:
    """How many labels a model learned from, how many were overturned since, and how many are of collections that have
    ended their contribution."""
    if version.snapshot is None:
        return dict(_NO_LABELS)
    counts: dict[str, int] = version.snapshot.labels.aggregate(
        labels=Count("pk"),
        overturned=Count("pk", filter=Q(overturned_at__isnull=False)),
        withdrawn=Count("pk", filter=Q(label__collection__contributes_to_training=False)),
    )
    return counts


def shadow_comparison(*, version: ModelVersion) -> dict[str, Any] | None:
    """What a model in shadow said beside the champion, of live candidates; None while it said nothing."""
    both = ShadowScore.objects.filter(version=version)
    figures = both.aggregate(
        candidates=Count("pk"),
        compared=Count("champion_probability"),
        differ=Count(
            "pk",
            filter=Q(probability__gte=0.5, champion_probability__lt=0.5)
            | Q(probability__lt=0.5, champion_probability__gte=0.5),
        ),
        distance=Avg(Abs(F("probability") - F("champion_probability")), output_field=FloatField()),
        judged=Count("pk", filter=_JUDGED),
        right=Count("pk", filter=_JUDGED & _right("probability")),
        champion_right=Count("pk", filter=_JUDGED & _right("champion_probability")),
    )
    return figures if figures["candidates"] else None


_REVIEW = "candidate__reviews"
_JUDGED = Q(
    **{f"{_REVIEW}__superseded_by__isnull": True, f"{_REVIEW}__role__isnull": False},
    champion_probability__isnull=False,
)


def _right(column: str) -> Q:
    evidence = Q(**{f"{_REVIEW}__role__in": ["primary", "supporting"]})
    return (evidence & Q(**{f"{column}__gte": 0.5})) | (~evidence & Q(**{f"{column}__lt": 0.5}))
