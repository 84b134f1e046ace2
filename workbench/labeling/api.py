"""The API of the labelling workbench: projects, the annotator's desk, adjudication, and the collection's labels."""

from __future__ import annotations

import secrets
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import Permission, member_condition_any
from workbench.api.base import ApiViewSet, checked
from workbench.api.conditions import created
from workbench.api.filtering import between_days, by_key, by_person, by_slug
from workbench.checklists.models import QuestionSet
from workbench.documents.models import Collection
from workbench.documents.selectors import collection_for
from workbench.infra.exports import download
from workbench.infra.replica import from_replica

from . import adjudication, work
from . import serializers as shapes
from .agreement import CollectionAgreement, collection_agreement
from .exchange_api import LabelExchange, PairExchange, TaskSerializer
from .export import labels_csv
from .label_studio import project_tasks
from .models import GuidelineVersion, Pair, Project, Slot
from .presenters import OVERSEERS
from .projects import guideline_write, project_close, project_create, project_supply
from .supply import elusion_draw, pairs_add_from_runs


def _set_of(project: Project, key: int | None) -> QuestionSet | None:
    """A question set of the project's collection; 404 for any other, as the page's form knows none."""
    sets = QuestionSet.objects.filter(collection=project.collection_id)
    return get_object_or_404(sets, pk=key) if key is not None else None


class LabelingProjectViewSet(
    PairExchange, mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Project]
):
    """Labelling projects."""

    queryset = Project.objects.none()
    serializer_class = shapes.ProjectSerializer
    filters = {
        "collection": by_slug(),
        "created_by": by_person("created_by", "Creator."),
        **between_days(),
    }
    orderings = ("id", "name", "created_at")

    def get_queryset(self) -> QuerySet[Project]:
        """Those of the caller's collections; for the desk, of those where the caller labels."""
        at_the_desk = self.action in {"next", "undo"}
        projects = Project.objects.visible_to(
            self.request.user, Permission.LABEL if at_the_desk else Permission.VIEW
        )
        return projects.select_related("collection")

    @extend_schema(
        request=shapes.ProjectCreateSerializer,
        responses={201: shapes.ProjectSerializer},
    )
    def create(self, request: Request) -> Response:
        """Creates a project. Requires the admin role in the collection."""
        given = checked(request, shapes.ProjectCreateSerializer)
        collection = collection_for(user=request.user, slug=given.pop("collection"))
        made = project_create(actor=request.user, project=Project(collection=collection, **given))
        made.refresh_from_db()
        return Response(self.get_serializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=shapes.FillSerializer, responses=shapes.SuppliedSerializer)
    @action(detail=True, methods=["post"])
    def fill(self, request: Request, pk: str) -> Response:
        """Adds pairs from finished runs: the most uncertain, a random share, and a sample of every holdout question."""
        project = self.get_object()
        given = checked(request, shapes.FillSerializer)
        given["question_set"] = _set_of(project, given["question_set"])
        supplied = pairs_add_from_runs(actor=request.user, project=project, **given)
        return Response(shapes.SuppliedSerializer(supplied).data)

    @extend_schema(
        request=shapes.ElusionDrawSerializer,
        responses={201: shapes.ElusionSampleSerializer},
    )
    @action(detail=True, methods=["post"])
    def elusion(self, request: Request, pk: str) -> Response:
        """Adds a random sample of discarded passages for people to judge. The share that is evidence appears in the
        collection's trust figures."""
        project = self.get_object()
        given = checked(request, shapes.ElusionDrawSerializer)
        given["question_set"] = _set_of(project, given["question_set"])
        sample = elusion_draw(actor=request.user, project=project, seed=secrets.randbits(32), **given)
        sample.refresh_from_db()
        # What it comes to is among the trust figures of the collection.
        at = reverse("api:collection-trust", args=[project.collection.slug])
        return created(shapes.ElusionSampleSerializer(sample).data, at=at)

    @extend_schema(request=shapes.SupplySerializer, responses=shapes.ProjectSerializer)
    @action(detail=True, methods=["post"])
    def supply(self, request: Request, pk: str) -> Response:
        """Sets how many open pairs to maintain from finished runs. 0 turns automatic supply off."""
        project = self.get_object()
        given = checked(request, shapes.SupplySerializer)
        project_supply(actor=request.user, project=project, **given)
        return self._changed(project)

    @extend_schema(request=shapes.OpenSerializer, responses=shapes.ProjectSerializer)
    @action(detail=True, methods=["post"])
    def open(self, request: Request, pk: str) -> Response:
        """Opens or closes the project for labelling."""
        project = self.get_object()
        given = checked(request, shapes.OpenSerializer)
        project_close(actor=request.user, project=project, **given)
        return self._changed(project)

    @extend_schema(responses=shapes.GuidelineSerializer(many=True), methods=["get"])
    @extend_schema(
        request=shapes.GuidelineWriteSerializer, responses=shapes.GuidelineSerializer, methods=["post"]
    )
    @action(detail=True, methods=["get", "post"], pagination_class=None)
    def guidelines(self, request: Request, pk: str) -> Response:
        """GET lists all versions, newest first. POST creates a version."""
        project = self.get_object()
        if request.method == "GET":
            versions = GuidelineVersion.objects.filter(collection=project.collection_id)
            return Response(shapes.GuidelineSerializer(versions, many=True).data)
        given = checked(request, shapes.GuidelineWriteSerializer)
        version = guideline_write(actor=request.user, project=project, body=given["body"])
        version.refresh_from_db()
        return Response(shapes.GuidelineSerializer(version).data)

    @extend_schema(responses=TaskSerializer(many=True))
    @action(detail=True, methods=["get"], url_path="label-studio", pagination_class=None)
    def label_studio(self, request: Request, pk: str) -> Response:
        """Exports the open pairs as Label Studio tasks. Requires the admin role. The export is recorded in the audit
        trail."""
        project = self.get_object()
        return Response(
            project_tasks(actor=request.user, project=project),
            headers={"Content-Disposition": f'attachment; filename="tasks-{project.pk}.json"'},
        )

    @extend_schema(request=None, responses={200: shapes.DeskSerializer, 204: None})
    @action(detail=True, methods=["post"])
    def next(self, request: Request, pk: str) -> Response:
        """Returns the caller's next pair, reserved for 15 minutes. A pair already reserved comes first. Returns 204 if
        none is left."""
        slot = work.slot_claim_next(actor=request.user, project=self.get_object())
        if slot is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(shapes.DeskSerializer(slot).data)

    @extend_schema(request=None, responses=shapes.DeskSerializer)
    @action(detail=True, methods=["post"])
    def undo(self, request: Request, pk: str) -> Response:
        """Undoes the caller's latest action and reserves its pair for the caller again."""
        slot = work.undo_last(actor=request.user, project=self.get_object())
        return Response(shapes.DeskSerializer(slot).data)

    def _changed(self, project: Project) -> Response:
        project.refresh_from_db()
        return Response(self.get_serializer(project).data)


