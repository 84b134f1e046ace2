"""How a collection answers and how it is reviewed, as actions of its address. How long documents stay is in
``erasure_actions``, thresholds in ``threshold_actions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from arbitration.strategies.rubrics import PROPERTIES
from workbench.accounts.permissions import Permission
from workbench.collection_settings.selectors import criteria_weights_of
from workbench.collection_settings.services import MOST_ENDPOINTS, collection_change
from workbench.documents.models import Collection
from workbench.documents.selectors import collection_for
from workbench.review.models import ReviewPolicy
from workbench.review.policy import policy_of, policy_set

from .base import IDEMPOTENCY, checked
from .reauthentication import asks_again

if TYPE_CHECKING:
    from rest_framework.viewsets import GenericViewSet

    Base = GenericViewSet[Any]
else:
    Base = object


class CriteriaWeightFields(serializers.Serializer[Any]):
    """How much each property of multi-criteria counts beside relevance, 0 to 1."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """One number each."""
        return {name: serializers.FloatField(min_value=0, max_value=1) for name in PROPERTIES}


class CollectionSettingsSerializer(serializers.Serializer[Any]):
    """The values as they are, and as they are to be: all of them. ``default_strategy`` empty: that of the
    installation. Text of the collection goes to ``allowed_endpoints`` and nowhere else."""

    description = serializers.CharField(max_length=2000, allow_blank=True)
    default_strategy = serializers.CharField(max_length=40, allow_blank=True)
    allowed_endpoints = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=MOST_ENDPOINTS
    )
    model_endpoint = serializers.CharField(
        max_length=40,
        required=False,
        allow_blank=True,
        help_text="Name of a configured endpoint, whose address is allowed. Empty: the first allowed one.",
    )
    model_name = serializers.CharField(
        max_length=120,
        required=False,
        allow_blank=True,
        help_text="A model of that endpoint. Empty: its first. Left out, the choice stays.",
    )
    criteria_weights = CriteriaWeightFields()
    contributes_to_training = serializers.BooleanField()
    strategy_options = serializers.DictField(
        child=serializers.DictField(),
        required=False,
        help_text='Settings by strategy, such as {"consensus": {"n": 0.5}}. Left out: unchanged.',
    )


class SharesSerializer(serializers.Serializer[Any]):
    """Shares of verdicts, 0 to 1, that are decided before the reviewer sees the machine's word, and by two people."""

    blind_share = serializers.FloatField(min_value=0, max_value=1)
    second_share = serializers.FloatField(min_value=0, max_value=1)


class ReviewSharesSerializer(SharesSerializer):
    """The shares in use; ``changed_at`` null where nobody set any."""

    changed_at = serializers.DateTimeField(allow_null=True)


class CollectionSettingsActions(Base):
    """The general settings, which auditors read and admins change, and the shares of reviews, which are the admins'."""

    @extend_schema(methods=["GET"], responses=CollectionSettingsSerializer)
    @extend_schema(
        methods=["POST"],
        parameters=[IDEMPOTENCY],
        request=CollectionSettingsSerializer,
        responses=CollectionSettingsSerializer,
    )
    # Not ``settings``, which is a name of the framework's views.
    @action(detail=True, methods=["get", "post"], url_path="settings", url_name="settings")
    @asks_again
    def general(self, request: Request, slug: str) -> Response:
        """Description, strategy, endpoints, weights, and what labels are for; POST changes them."""
        if request.method == "GET":
            return _settings(collection_for(user=request.user, slug=slug, permission=Permission.AUDIT))
        collection = collection_for(user=request.user, slug=slug)
        given = checked(request, CollectionSettingsSerializer)
        collection_change(actor=request.user, collection=collection, **given)
        collection.refresh_from_db()
        return _settings(collection)

    @extend_schema(methods=["GET"], responses=ReviewSharesSerializer)
    @extend_schema(
        methods=["POST"],
        parameters=[IDEMPOTENCY],
        request=SharesSerializer,
        responses=ReviewSharesSerializer,
    )
    @action(detail=True, methods=["get", "post"], url_path="review-shares")
    @asks_again
    def review_shares(self, request: Request, slug: str) -> Response:
        """What share of verdicts is decided blind first and what share by two; POST sets both, for runs that finish
        from now on."""
        collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
        if request.method == "GET":
            return _shares(policy_of(collection=collection))
        given = checked(request, SharesSerializer)
        return _shares(policy_set(actor=request.user, collection=collection, **given))


def _settings(collection: Collection) -> Response:
    return Response(
        CollectionSettingsSerializer(
            {
                "description": collection.description,
                "default_strategy": collection.default_strategy,
                "allowed_endpoints": collection.allowed_endpoints,
                "model_endpoint": collection.model_endpoint,
                "model_name": collection.model_name,
                "criteria_weights": criteria_weights_of(collection=collection),
                "contributes_to_training": collection.contributes_to_training,
                "strategy_options": collection.strategy_options or {},
            }
        ).data
    )


def _shares(policy: ReviewPolicy) -> Response:
    return Response(ReviewSharesSerializer(policy).data)
