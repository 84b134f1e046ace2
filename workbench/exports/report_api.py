"""The API of period reports and of links for outsiders."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import Permission
from workbench.api.base import RUN, ApiViewSet, checked, number_parameter
from workbench.documents.selectors import collection_for
from workbench.infra.addresses import public_address
from workbench.infra.replica import from_replica
from workbench.labeling.serializers import IntervalSerializer
from workbench.runs.selectors import run_for

from .days import days_between
from .links import LONGEST_DAYS, link_make, link_revoke, link_state, links_of
from .models import ReportLink
from .period_figures import period_figures
from .services import require_period


class MissedEvidenceSerializer(serializers.Serializer[Any]):
    """Evidence found in a random sample of discarded passages."""

    name = serializers.CharField()
    population = serializers.IntegerField()
    drawn = serializers.IntegerField()
    rate = IntervalSerializer()


class PeriodCostSerializer(serializers.Serializer[Any]):
    """Language model costs."""

    calls = serializers.IntegerField()
    usd = serializers.DecimalField(max_digits=16, decimal_places=6)
    unpriced = serializers.IntegerField()


class PeriodReportSerializer(serializers.Serializer[Any]):
    """Figures of a collection for a period. ``waiting``, ``disputes_open`` and ``missed`` are current values."""

    asked = serializers.IntegerField()
    finished = serializers.IntegerField()
    failed = serializers.IntegerField()
    not_found = serializers.IntegerField()
    not_found_confirmed = serializers.IntegerField()
    not_found_refuted = serializers.IntegerField()
    decided = serializers.IntegerField()
    approved = serializers.IntegerField()
    overridden = serializers.IntegerField()
    override_share = IntervalSerializer()
    cannot_tell = serializers.IntegerField()
    people = serializers.IntegerField()
    evidence_added = serializers.IntegerField()
    waiting = serializers.IntegerField()
    signed = serializers.IntegerField()
    reopened = serializers.IntegerField()
    second_reviews = serializers.IntegerField()
    disputes = serializers.IntegerField()
    second_agreement = IntervalSerializer()
    adjudicated = serializers.IntegerField()
    disputes_open = serializers.IntegerField()
    missed = MissedEvidenceSerializer(many=True)
    spent = PeriodCostSerializer()


class PeriodSerializer(serializers.Serializer[Any]):
    """A collection and two days (UTC), the last one included."""

    collection = serializers.SlugField()
    first = serializers.DateField()
    last = serializers.DateField()


_PERIOD = [
    OpenApiParameter("collection", OpenApiTypes.STR, required=True),
    OpenApiParameter("first", OpenApiTypes.DATE, required=True),
    OpenApiParameter("last", OpenApiTypes.DATE, required=True),
]


class PeriodReportViewSet(viewsets.ViewSet):
    """A period of a collection in figures, for an audit committee."""

    @extend_schema(parameters=_PERIOD, responses=PeriodReportSerializer)
    @from_replica
    def list(self, request: Request) -> Response:
        """Returns the figures of a period. For files, use `POST /exports/` with `kind` "report"."""
        asked = PeriodSerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        since, until = days_between(first=given["first"], last=given["last"])
        collection = collection_for(user=request.user, slug=given["collection"], permission=Permission.AUDIT)
        period = {"collection": collection, "since": since, "until": until}
        require_period(actor=request.user, **period)
        return Response(PeriodReportSerializer(period_figures(**period)).data)


class ReportLinkSerializer(serializers.ModelSerializer[ReportLink]):
    """A link that lets an outsider read the report of one signed run."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    made_by = serializers.CharField(source="made_by.name", read_only=True)
    state = serializers.SerializerMethodField()

    class Meta:
        model = ReportLink
        fields = [
            "id", "collection", "run", "reason", "made_by", "created_at", "expires_at", "revoked_at", "state",
        ]  # fmt: skip
        read_only_fields = fields

    def get_state(self, link: ReportLink) -> str:
        """Open, preparing, or why it no longer works: revoked, expired, reopened, restricted or removed."""
        return link_state(link)


class ReportLinkWithAddressSerializer(ReportLinkSerializer):
    """The link with its address, which is only returned on creation."""

    address = serializers.URLField(read_only=True)

    class Meta(ReportLinkSerializer.Meta):
        fields = [*ReportLinkSerializer.Meta.fields, "address"]
        read_only_fields = fields


class ReportLinkCreateSerializer(serializers.Serializer[Any]):
    """A link to create."""

    run = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    reason = serializers.CharField(max_length=500)
    days = serializers.IntegerField(min_value=1, max_value=LONGEST_DAYS)


@extend_schema_view(list=extend_schema(parameters=[RUN]))
class ReportLinkViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[ReportLink]):
    """Report links for people outside the product. Reviewers, admins and auditors of the collection can see them."""

    queryset = ReportLink.objects.none()
    serializer_class = ReportLinkSerializer
    # The address is given once, and kept nowhere.
    remembers_posts = False

    def get_queryset(self) -> QuerySet[ReportLink]:
        links = links_of(user=self.request.user)
        run = number_parameter(self.request, "run")
        return links if run is None else links.filter(run_id=run)

    @extend_schema(request=ReportLinkCreateSerializer, responses={201: ReportLinkWithAddressSerializer})
    def create(self, request: Request) -> Response:
        """Creates a link to the report of a signed run. Only this response contains its `address`."""
        given = checked(request, ReportLinkCreateSerializer)
        run = run_for(user=request.user, pk=given["run"])
        made, token = link_make(actor=request.user, run=run, reason=given["reason"], days=given["days"])
        link = self.get_queryset().get(pk=made.pk)
        link.address = public_address(reverse("exports:shared", args=[token]), request)  # type: ignore[attr-defined]
        shape = ReportLinkWithAddressSerializer(link)
        return Response(shape.data, status=status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})

    @extend_schema(request=None, responses=ReportLinkSerializer)
    @action(detail=True, methods=["post"])
    def revoke(self, request: Request, pk: str) -> Response:
        """Revokes the link."""
        link_revoke(actor=request.user, link=self.get_object())
        return Response(ReportLinkSerializer(self.get_object()).data)