class DeskViewSet(mixins.RetrieveModelMixin, ApiViewSet[Slot]):
    """Pairs assigned to the caller, and pairs that the caller has judged."""

    queryset = Slot.objects.none()
    serializer_class = shapes.DeskSerializer

    def get_queryset(self) -> QuerySet[Slot]:
        """The caller's own, of collections where they label."""
        own = Slot.objects.visible_to(self.request.user, Permission.LABEL).filter(person=self.request.user)
        return own.select_related("pair__document", "pair__project__collection")

    @extend_schema(request=shapes.RoleSerializer, responses=shapes.DeskSerializer)
    @action(detail=True, methods=["post"])
    def answer(self, request: Request, pk: str) -> Response:
        """Submits the caller's role for the pair. Repeating it has no effect."""
        slot = self.get_object()
        given = checked(request, shapes.RoleSerializer)
        answered = work.slot_answer(actor=request.user, slot=slot, role=given["role"])
        return Response(shapes.DeskSerializer(answered).data)

    @extend_schema(request=shapes.PassSerializer, responses={204: None})
    @action(detail=True, methods=["post"], url_path="pass")
    def pass_over(self, request: Request, pk: str) -> Response:
        """Skips the pair ("can't tell" or "later") and returns it to the pool."""
        slot = self.get_object()
        given = checked(request, shapes.PassSerializer)
        work.slot_pass(actor=request.user, slot=slot, kind=given["kind"])
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={204: None})
    @action(detail=True, methods=["post"])
    def release(self, request: Request, pk: str) -> Response:
        """Releases the caller's reserved pairs."""
        work.slot_release(actor=request.user, slot=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


@extend_schema_view(list=extend_schema(responses=shapes.DisputeListSerializer(many=True)))
class DisputeViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Pair]):
    """Pairs that need a third person, because two disagree or neither could tell."""

    queryset = Pair.objects.none()
    serializer_class = shapes.DisputeSerializer
    filters = {
        "collection": by_slug(),
        "project": by_key("project", "ID of the project."),
        "document": by_key("document", "ID of the document."),
        **between_days(),
    }
    orderings = ("id", "created_at")

    def get_serializer_class(self) -> type[Any]:
        """The list without the passages."""
        return shapes.DisputeListSerializer if self.action == "list" else shapes.DisputeSerializer

    def get_queryset(self) -> QuerySet[Pair]:
        """The list is what the caller may decide; a key leads to any pair of a collection that they review."""
        if self.action == "list":
            pairs = adjudication.disputes(user=self.request.user)
        else:
            pairs = Pair.objects.visible_to(self.request.user, Permission.REVIEW)
        return pairs.select_related("collection", "document", "project")

    @extend_schema(request=shapes.AdjudicateSerializer, responses=shapes.DisputeSerializer)
    @action(detail=True, methods=["post"])
    def adjudicate(self, request: Request, pk: str) -> Response:
        """Sets the final role: one of the two given, or another if both are wrong."""
        pair = self.get_object()
        given = checked(request, shapes.AdjudicateSerializer)
        adjudication.pair_adjudicate(actor=request.user, pair=pair, **given)
        return self._decided(pair)

    @extend_schema(request=shapes.SetAsideSerializer, responses=shapes.DisputeSerializer)
    @action(detail=True, methods=["post"], url_path="set-aside")
    def set_aside(self, request: Request, pk: str) -> Response:
        """Closes the pair without a label, because the role cannot be determined."""
        pair = self.get_object()
        given = checked(request, shapes.SetAsideSerializer)
        adjudication.pair_set_aside(actor=request.user, pair=pair, **given)
        return self._decided(pair)

    def _decided(self, pair: Pair) -> Response:
        pair.refresh_from_db()
        return Response(shapes.DisputeSerializer(pair).data)


