"""The trust figures of a collection, as an action of its address."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from training.risk import SHIPPED_CARDS, SHIPPED_LOSS
from workbench.api.base import Actions
from workbench.collection_settings.models import CollectionBar
from workbench.infra.replica import from_replica
from workbench.labeling.serializers import IntervalSerializer, ModelAgreementSerializer

from .trust import Trust, trust_of, trusted_collections


class ShareSerializer(serializers.Serializer[Any]):
    """``part`` of ``whole``, with the share and its exact 95 % confidence interval; null if nothing was counted."""

    part = serializers.IntegerField()
    whole = serializers.IntegerField(source="figure.n")
    share = serializers.FloatField(source="figure.value", allow_null=True)
    low = serializers.FloatField(source="figure.low", allow_null=True)
    high = serializers.FloatField(source="figure.high", allow_null=True)


class TimedShareSerializer(ShareSerializer):
    """Decisions grouped by seconds spent on the card: less than ``under`` (null for the last group) and at least the
    limit of the previous group."""

    under = serializers.IntegerField(allow_null=True)


class MonthShareSerializer(ShareSerializer):
    """A month, such as ``2026-11``."""

    month = serializers.CharField(source="name")


class WeekShareSerializer(ShareSerializer):
    """Cumulative figures up to the end of a week, given by its Monday (``2026-11-23``)."""

    week = serializers.DateField(source="name")


class ElusionSerializer(serializers.Serializer[Any]):
    """Samples of discarded passages: ``drawn`` out of ``population``, and the share of evidence among the judged
    ones."""

    question_set = serializers.CharField(source="name")
    population = serializers.IntegerField()
    drawn = serializers.IntegerField()
    evidence = IntervalSerializer(source="rate")


class ShippedPromiseSerializer(serializers.Serializer[Any]):
    """The promise of the shipped defaults on labelled sets: at most this ``share`` of questions lost, at this many
    ``cards`` per question."""

    share = serializers.FloatField()
    cards = serializers.FloatField()


class CollectionPromiseSerializer(serializers.Serializer[Any]):
    """An admin's promise for the collection, its cost in cards per question, and the number of decided questions it is
    based on."""

    decides = serializers.CharField()
    promised = serializers.FloatField(source="proposal.promised")
    cards = serializers.SerializerMethodField()
    questions = serializers.IntegerField(source="proposal.groups")

    def get_cards(self, bar: CollectionBar) -> float:
        """Cards per question with the threshold in use."""
        return float(next(way["cards"] for way in bar.proposal.ways if way["bar"] == bar.bar))


class LostUnseenSerializer(serializers.Serializer[Any]):
    """Decided questions whose evidence the machine discarded entirely. ``bound`` is the expected upper bound for a new
    question of the same kind, or null if there are too few."""

    questions = ShareSerializer()
    bound = serializers.FloatField(allow_null=True)


class TrustSerializer(serializers.Serializer[Any]):
    """Trust figures of a collection for the last year: agreement with the machine when its verdict was visible, hidden,
    and by time spent; agreement of second reviewers with the first; runs to which people added evidence; evidence among
    discarded passages; evidence lost unseen, with the shipped and the promised limits; and language models against
    people."""

    agreed_in_sight = ShareSerializer(source="conduct.seen")
    agreed_blind = ShareSerializer(source="conduct.blind")
    agreed_by_time = TimedShareSerializer(source="conduct.by_time", many=True)
    second_agreed = ShareSerializer(source="conduct.second")
    runs_with_evidence_added = MonthShareSerializer(source="misses.by_month", many=True)
    runs_with_evidence_added_to_date = WeekShareSerializer(source="misses.to_week", many=True)
    evidence_among_discarded = ElusionSerializer(source="elusion", many=True)
    lost_unseen = LostUnseenSerializer(source="lost")
    promised_as_shipped = serializers.SerializerMethodField()
    promised_here = CollectionPromiseSerializer(source="promises", many=True)
    models = ModelAgreementSerializer(many=True)

    @extend_schema_field(ShippedPromiseSerializer)
    def get_promised_as_shipped(self, trust: Trust) -> dict[str, float]:
        """The promise of the product."""
        return {"share": SHIPPED_LOSS, "cards": SHIPPED_CARDS}


class CollectionTrustActions(Actions):
    """The figures of the Trust page, for reviewers, admins and auditors of the collection."""

    @extend_schema(responses=TrustSerializer)
    @action(detail=True, methods=["get"])
    @from_replica
    def trust(self, request: Request, slug: str) -> Response:
        """Returns figures on how often the machine is right and whether people check it."""
        collection = get_object_or_404(trusted_collections(user=request.user), slug=slug)
        return Response(TrustSerializer(trust_of(collection=collection)).data)
