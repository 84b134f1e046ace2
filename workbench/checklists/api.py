"""Question sets, their rounds, and the grid of a round."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, checked
from workbench.api.filtering import between_days, by_key, by_person, by_slug, by_word
from workbench.documents.models import Document
from workbench.documents.selectors import collection_for
from workbench.runs.services import MAX_QUESTION_CHARACTERS

from .models import Entry, QuestionSet, Round
from .selectors import CELL_STATES, MOST_ROUNDS, cell_for, coverage, grid, question_set_for, round_for
from .services import (
    MAX_QUESTIONS,
    cell_retry,
    question_set_change,
    question_set_create,
    questions_in,
    round_start,
)

_ASKED = Prefetch("entries", queryset=Entry.objects.filter(is_current=True), to_attr="current_entries")


class QuestionSetSerializer(serializers.ModelSerializer[QuestionSet]):
    """A question set (saved checklist) with its current questions."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    questions = serializers.SerializerMethodField()

    class Meta:
        model = QuestionSet
        fields = ["id", "collection", "name", "description", "questions", "created_at"]
        read_only_fields = fields

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_questions(self, question_set: QuestionSet) -> list[str]:
        """In their order."""
        entries = getattr(question_set, "current_entries", None)
        if entries is None:
            entries = question_set.entries.filter(is_current=True)
        return [entry.text for entry in entries]


class QuestionsSerializer(serializers.Serializer[Any]):
    """The questions of a set."""

    questions = serializers.ListField(
        child=serializers.CharField(max_length=MAX_QUESTION_CHARACTERS),
        min_length=1,
        max_length=MAX_QUESTIONS,
    )

    def validate_questions(self, questions: list[str]) -> list[str]:
        """As the page takes them: none twice, none empty."""
        return questions_in("\n".join(" ".join(question.split()) for question in questions))


class QuestionSetCreateSerializer(QuestionsSerializer):
    """A new question set."""

    collection = serializers.SlugField()
    name = serializers.CharField(max_length=160)
    description = serializers.CharField(max_length=2000, required=False, default="", allow_blank=True)


class RoundSerializer(serializers.ModelSerializer[Round]):
    """A question set asked of several documents at one time."""

    collection = serializers.CharField(source="question_set.collection.slug", read_only=True)

    class Meta:
        model = Round
        fields = ["id", "collection", "question_set", "strategy", "due_on", "created_at", "finished_at"]
        read_only_fields = fields


class RoundCreateSerializer(serializers.Serializer[Any]):
    """A question set and the documents of its collection to ask."""

    question_set = serializers.IntegerField(min_value=1)
    documents = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), min_length=1, max_length=5000
    )
    strategy = serializers.CharField(max_length=40, required=False, default="", allow_blank=True)
    due_on = serializers.DateField(required=False, allow_null=True, default=None)


class GridCellSerializer(serializers.Serializer[Any]):
    """One question for one document. ``found`` is null until it is known."""

    id = serializers.IntegerField(source="pk")
    state = serializers.ChoiceField(choices=CELL_STATES)
    run = serializers.IntegerField(source="run_id", allow_null=True)
    found = serializers.BooleanField(allow_null=True)
    open_items = serializers.IntegerField()
    is_overdue = serializers.BooleanField()
    failure = serializers.CharField()


class GridRowSerializer(serializers.Serializer[Any]):
    """A document with its cells, in the order of the questions."""

    document = serializers.IntegerField(source="document.pk")
    name = serializers.CharField(source="document.name")
    cells = GridCellSerializer(many=True)


class GridSerializer(serializers.Serializer[Any]):
    """Documents by questions."""

    questions = serializers.ListField(child=serializers.CharField())
    counts = serializers.DictField(child=serializers.IntegerField())
    overdue = serializers.IntegerField()
    rows = GridRowSerializer(many=True)


class RoundCoverageSerializer(serializers.Serializer[Any]):
    """A round and its cells by state."""

    round = serializers.IntegerField(source="round.pk")
    created_at = serializers.DateTimeField(source="round.created_at")
    counts = serializers.DictField(child=serializers.IntegerField())


class QuestionSetViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[QuestionSet]):
    """Question sets (saved checklists)."""

    queryset = QuestionSet.objects.none()
    serializer_class = QuestionSetSerializer
    filters = {
        "collection": by_slug(),
        "created_by": by_person("created_by", "Creator."),
        **between_days(),
    }
    orderings = ("id", "name", "created_at")

    def get_queryset(self) -> QuerySet[QuestionSet]:
        sets = QuestionSet.objects.visible_to(self.request.user)
        return sets.select_related("collection").prefetch_related(_ASKED)

    @extend_schema(
        request=QuestionSetCreateSerializer,
        responses={201: QuestionSetSerializer},
    )
    def create(self, request: Request) -> Response:
        """Creates a question set."""
        given = checked(request, QuestionSetCreateSerializer)
        collection = collection_for(user=request.user, slug=given.pop("collection"))
        made = question_set_create(actor=request.user, collection=collection, **given)
        return Response(QuestionSetSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses=RoundCoverageSerializer(many=True))
    @action(detail=True, methods=["get"], pagination_class=None)
    def coverage(self, request: Request, pk: str) -> Response:
        """Returns the progress of the newest 50 rounds, oldest first."""
        question_set = question_set_for(user=request.user, pk=int(pk))
        rounds = reversed(question_set.rounds.all()[:MOST_ROUNDS])
        return Response(RoundCoverageSerializer(coverage(rounds=rounds), many=True).data)

    @extend_schema(request=QuestionsSerializer, responses=QuestionSetSerializer)
    @action(detail=True, methods=["post"])
    def change(self, request: Request, pk: str) -> Response:
        """Replaces the questions for later rounds. Existing rounds are unchanged."""
        question_set = question_set_for(user=request.user, pk=int(pk))
        given = checked(request, QuestionsSerializer)
        question_set_change(actor=request.user, question_set=question_set, questions=given["questions"])
        return Response(QuestionSetSerializer(question_set).data)


class RoundViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Round]):
    """Rounds of question sets, newest first."""

    queryset = Round.objects.none()
    serializer_class = RoundSerializer
    filters = {
        "collection": by_slug("question_set__collection__slug"),
        "question_set": by_key("question_set", "ID of the question set."),
        "strategy": by_word("strategy", "Name of the strategy."),
        "asked_by": by_person("requested_by", "Person who started the round."),
        **between_days(),
    }
    orderings = ("id", "strategy", "created_at")

    def get_queryset(self) -> QuerySet[Round]:
        return Round.objects.visible_to(self.request.user).select_related("question_set__collection")

    @extend_schema(request=RoundCreateSerializer, responses={201: RoundSerializer})
    def create(self, request: Request) -> Response:
        """Asks every question of the set for each given document. Workers fill the grid."""
        given = checked(request, RoundCreateSerializer)
        question_set = question_set_for(user=request.user, pk=given["question_set"])
        wanted = set(given["documents"])
        found = Document.objects.visible_to(request.user).filter(
            pk__in=wanted, collection=question_set.collection
        )
        documents = list(found)
        missing = sorted(wanted - {document.pk for document in documents})
        if missing:
            raise serializers.ValidationError(
                {"documents": [f"Not documents of this collection: {', '.join(map(str, missing[:10]))}"]}
            )
        started = round_start(
            actor=request.user,
            question_set=question_set,
            documents=documents,
            strategy=given["strategy"],
            due_on=given["due_on"],
        )
        return Response(RoundSerializer(started).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses=GridSerializer)
    @action(detail=True, methods=["get"])
    def grid(self, request: Request, pk: str) -> Response:
        """Returns the status of every question for every document."""
        round_ = round_for(user=request.user, pk=int(pk))
        found = grid(round_=round_, today=timezone.localdate(), viewer=request.user)
        shown = {
            "questions": [entry.text for entry in found.entries],
            "counts": found.counts,
            "overdue": found.overdue,
            "rows": found.rows,
        }
        return Response(GridSerializer(shown).data)


class CellViewSet(ApiViewSet[Round]):
    """Cells of rounds."""

    queryset = Round.objects.none()
    serializer_class = GridCellSerializer

    @extend_schema(request=None, responses={202: None})
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, pk: str) -> Response:
        """Retries a question that could not be asked or whose run failed."""
        cell_retry(actor=request.user, cell=cell_for(user=request.user, pk=int(pk)))
        return Response(status=status.HTTP_202_ACCEPTED)