class CollectionLabelViewSet(LabelExchange, ApiViewSet[Collection]):
    """The labels of a collection as a whole."""

    queryset = Collection.objects.none()
    serializer_class = shapes.AgreementSerializer
    lookup_field = "slug"
    lookup_value_regex = "[-a-zA-Z0-9_]+"

    def get_queryset(self) -> QuerySet[Collection]:
        """Labels go to those who manage the collection, figures to all who oversee it."""
        user = self.request.user
        if self.action == "agreement":
            return Collection.objects.filter(member_condition_any(user, OVERSEERS)).distinct()
        return Collection.objects.visible_to(user, Permission.MANAGE)

    @extend_schema(responses=shapes.AgreementSerializer)
    @action(detail=True, methods=["get"])
    @from_replica
    def agreement(self, request: Request, slug: str) -> Response:
        """Returns agreement between people, and between language models and people."""
        return Response(_agreement(collection_agreement(collection=self.get_object())))

    @extend_schema(
        responses={(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description="CSV, UTF-8.")}
    )
    @action(detail=True, methods=["get"])
    @from_replica
    def export(self, request: Request, slug: str) -> HttpResponse:
        """Downloads all labels as CSV: one column per judge, plus the effective label."""
        collection = self.get_object()
        body = labels_csv(actor=request.user, collection=collection)
        return download(body, f"labels-{collection.slug}.csv")


def _agreement(figures: CollectionAgreement) -> dict[str, Any]:
    names = figures.names
    return dict(
        shapes.AgreementSerializer(
            {
                "percent": figures.people.percent,
                "alpha": figures.people.alpha,
                "people": [
                    {
                        "first": names[pair.first],
                        "second": names[pair.second],
                        "percent": pair.percent,
                        "kappa": pair.kappa,
                    }
                    for pair in figures.people.pairs
                ],
                "models": figures.models,
            }
        ).data
    )
