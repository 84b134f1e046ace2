"""Thresholds of a collection and proposals for them, as actions of its address."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from pydantic import ValidationError as ProfileError
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from arbitration.triage import OPEN_GATES, GateProfile
from workbench.accounts.permissions import Permission
from workbench.api.base import Actions, checked
from workbench.api.reauthentication import asks_again
from workbench.documents.embedding import active_space
from workbench.documents.models import Collection
from workbench.documents.selectors import collection_for

from .models import THRESHOLDS, GateProposal
from .selectors import gates_row, proposals_for
from .services import gates_apply, gates_remove

MOST_PROPOSALS = 50


class ThresholdFields(serializers.Serializer[Any]):
    """Thresholds of a profile, each in [0, 1]. Minimum and verify must not exceed accept."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {name: serializers.FloatField(min_value=0, max_value=1) for name in THRESHOLDS}


class ThresholdsSerializer(serializers.Serializer[Any]):
    """The thresholds in use. ``revision`` 0: none are set and everything is verified. ``may_reject``: whether the gates
    can reject, which requires calibrated thresholds."""

    space = serializers.CharField()
    revision = serializers.IntegerField()
    name = serializers.CharField()
    thresholds = ThresholdFields()
    may_reject = serializers.BooleanField()
    proposal = serializers.IntegerField(allow_null=True)
    applied_at = serializers.DateTimeField(allow_null=True)


class ProposalSerializer(serializers.ModelSerializer[GateProposal]):
    """Thresholds proposed by calibration, and what they would lose."""

    thresholds = ThresholdFields(source="*")

    class Meta:
        model = GateProposal
        fields = [
            "id", "name", "source", "space", "thresholds", "evidence_lost", "questions", "evidence",
            "rejected_share", "accepted_share", "accepted_precision", "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class ActSerializer(serializers.Serializer[Any]):
    """Fields of every change: the revision the caller saw, and the reason."""

    seen_revision = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    reason = serializers.CharField(max_length=500)


class ThresholdsApplySerializer(ActSerializer):
    """Custom thresholds or a proposal: exactly one of the two."""

    thresholds = ThresholdFields(required=False)
    proposal = serializers.IntegerField(required=False, min_value=1)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        """Exactly one source."""
        if ("thresholds" in given) == ("proposal" in given):
            raise serializers.ValidationError(_("Give either thresholds or a proposal."))
        return given

    def validate_thresholds(self, values: dict[str, float]) -> GateProfile:
        """A profile. What was not measured may not reject: it carries no share of lost evidence."""
        try:
            return GateProfile(name="set by hand", embedding_space=active_space().name, **values)
        except ProfileError as error:
            raise serializers.ValidationError(_("Minimum and verify must not lie above accept.")) from error


class CollectionThresholdActions(Actions):
    """Reading and changing the thresholds of a collection; auditors read, admins change."""

    @extend_schema(methods=["GET"], responses=ThresholdsSerializer)
    @extend_schema(
        methods=["POST"],
        request=ThresholdsApplySerializer,
        responses=ThresholdsSerializer,
    )
    @action(detail=True, methods=["get", "post"])
    @asks_again
    def thresholds(self, request: Request, slug: str) -> Response:
        """GET returns the thresholds in use for the current embedder. POST applies others."""
        if request.method == "GET":
            return _in_use(collection_for(user=request.user, slug=slug, permission=Permission.AUDIT))
        collection = collection_for(user=request.user, slug=slug)
        given = checked(request, ThresholdsApplySerializer)
        proposal = _proposal(collection, given.pop("proposal")) if "proposal" in given else None
        profile = proposal.profile if proposal else given["thresholds"]
        gates_apply(
            actor=request.user,
            collection=collection,
            profile=profile,
            proposal=proposal,
            seen_revision=given["seen_revision"],
            reason=given["reason"],
        )
        return _in_use(collection)

    @extend_schema(request=ActSerializer, responses=ThresholdsSerializer)
    @action(detail=True, methods=["post"], url_path="thresholds/remove")
    @asks_again
    def remove_thresholds(self, request: Request, slug: str) -> Response:
        """Removes the thresholds, so that everything is verified."""
        collection = collection_for(user=request.user, slug=slug)
        given = checked(request, ActSerializer)
        gates_remove(actor=request.user, collection=collection, **given)
        return _in_use(collection)

    @extend_schema(responses=ProposalSerializer(many=True), filters=False)
    @action(detail=True, methods=["get"], url_path="threshold-proposals", pagination_class=None)
    def threshold_proposals(self, request: Request, slug: str) -> Response:
        """Lists the newest 50 calibration proposals for the collection and the current embedder."""
        collection = collection_for(user=request.user, slug=slug, permission=Permission.AUDIT)
        proposals = proposals_for(collection=collection)[:MOST_PROPOSALS]
        return Response(ProposalSerializer(proposals, many=True).data)


def _in_use(collection: Collection) -> Response:
    row = gates_row(collection=collection)
    profile = row.profile if row else OPEN_GATES
    return Response(
        ThresholdsSerializer(
            {
                "space": active_space().name,
                "revision": row.revision if row else 0,
                "name": profile.name,
                "thresholds": {name: getattr(profile, name) for name in THRESHOLDS},
                "may_reject": profile.may_reject,
                "proposal": row.proposal_id if row else None,
                "applied_at": row.applied_at if row else None,
            }
        ).data
    )


def _proposal(collection: Collection, key: int) -> GateProposal:
    """One of the collection's proposals; 404 for any other."""
    proposal = proposals_for(collection=collection).filter(pk=key).first()
    if proposal is None:
        raise Http404
    return proposal
