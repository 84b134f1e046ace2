"""Models, trainings, the schedule and drift: the API of the Models page.

A model belongs to the installation. Members of any collection can read, admins of a collection can start and stop
trainings. Only administrators of the installation, without a token, can place models and set what the gate requires.
Callers only see the collections they may see.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, checked, number_parameter
from workbench.api.filtering import between_days, by_key, by_person, one_of
from workbench.api.reauthentication import asks_again
from workbench.labeling.models import Label
from workbench.review.models import Review

from . import selectors, services
from . import serializers as shapes
from .cards import labels_seen
from .champion import serving_now
from .data import training_plan
from .drift import drift_for
from .forms import FIELDS
from .models import (
    AliasMove,
    AliasName,
    ModelVersion,
    RunState,
    SnapshotLabel,
    TrainingRun,
    TrainingSchedule,
)
from .unmatched import unmatched_seen

Row = TypeVar("Row", bound=models.Model)
#: Labels that train nothing, named in a plan.
UNMATCHED_SHOWN = 50


class ReadersViewSet(ApiViewSet[Row]):
    """For members of a collection and administrators of the installation, as the pages are."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuses everybody else before anything is looked up."""
        super().initial(request, *args, **kwargs)
        if not services.may_read(user=request.user):
            raise PermissionDenied


@extend_schema_view(
    list=extend_schema(
        parameters=[
            OpenApiParameter("label", OpenApiTypes.INT, description="Only models trained on this label.")
        ]
    ),
    retrieve=extend_schema(responses=shapes.ModelDetailSerializer),
)
class ModelViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ReadersViewSet[ModelVersion]):
    """Reranker models by number, newest first."""

    queryset = ModelVersion.objects.none()
    lookup_field = "number"

    def get_serializer_class(self) -> type[shapes.ModelSerializer]:
        """One of them with its card."""
        return shapes.ModelDetailSerializer if self.action == "retrieve" else shapes.ModelSerializer

    def get_queryset(self) -> QuerySet[ModelVersion]:
        """All, or those that learned from a label that the caller sees."""
        versions = selectors.versions_all().prefetch_related("aliases")
        label = number_parameter(self.request, "label") if self.action == "list" else None
        if label is None:
            return versions
        found = get_object_or_404(Label.objects.visible_to(self.request.user), pk=label)
        return versions.filter(snapshot__in=SnapshotLabel.objects.filter(label=found).values("snapshot"))

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "overturned", OpenApiTypes.BOOL, description="Whether the label has been overturned since."
            )
        ],
        responses=shapes.LearnedLabelSerializer(many=True),
    )
    @action(detail=True, methods=["get"])
    def labels(self, request: Request, number: str) -> Response:
        """Lists the labels the model was trained on, limited to the caller's collections."""
        version = selectors.version_for(number=int(number))
        rows = labels_seen(version=version, user=request.user)
        overturned = _flag(request, "overturned")
        if overturned is not None:
            rows = rows.filter(overturned_at__isnull=not overturned)
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(shapes.LearnedLabelSerializer(page, many=True).data)

    @extend_schema(responses=shapes.ServingSerializer, filters=False)
    @action(detail=False, methods=["get"], pagination_class=None)
    def serving(self, request: Request) -> Response:
        """Returns the champion model and the shadow model."""
        return _serving()

    @extend_schema(request=shapes.RollBackSerializer, responses=shapes.ServingSerializer)
    @action(detail=True, methods=["post"], url_path="roll-back")
    @asks_again
    def roll_back(self, request: Request, number: str) -> Response:
        """Makes a model that has passed the gate the champion again."""
        version = selectors.version_for(number=int(number))
        services.model_roll_back(
            actor=request.user, version=version, reason=checked(request, shapes.RollBackSerializer)["reason"]
        )
        return _serving()

    @extend_schema(request=None, responses=shapes.ServingSerializer)
    @action(detail=True, methods=["post"])
    @asks_again
    def shadow(self, request: Request, number: str) -> Response:
        """Puts the model in shadow, where it scores live candidates but decides nothing. It replaces the current shadow
        model."""
        services.model_shadow(actor=request.user, version=selectors.version_for(number=int(number)))
        return _serving()

    @extend_schema(request=None, responses=shapes.ServingSerializer, filters=False)
    @action(detail=False, methods=["post"], url_path="end-shadow", pagination_class=None)
    @asks_again
    def end_shadow(self, request: Request) -> Response:
        """Removes the model in shadow."""
        services.model_shadow(actor=request.user, version=None)
        return _serving()


