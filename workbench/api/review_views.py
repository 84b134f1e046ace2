"""The API of the reviewer's day beyond single decisions: signatures, reopenings."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.review.blindness import of_withheld_run
from workbench.review.models import Reopening, Signature
from workbench.review.signing import run_reopen, run_sign
from workbench.runs.models import Run
from workbench.runs.selectors import run_for

from . import review_serializers as shapes
from .base import ApiViewSet, checked, number_parameter

RUN = OpenApiParameter("run", OpenApiTypes.INT, description="Key of a run.")


def run_filter(request: Request) -> int | None:
    """The run that the address asks for."""
    return number_parameter(request, "run")


@extend_schema_view(list=extend_schema(parameters=[RUN]))
class SignatureViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Signature]):
    """Signatures under runs, with the signed record; each stays for ever."""

    queryset = Signature.objects.none()
    serializer_class = shapes.SignatureSerializer
    # The fingerprint of a request must not be made of a password; a run is signed once anyway.
    remembers_posts = False

    def get_queryset(self) -> QuerySet[Signature]:
        """Only those of runs visible to the caller."""
        runs = Run.objects.visible_to(self.request.user)
        rows = Signature.objects.filter(run__in=runs.values("pk")).select_related("reopening__reopened_by")
        rows = rows.prefetch_related("text_changes")
        rows = rows.annotate(is_withheld=of_withheld_run(user=self.request.user))
        run = run_filter(self.request)
        return rows if run is None else rows.filter(run_id=run)

    @extend_schema(request=shapes.SignSerializer, responses={201: shapes.SignatureSerializer})
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Signs a run with the caller's password once more. `record_sha256` is the hash that
        `GET /runs/{id}/signing/` gave: a record that changed since is not signed."""
        given = checked(request, shapes.SignSerializer)
        signature = run_sign(
            actor=request.user,
            run=run_for(user=request.user, pk=given["run"]),
            password=given["password"],
            meaning=given["meaning"],
            seen_sha256=given["record_sha256"],
        )
        return Response(shapes.SignatureSerializer(signature).data, status=status.HTTP_201_CREATED)


class ReopeningViewSet(ApiViewSet[Reopening]):
    """Reopening signed runs."""

    queryset = Reopening.objects.none()
    serializer_class = shapes.ReopenSerializer

    @extend_schema(request=shapes.ReopenSerializer, responses={201: shapes.ReopeningSerializer})
    def create(self, request: Request) -> Response:
        """Sets the signature of a run aside, with a reason."""
        given = checked(request, shapes.ReopenSerializer)
        run = run_for(user=request.user, pk=given["run"])
        reopening = run_reopen(actor=request.user, run=run, reason=given["reason"])
        reopening.refresh_from_db()
        return Response(shapes.ReopeningSerializer(reopening).data, status=status.HTTP_201_CREATED)
