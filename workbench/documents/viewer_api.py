"""What the page viewer reads, for programs: outline, pages with the boxes of their lines, images, what a search finds,
lines as people cite them, two documents side by side, documents that are nearly the same."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import KEY, Actions

from .beside import Pair, Side, pair_for
from .citing import citation, position_in
from .finding import Found, Hit, document_find
from .likeness import likenesses_of
from .models import Document, Section
from .selectors import PageView, PlacedLine, page_view, readable_document_for
from .views import image_response


class TextSpanSerializer(serializers.Serializer[Any]):
    """Character offsets into a text; ``end`` is exclusive."""

    start = serializers.IntegerField(source="0")
    end = serializers.IntegerField(source="1")

    def to_representation(self, instance: tuple[int, int]) -> dict[str, int]:
        """From a pair."""
        return {"start": instance[0], "end": instance[1]}


class OutlineSerializer(serializers.ModelSerializer[Section]):
    """A section: where it starts and its level, starting at 1."""

    page = serializers.IntegerField(source="start_page")
    line = serializers.IntegerField(source="line_start")

    class Meta:
        model = Section
        fields = ["section_id", "parent_id", "level", "title", "page", "line"]
        read_only_fields = fields


class PageLineSerializer(serializers.Serializer[PlacedLine]):
    """A line. ``box`` is [left, top, width, height] in points, or null if unknown."""

    line = serializers.IntegerField(source="line_num")
    text = serializers.CharField()
    box = serializers.ListField(child=serializers.FloatField(), allow_null=True)
    section = serializers.CharField(source="section_id")
    is_furniture = serializers.BooleanField()
    is_hidden = serializers.BooleanField()
    confidence = serializers.FloatField(allow_null=True)


class DocumentPageSerializer(serializers.Serializer[PageView]):
    """A page with its lines. Sizes are in points, or 0 if the format has no pages."""

    page = serializers.IntegerField(source="page_num")
    pages = serializers.IntegerField(source="page_count")
    width = serializers.FloatField()
    height = serializers.FloatField()
    lines = PageLineSerializer(many=True)


class HitSerializer(serializers.Serializer[Hit]):
    """A line that contains the words at ``marks``, with its neighbouring lines."""

    page = serializers.IntegerField(source="page_num")
    line = serializers.IntegerField(source="line_num")
    text = serializers.CharField()
    marks = TextSpanSerializer(source="spans", many=True)
    before = serializers.CharField()
    after = serializers.CharField()


class HitsSerializer(serializers.Serializer[Found]):
    """Hits in reading order. ``has_more`` is true if there are further hits."""

    hits = HitSerializer(many=True)
    has_more = serializers.BooleanField()


class LinesCitationSerializer(serializers.Serializer[Any]):
    """A location in words, with the quote. ``clause`` is empty if the section has no number."""

    page_start = serializers.IntegerField()
    line_start = serializers.IntegerField()
    page_end = serializers.IntegerField()
    line_end = serializers.IntegerField()
    clause = serializers.CharField()
    place = serializers.CharField()
    quote = serializers.CharField()


class ComparedLineSerializer(serializers.Serializer[Any]):
    """A compared line. ``differs`` are the words that the other text lacks there."""

    page = serializers.IntegerField()
    line = serializers.IntegerField()
    text = serializers.CharField()
    differs = TextSpanSerializer(many=True)


class BesideSideSerializer(serializers.Serializer[Side]):
    """One of the two texts."""

    document = serializers.IntegerField(source="document.pk")
    lines = serializers.SerializerMethodField()

    @extend_schema_field(ComparedLineSerializer(many=True))
    def get_lines(self, side: Side) -> list[dict[str, Any]]:
        """Each with its marks."""
        rows = [
            {
                "page": line.page_num,
                "line": line.line_num,
                "text": line.text,
                "differs": side.marks.get((line.page_num, line.line_num), ()),
            }
            for line in side.lines
        ]
        return list(ComparedLineSerializer(rows, many=True).data)


class BesideSerializer(serializers.Serializer[Pair]):
    """Two texts side by side. ``is_too_long`` if they were too long to compare."""

    left = BesideSideSerializer()
    right = BesideSideSerializer()
    is_too_long = serializers.BooleanField()


class AlikeSerializer(serializers.Serializer[Any]):
    """A near-duplicate. ``share`` is the fraction of word sequences that both texts have in common, in [0, 1]."""

    document = serializers.IntegerField()
    name = serializers.CharField()
    title = serializers.CharField()
    share = serializers.FloatField()


def _place(name: str, words: str, *, required: bool = False) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.STR, description=words, required=required)


def _page_of(name: str, words: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.INT, description=words)


class DocumentReadingActions(Actions):
    """Reading a document as the page viewer shows it."""

    @extend_schema(responses=OutlineSerializer(many=True), parameters=[], filters=False)
    @action(detail=True, methods=["get"], pagination_class=None)
    def outline(self, request: Request, pk: str) -> Response:
        """Lists the sections in reading order."""
        sections = self._readable(request, pk).sections.order_by("ordinal")
        return Response(OutlineSerializer(sections, many=True).data)

    @extend_schema(responses=DocumentPageSerializer)
    @action(detail=True, methods=["get"], url_path=f"pages/(?P<page_num>{KEY})")
    def page(self, request: Request, pk: str, page_num: str) -> Response:
        """Returns the size of a page and its lines with their bounding boxes."""
        document = self._readable(request, pk)
        return Response(
            DocumentPageSerializer(page_view(document=document, page_num=_number(document, page_num))).data
        )

    @extend_schema(
        parameters=[_place("size", "`small` for the thumbnail.")],
        responses={(200, "image/png"): OpenApiTypes.BINARY, (202, "text/plain"): OpenApiTypes.STR},
    )
    @action(detail=True, methods=["get"], url_path=f"pages/(?P<page_num>{KEY})/image")
    def page_image(self, request: Request, pk: str, page_num: str) -> HttpResponse:
        """Returns a page as an image. Returns 202 while it is being rendered (retry later), 404 if it cannot be
        rendered."""
        document = self._readable(request, pk)
        return image_response(request, document=document, page_num=_number(document, page_num))

    @extend_schema(parameters=[_place("q", "Words to find.", required=True)], responses=HitsSerializer)
    @action(detail=True, methods=["get"])
    def find(self, request: Request, pk: str) -> Response:
        """Finds lines that contain the words, at most 100."""
        document = self._readable(request, pk)
        found = document_find(document=document, text=request.query_params.get("q", ""))
        return Response(HitsSerializer(found).data)

    @extend_schema(
        parameters=[
            _place("from", "First line, as page:line.", required=True),
            _place("to", "Last line, as page:line. Defaults to the first line."),
        ],
        responses=LinesCitationSerializer,
    )
    @action(detail=True, methods=["get"])
    def citation(self, request: Request, pk: str) -> Response:
        """Returns the citation of a range of lines, with the quote."""
        first, last = (position_in(request.query_params.get(name, "")) for name in ("from", "to"))
        found = citation(document=self._readable(request, pk), first=first, last=last)
        return Response(LinesCitationSerializer(found).data)

    @extend_schema(
        parameters=[
            _place("left", "Lines of this document, as page:line-page:line."),
            _place("right", "Lines of the other document, as page:line-page:line."),
            _page_of("page", "Page of this document, used if no lines are given. Defaults to 1."),
            _page_of("right_page", "Page of the other document, used if no lines are given. Defaults to 1."),
        ],
        responses=BesideSerializer,
    )
    @action(detail=True, methods=["get"], url_path=f"beside/(?P<other>{KEY})")
    def beside(self, request: Request, pk: str, other: str) -> Response:
        """Compares two documents of a collection and marks the words that differ."""
        pair = pair_for(user=request.user, left=int(pk), right=int(other), query=request.query_params)
        return Response(BesideSerializer(pair).data)

    @extend_schema(responses=AlikeSerializer(many=True), parameters=[], filters=False)
    @action(detail=True, methods=["get"], pagination_class=None)
    def alike(self, request: Request, pk: str) -> Response:
        """Lists near-duplicates in the same collection, most similar first."""
        document = self._readable(request, pk)
        rows = [
            {"document": other.pk, "name": other.name, "title": other.title, "share": share}
            for other, share in likenesses_of([document], user=request.user).get(document.pk, [])
        ]
        return Response(AlikeSerializer(rows, many=True).data)

    def _readable(self, request: Request, pk: str) -> Document:
        """The document, while its text is there; else 404."""
        return readable_document_for(user=request.user, pk=int(pk))


def _number(document: Document, raw: str) -> int:
    number = int(raw)
    if not 1 <= number <= document.page_count:
        raise Http404
    return number
