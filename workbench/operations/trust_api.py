"""What the decisions of a collection tell about the machine and about people, as an action of its address."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import Actions
from workbench.labeling.serializers import IntervalSerializer, ModelAgreementSerializer

from .trust import trust_of, trusted_collections


class ShareSerializer(serializers.Serializer[Any]):
    """``part`` of ``whole``, with the share and its exact 95 % interval; nulls where nothing was counted."""

    part = serializers.IntegerField()
    whole = serializers.IntegerField(source="figure.n")
    share = serializers.FloatField(source="figure.value", allow_null=True)
    low = serializers.FloatField(source="figure.low", allow_null=True)
    high = serializers.FloatField(source="figure.high", allow_null=True)


class TimedShareSerializer(ShareSerializer):
    """Decisions by seconds on the card: less than ``under``, no less than in the group before; null for the last."""

    under = serializers.IntegerField(allow_null=True)


class MonthShareSerializer(ShareSerializer):
    """A month, such as ``2026-11``."""

    month = serializers.CharField(source="name")


class ElusionSerializer(serializers.Serializer[Any]):
    """Samples of what was discarded: ``drawn`` of ``population``, and the share of evidence among those judged."""

    question_set = serializers.CharField(source="name")
    population = serializers.IntegerField()
    drawn = serializers.IntegerField()
    evidence = IntervalSerializer(source="rate")


class TrustSerializer(serializers.Serializer[Any]):
    """The last year of a collection: how often people said what the machine had said, with its word in sight, without
    sight of it, and by the time they took; how often a second reviewer agreed with the first; in which runs people had
    to add evidence; evidence among what was discarded; language models against people."""

    agreed_in_sight = ShareSerializer(source="conduct.seen")
    agreed_blind = ShareSerializer(source="conduct.blind")
    agreed_by_time = TimedShareSerializer(source="conduct.by_time", many=True)
    second_agreed = ShareSerializer(source="conduct.second")
    runs_with_evidence_added = MonthShareSerializer(source="misses", many=True)
    evidence_among_discarded = ElusionSerializer(source="elusion", many=True)
    models = ModelAgreementSerializer(many=True)


class CollectionTrustActions(Actions):
    """The figures of the Trust page, for reviewers, admins and auditors of the collection."""

    @extend_schema(responses=TrustSerializer)
    @action(detail=True, methods=["get"])
    def trust(self, request: Request, slug: str) -> Response:
        """Whether the machine is right and people check it."""
        collection = get_object_or_404(trusted_collections(user=request.user), slug=slug)
        return Response(TrustSerializer(trust_of(collection=collection)).data)
