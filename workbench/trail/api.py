"""The audit trail: the API of the trail page, with positions in the chain."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import administers
from workbench.api.base import ApiViewSet, checked
from workbench.audit.export import audit_anchor
from workbench.audit.models import AuditEvent
from workbench.audit.services import VERIFIED_AT_ONCE, VerifyReport, audit_verify
from workbench.infra.replica import from_replica

from .forms import TrailFilterForm
from .selectors import audited_collections, events_visible_to, may_read_trail


class AuditEventSerializer(serializers.ModelSerializer[AuditEvent]):
    """An audit event. It contains IDs, hashes and decisions, never document text. ``position`` and the hashes locate it
    in the chain; they are null until it is sealed."""

    position = serializers.IntegerField(source="seal.position", default=None, read_only=True, allow_null=True)
    hash = serializers.CharField(source="seal.hash", default=None, read_only=True, allow_null=True)
    before = serializers.DictField(
        read_only=True, allow_null=True, help_text="Changed values before the event."
    )
    after = serializers.DictField(
        read_only=True, allow_null=True, help_text="Changed values after the event."
    )
    previous_hash = serializers.CharField(
        source="seal.prev_hash", default=None, read_only=True, allow_null=True
    )

    class Meta:
        model = AuditEvent
        fields = [
            "id",
            "created_at",
            "actor",
            "actor_name",
            "actor_kind",
            "action",
            "object_type",
            "object_id",
            "collection_id",
            "before",
            "after",
            "reason",
            "request_id",
            "position",
            "hash",
            "previous_hash",
        ]
        read_only_fields = fields


class VerificationSerializer(serializers.Serializer[Any]):
    """Result of a verification. ``events`` counts all events, ``unsealed`` those not in the chain yet. ``head`` is the
    last hash, at ``position``. ``checked`` links were recomputed; ``is_whole_chain`` if these were all.
    ``first_broken`` is the ID of the first event that differs from its seal; ``problem`` says what is wrong."""

    ok = serializers.BooleanField()
    events = serializers.IntegerField()
    unsealed = serializers.IntegerField()
    head = serializers.CharField(allow_null=True)
    position = serializers.IntegerField()
    checked = serializers.IntegerField()
    is_whole_chain = serializers.SerializerMethodField()
    first_broken = serializers.IntegerField(allow_null=True)
    problem = serializers.CharField()

    def get_is_whole_chain(self, report: VerifyReport) -> bool:
        """Whether verification started at the first link."""
        return report.checked >= report.position


class AnchorRequestSerializer(serializers.Serializer[Any]):
    """``after``: the last anchored position."""

    after = serializers.IntegerField(required=False, default=0, min_value=0, max_value=2**63 - 1)


class AnchorSerializer(serializers.Serializer[Any]):
    """A link of the hash chain. Stored elsewhere, it proves that no earlier event was rewritten."""

    position = serializers.IntegerField()
    hash = serializers.CharField()
    time = serializers.DateTimeField()


def _filter(name: str, words: str, kind: Any = OpenApiTypes.STR) -> OpenApiParameter:
    return OpenApiParameter(name, kind, description=words)


@extend_schema_view(
    list=extend_schema(
        parameters=[
            _filter("collection", "Slug of a collection, or `~` for events of the installation."),
            _filter("action", "Prefix of the action, such as `verdict.`."),
            _filter("actor", "Actor: an e-mail address or part of a name."),
            _filter("object_type", "Kind of object."),
            _filter("object_id", "ID of the object."),
            _filter("since", "First day (UTC), inclusive.", OpenApiTypes.DATE),
            _filter("until", "Last day (UTC), inclusive.", OpenApiTypes.DATE),
            _filter("request_id", "ID of the request that caused the event."),
        ]
    )
)
class AuditEventViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[AuditEvent]):
    """Lists audit events of the collections that the caller audits. Staff also see events of the installation, but not
    with a token."""

    queryset = AuditEvent.objects.none()
    serializer_class = AuditEventSerializer
    remembers_posts = False  # nothing changes, and a reading is of the chain as it is now
    list = from_replica(mixins.ListModelMixin.list)
    retrieve = from_replica(mixins.RetrieveModelMixin.retrieve)

    def get_queryset(self) -> QuerySet[AuditEvent]:
        """The events that the caller may read and that pass the address."""
        user, is_staff = self.request.user, administers(self.request.user)
        collections = audited_collections(user=user)
        events = events_visible_to(user).select_related("seal")
        if not is_staff:  # no token carries what staff may
            events = events.filter(collection_id__in=[collection.pk for collection in collections])
        if self.detail:
            return events
        if not collections and not is_staff:
            raise PermissionDenied
        form = TrailFilterForm(self.request.query_params, collections=collections, is_staff=is_staff)
        if form.names_unknown_collection:
            raise Http404
        if not form.is_valid():
            raise ValidationError(form.errors)
        return form.to_filter().apply(events)

    @extend_schema(request=AnchorRequestSerializer, responses=AnchorSerializer(many=True), filters=False)
    @action(detail=False, methods=["post"], pagination_class=None)
    def anchor(self, request: Request) -> Response:
        """Returns the chain links to store outside the installation: one per export since ``after``, plus the head. The
        call is recorded in the audit trail."""
        if not may_read_trail(user=request.user):
            raise PermissionDenied
        anchors = audit_anchor(actor=request.user, **checked(request, AnchorRequestSerializer))
        return Response(AnchorSerializer(anchors, many=True).data)

    @extend_schema(request=None, responses=VerificationSerializer, filters=False)
    @action(detail=False, methods=["post"], pagination_class=None)
    def verify(self, request: Request) -> Response:
        """Recomputes the hash chain, limited to the newest 100,000 links. To verify the whole chain and compare it with
        external anchors, start `maintenance` of kind `trail`."""
        if not may_read_trail(user=request.user):
            raise PermissionDenied
        return Response(VerificationSerializer(audit_verify(newest=VERIFIED_AT_ONCE)).data)
