"""The accepted risk of a collection, as actions of its address."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from training.bars import Decides
from workbench.accounts.permissions import Permission
from workbench.api.base import Actions, checked
from workbench.api.reauthentication import asks_again
from workbench.collection_settings.bars import (
    GREATEST_PROMISE,
    LEAST_PROMISE,
    bar_apply,
    bar_remove,
    bar_request,
    bars_in_use,
    proposals_of,
)
from workbench.collection_settings.models import BarDecides, BarMeasure, BarProposal, CollectionBar
from workbench.documents.models import Collection
from workbench.documents.selectors import collection_for
from workbench.runs.reranking import reranker_state

MOST_PROPOSALS = 20


class BarEffectSerializer(serializers.Serializer[Any]):
    """Effect of a threshold: its value, the share lost, the upper bound for a new question, and cards per question."""

    bar = serializers.FloatField()
    seen = serializers.FloatField()
    lost = serializers.FloatField()
    bound = serializers.FloatField()
    cards = serializers.FloatField()


class BarProposalSerializer(serializers.ModelSerializer[BarProposal]):
    """A computed threshold that keeps a promise, or null if there is none. ``missing`` is the number of questions still
    to be decided blind. ``questions`` counts near-identical questions once. ``learned`` questions are left out, because
    the model was trained on them."""

    questions = serializers.IntegerField(source="groups")
    missing = serializers.IntegerField()
    ways = BarEffectSerializer(many=True)
    measure = serializers.ChoiceField(choices=BarMeasure.choices, allow_blank=True, read_only=True)

    class Meta:
        model = BarProposal
        fields = [
            "id", "decides", "promised", "state", "done", "total", "failure", "measure", "space", "reranker", "bar",
            "in_use", "questions", "needed", "missing", "learned", "ways", "created_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = {
            "promised": {"help_text": "Largest share that may be lost or wrongly accepted."},
            "reranker": {"help_text": "Champion model at the time, or the rules."},
            "bar": {"help_text": "Computed threshold. Null: none keeps the promise."},
            "in_use": {"help_text": "Threshold in use at the time of the computation."},
            "learned": {"help_text": "Questions left out because the model was trained on them."},
        }


class CollectionBarSerializer(serializers.ModelSerializer[CollectionBar]):
    """A threshold in use and the promise it keeps."""

    promised = serializers.FloatField(source="proposal.promised")

    class Meta:
        model = CollectionBar
        fields = ["id", "decides", "measure", "bar", "promised", "proposal", "revision", "applied_at"]
        read_only_fields = fields


class RiskSerializer(serializers.Serializer[Any]):
    """Thresholds in use (empty: the shipped defaults) and computations, newest first."""

    in_use = CollectionBarSerializer(many=True)
    computed = BarProposalSerializer(many=True)


class PromiseSerializer(serializers.Serializer[Any]):
    """``discard``: the share of questions that may lose their evidence unseen. ``accept``: the share of accepted
    passages that may be wrong."""

    decides = serializers.ChoiceField(choices=BarDecides.choices)
    promised = serializers.FloatField(min_value=LEAST_PROMISE, max_value=GREATEST_PROMISE)


class BarApplySerializer(serializers.Serializer[Any]):
    """``seen_revision``: revision of the threshold that the caller saw in use, or 0 for none."""

    proposal = serializers.IntegerField(min_value=1)
    seen_revision = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    reason = serializers.CharField(max_length=500)


class BarRemoveSerializer(serializers.Serializer[Any]):
    """``bar``: ID of the threshold in use."""

    bar = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    seen_revision = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    reason = serializers.CharField(max_length=500)


class CollectionRiskActions(Actions):
    """Reading and changing the risk that a collection accepts; auditors read, admins change."""

    @extend_schema(responses=RiskSerializer)
    @action(detail=True, methods=["get"])
    def risk(self, request: Request, slug: str) -> Response:
        """Returns the risk thresholds in use with their promises, and the newest 20 computations of each kind."""
        return _shown(collection_for(user=request.user, slug=slug, permission=Permission.AUDIT))

    @extend_schema(request=PromiseSerializer, responses={202: BarProposalSerializer})
    @action(detail=True, methods=["post"], url_path="risk/compute")
    def compute_risk(self, request: Request, slug: str) -> Response:
        """Starts computing the threshold that keeps a promised share. It does not apply the threshold. Poll ``risk/``
        for the result."""
        collection = collection_for(user=request.user, slug=slug)
        given = checked(request, PromiseSerializer)
        proposal = bar_request(actor=request.user, collection=collection, **given)
        proposal.refresh_from_db()
        return Response(BarProposalSerializer(proposal).data, status=202)

    @extend_schema(request=BarApplySerializer, responses=RiskSerializer)
    @action(detail=True, methods=["post"], url_path="risk/apply")
    @asks_again
    def apply_risk(self, request: Request, slug: str) -> Response:
        """Applies a computed threshold, starting with the next question. Earlier runs are unchanged."""
        collection = collection_for(user=request.user, slug=slug)
        given = checked(request, BarApplySerializer)
        proposal = BarProposal.objects.filter(collection=collection, pk=given.pop("proposal")).first()
        if proposal is None:
            raise Http404
        bar_apply(
            actor=request.user,
            collection=collection,
            proposal=proposal,
            reranker=reranker_state(),
            **given,
        )
        return _shown(collection)

    @extend_schema(request=BarRemoveSerializer, responses=RiskSerializer)
    @action(detail=True, methods=["post"], url_path="risk/remove")
    @asks_again
    def remove_risk(self, request: Request, slug: str) -> Response:
        """Restores the shipped default."""
        collection = collection_for(user=request.user, slug=slug)
        given = checked(request, BarRemoveSerializer)
        bar_remove(actor=request.user, collection=collection, **given)
        return _shown(collection)


def _shown(collection: Collection) -> Response:
    computed = [
        proposal
        for decides in Decides
        for proposal in proposals_of(collection=collection, decides=decides)[:MOST_PROPOSALS]
    ]
    return Response(RiskSerializer({"in_use": bars_in_use(collection=collection), "computed": computed}).data)
