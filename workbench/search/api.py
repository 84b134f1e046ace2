"""Full-text search: the API of the search page."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import Cursor
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import COLLECTION, ApiViewSet
from workbench.api.pagination import IdCursorPagination
from workbench.documents.models import Document

from .forms import ALL_WORDS, ANY_WORD, SearchForm
from .presenters import place_url
from .selectors import FARTHEST, PAGE_SIZE, Found, search
from .words import LONGEST_QUERY


class MarkSerializer(serializers.Serializer[Any]):
    """Where a word stands in the text: offsets in characters, ``end`` excluded."""

    start = serializers.IntegerField()
    end = serializers.IntegerField()


class FoundSerializer(serializers.Serializer[Found]):
    """A matching passage. The given lines contain the words; ``text`` adds one line on each side, and ``marks`` locates
    the words in it. ``section`` is empty if the document has none."""

    collection = serializers.SlugField(source="document.collection.slug")
    document = serializers.IntegerField(source="document.pk")
    title = serializers.CharField(source="document.__str__")
    version = serializers.IntegerField(source="document.version_number")
    section = serializers.CharField(source="section.breadcrumb", default="")
    page_start = serializers.IntegerField()
    line_start = serializers.IntegerField()
    page_end = serializers.IntegerField()
    line_end = serializers.IntegerField()
    text = serializers.CharField()
    marks = serializers.SerializerMethodField()
    url = serializers.SerializerMethodField(help_text="URL of the document page at the first line.")

    def get_marks(self, found: Found) -> list[dict[str, int]]:
        """Offsets of the matching words."""
        return [{"start": start, "end": end} for start, end in found.marks]

    def get_url(self, found: Found) -> str:
        """The address of the place, without the host."""
        return place_url(found)


class FoundPagination(IdCursorPagination):
    """Best match first. The index defines the order, so a cursor is a number of passages."""

    page_size = PAGE_SIZE
    max_page_size = 100
    offset_cutoff = FARTHEST

    def begin(self, request: Request) -> tuple[int, int]:
        """How many passages come before this page, and how many are on it."""
        self.size = self.get_page_size(request) or self.page_size
        self.base_url = request.build_absolute_uri()
        cursor = self.decode_cursor(request)
        self.offset = cursor.offset if cursor else 0
        return self.offset, self.size

    def answer(self, results: list[dict[str, Any]], *, has_more: bool) -> Response:
        """The page, with the addresses of those beside it."""
        before = max(self.offset - self.size, 0)
        return Response(
            {
                "next": self._at(self.offset + self.size) if has_more else None,
                "previous": self._at(before) if self.offset else None,
                "results": results,
            }
        )

    def _at(self, offset: int) -> str:
        return str(self.encode_cursor(Cursor(offset=offset, reverse=False, position=None)))


def _filter(name: str, words: str, kind: Any = OpenApiTypes.STR, **more: Any) -> OpenApiParameter:
    return OpenApiParameter(name, kind, description=words, **more)


class SearchViewSet(ApiViewSet[Document]):
    """Full-text search of the documents that the caller may read."""

    queryset = Document.objects.none()
    serializer_class = FoundSerializer
    pagination_class = FoundPagination

    def get_queryset(self) -> QuerySet[Document]:
        """None: what is found is no row of a table."""
        return Document.objects.none()

    @extend_schema(
        parameters=[
            _filter(
                "q",
                f"Query, at most {LONGEST_QUERY} characters. Words match in every inflected form; a phrase in quotation"
                " marks matches exactly.",
                required=True,
            ),
            COLLECTION,
            _filter(
                "document",
                "ID of the document. Without it, only the newest version of each document is searched.",
                OpenApiTypes.INT,
            ),
            _filter("section", "Text in the heading of the section or of an enclosing section."),
            _filter("document_type", "Document type."),
            _filter("party", "Party. A party set by a person takes precedence over one read by the machine."),
            _filter("tag", "Tag."),
            _filter(
                "field",
                "Value of a custom field, as name:value.",
            ),
            _filter("effective_from", "Only documents effective on or after this day.", OpenApiTypes.DATE),
            _filter("effective_to", "Only documents effective on or before this day.", OpenApiTypes.DATE),
            _filter(
                "match",
                "Whether a passage must contain all words or any of them.",
                enum=[ALL_WORDS, ANY_WORD],
                default=ALL_WORDS,
            ),
        ],
        responses=FoundSerializer(many=True),
    )
    def list(self, request: Request) -> Response:
        """Searches passages, best match first. At most 1,000 results."""
        form = SearchForm(request.query_params, user=request.user)
        is_valid = form.is_valid()
        if form.names_unknown:
            raise Http404
        if not is_valid:
            raise ValidationError(form.errors)
        pager = FoundPagination()
        offset, size = pager.begin(request)
        page = search(user=request.user, request=form.to_request(), offset=offset, size=size)
        return pager.answer(FoundSerializer(page.found, many=True).data, has_more=page.has_more)