class MoveViewSet(mixins.ListModelMixin, ReadersViewSet[AliasMove]):
    """The history of champion and shadow models, newest first."""

    queryset = AliasMove.objects.none()
    serializer_class = shapes.MoveSerializer
    filters = {
        "model": by_key("version__number", "Number of the model."),
        "alias": one_of("alias", AliasName, "Place: champion or shadow."),
        **between_days(),
    }
    orderings = ("id", "alias", "created_at")

    def get_queryset(self) -> QuerySet[AliasMove]:
        return selectors.moves_all()


class TrainingViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ReadersViewSet[TrainingRun]):
    """Trainings, newest first. Only one runs at a time."""

    queryset = TrainingRun.objects.none()
    serializer_class = shapes.TrainingSerializer
    filters = {
        "state": one_of("state", RunState),
        "asked_by": by_person("requested_by", "Person who started the round."),
        **between_days(),
    }
    orderings = ("id", "state", "created_at")

    def get_queryset(self) -> QuerySet[TrainingRun]:
        return selectors.trainings_all()

    @extend_schema(request=None, responses={202: shapes.TrainingSerializer})
    def create(self, request: Request) -> Response:
        """Starts a training. A worker runs it, and the gate decides whether to deploy the model."""
        run = services.training_start(actor=request.user)
        return Response(_training(run.pk), status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=None, responses=shapes.TrainingSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancels the training. The worker stops at its next step."""
        run = selectors.training_for(pk=int(pk))
        services.training_cancel(actor=request.user, run=run)
        return Response(_training(run.pk))

    @extend_schema(responses=shapes.PlanSerializer, filters=False)
    @action(detail=False, methods=["get"], pagination_class=None)
    def plan(self, request: Request) -> Response:
        """Returns what a training would read and measure now, without training."""
        plan = training_plan(services.standing_current())
        unmatched = list(unmatched_seen(user=request.user)[:UNMATCHED_SHOWN]) if plan.unmatched else []
        shown = {
            **asdict(plan),
            "has_enough_gold": plan.has_enough_gold,
            "gold_outlook": plan.outlook,
            "unmatched_labels": unmatched,
        }
        return Response(shapes.PlanSerializer(shown).data)


class ScheduleViewSet(ReadersViewSet[TrainingSchedule]):
    """The automatic training schedule, and what the gate requires."""

    queryset = TrainingSchedule.objects.none()
    serializer_class = shapes.ScheduleSerializer

    @extend_schema(responses=shapes.ScheduleSerializer)
    def state(self, request: Request) -> Response:
        """Returns the training schedule."""
        return _schedule()

    @extend_schema(request=shapes.ScheduleChangeSerializer, responses=shapes.ScheduleSerializer)
    @asks_again
    def change(self, request: Request) -> Response:
        """Replaces the schedule. Missed trainings are not made up."""
        services.schedule_change(actor=request.user, **checked(request, shapes.ScheduleChangeSerializer))
        return _schedule()


class DriftViewSet(ReadersViewSet[Review]):
    """How often people override the machine."""

    queryset = Review.objects.none()
    serializer_class = shapes.DriftSerializer

    @extend_schema(responses=shapes.DriftSerializer)
    def figures(self, request: Request) -> Response:
        """Returns figures for the last year: overall, and by month, week, machine role, detector and collection."""
        return Response(shapes.DriftSerializer(drift_for(user=request.user)).data)


def _serving() -> Response:
    return Response(shapes.ServingSerializer(serving_now()).data)


def _training(pk: int) -> Any:
    return shapes.TrainingSerializer(selectors.training_for(pk=pk)).data


def _schedule() -> Response:
    schedule = services.schedule_current()
    shown = {name: getattr(schedule, name) for name in FIELDS}
    shown["next_due"] = services.next_due(schedule) if schedule.is_on else None
    shown["new_labels"] = selectors.labels_since_last_training()
    return Response(shapes.ScheduleSerializer(shown).data)


def _choice(request: Request, name: str, known: list[str]) -> str:
    """One of the words of an address; empty where it is not given."""
    given = request.query_params.get(name, "")
    if given and given not in known:
        raise ValidationError({name: [f"Give one of {', '.join(known)}."]})
    return given


def _flag(request: Request, name: str) -> bool | None:
    """Yes or no of an address; None where it is not given."""
    given = _choice(request, name, ["true", "false"])
    return given == "true" if given else None
