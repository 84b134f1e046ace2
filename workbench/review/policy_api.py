"""What share of verdicts is decided blind or by two, as an action of a collection's address."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import Permission
from workbench.api.base import Actions, checked
from workbench.api.reauthentication import asks_again
from workbench.documents.selectors import collection_for

from .models import ReviewPolicy
from .policy import policy_of, policy_set


class SharesSerializer(serializers.Serializer[Any]):
    """Shares from 0 to 1: verdicts decided blind, verdicts decided by two people, and cards of each bulk approval
    decided one by one first. The last is unchanged if omitted."""

    blind_share = serializers.FloatField(min_value=0, max_value=1)
    second_share = serializers.FloatField(min_value=0, max_value=1)
    check_share = serializers.FloatField(min_value=0, max_value=1, required=False)


class ReviewSharesSerializer(SharesSerializer):
    """The shares in use. ``changed_at`` is null if nobody has set them."""

    changed_at = serializers.DateTimeField(allow_null=True)


class CollectionPolicyActions(Actions):
    """The shares of reviews, which are the admins'."""

    @extend_schema(methods=["GET"], responses=ReviewSharesSerializer)
    @extend_schema(
        methods=["POST"],
        request=SharesSerializer,
        responses=ReviewSharesSerializer,
    )
    @action(detail=True, methods=["get", "post"], url_path="review-shares")
    @asks_again
    def review_shares(self, request: Request, slug: str) -> Response:
        """GET returns the shares of verdicts decided blind and by two people. POST sets both, for runs that finish
        later."""
        collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
        if request.method == "GET":
            return _shares(policy_of(collection=collection))
        given = checked(request, SharesSerializer)
        return _shares(policy_set(actor=request.user, collection=collection, **given))


def _shares(policy: ReviewPolicy) -> Response:
    return Response(ReviewSharesSerializer(policy).data)
