"""How the work of a collection goes, as an action of its address."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import Actions
from workbench.infra.replica import from_replica

from .progress import progress_of
from .trust import trusted_collections
from .trust_api import ShareSerializer


class QueueDaySerializer(serializers.Serializer[Any]):
    """A day (UTC) of the queue: required verdicts that entered it, were decided, and were open at the end of the
    day."""

    day = serializers.DateField()
    entered = serializers.IntegerField()
    decided = serializers.IntegerField()
    waiting = serializers.IntegerField()


class ReviewerWeekSerializer(serializers.Serializer[Any]):
    """A reviewer's decisions in a week, given by its Monday. ``agreed`` of ``compared`` matched the machine."""

    reviewer = serializers.CharField()
    week = serializers.DateField()
    decided = serializers.IntegerField()
    agreed = serializers.IntegerField()
    compared = serializers.IntegerField()


class SecondShareSerializer(ShareSerializer):
    """A person's second reviews, and how many agree with the first."""

    reviewer = serializers.CharField(source="name")


class ProgressSerializer(serializers.Serializer[Any]):
    """Figures of the last eight weeks."""

    queue = QueueDaySerializer(many=True)
    reviewers = ReviewerWeekSerializer(many=True)
    second_reviews = SecondShareSerializer(source="second", many=True)


class CollectionProgressActions(Actions):
    """The figures of the Progress page, for reviewers, admins and auditors of the collection."""

    @extend_schema(responses=ProgressSerializer)
    @action(detail=True, methods=["get"])
    @from_replica
    def progress(self, request: Request, slug: str) -> Response:
        """Returns queue figures by day and reviewer figures by week, for the last eight weeks. Decisions count once
        nobody has to decide their card blind."""
        collection = get_object_or_404(trusted_collections(user=request.user), slug=slug)
        return Response(ProgressSerializer(progress_of(collection=collection)).data)
