"""Maintenance by API: the same work as on the page."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, checked

from .jobs import job_start
from .models import Job, JobKind
from .operations import may_operate


class JobSerializer(serializers.ModelSerializer[Job]):
    """A maintenance job and its progress. ``result`` depends on the kind: for a verification, the fields of
    ``verify_audit --json``; for vectors, the numbers of passages completed and still missing a vector."""

    result = serializers.DictField(read_only=True, allow_null=True)

    class Meta:
        model = Job
        fields = ["id", "kind", "state", "done", "total", "result", "failure", "created_at", "finished_at"]
        read_only_fields = fields


class JobStartSerializer(serializers.Serializer[Any]):
    """The kind of job. ``anchors``: externally stored links (position to hash) that a verification compares with."""

    kind = serializers.ChoiceField(choices=JobKind.choices)
    anchors = serializers.DictField(child=serializers.CharField(max_length=64), required=False, default=dict)

    def validate_anchors(self, given: dict[str, str]) -> dict[int, str]:
        """Positions are whole numbers."""
        try:
            return {int(position): digest for position, digest in given.items()}
        except ValueError as error:
            raise serializers.ValidationError("A position is a whole number.") from error


class JobViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Job]):
    """Maintenance jobs. Auditors can verify the audit trail. Administrators can start all other kinds, but not with a
    token."""

    queryset = Job.objects.none()
    serializer_class = JobSerializer

    def get_queryset(self) -> QuerySet[Job]:
        """For those who may look at operations."""
        if not may_operate(self.request.user):
            raise PermissionDenied
        return Job.objects.all()

    @extend_schema(request=JobStartSerializer, responses={202: JobSerializer})
    def create(self, request: Request) -> Response:
        """Starts a job. If one of the same kind is under way, returns that job, or 409 if it has other anchors."""
        if not may_operate(request.user):
            raise PermissionDenied
        job = job_start(actor=request.user, **checked(request, JobStartSerializer))
        return Response(JobSerializer(job).data, status=202)
