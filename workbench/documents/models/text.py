"""The rows that parsing creates, and page images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from workbench.infra.leases import Retried

if TYPE_CHECKING:
    pass

from .documents import Document


class Page(models.Model):
    """page_df: one page of a document."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="pages", db_index=False)
    page_num = models.PositiveIntegerField()
    text = models.TextField()
    n_columns = models.PositiveSmallIntegerField(default=1)
    width = models.FloatField(null=True)
    height = models.FloatField(null=True)

    class Meta:
        ordering = ["page_num"]
        constraints = [models.UniqueConstraint(fields=["document", "page_num"], name="page_once")]


class Section(models.Model):
    """toc_df: one entry of the table of contents, with its extent in lines."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="sections", db_index=False)
    ordinal = models.PositiveIntegerField()
    section_id = models.CharField(max_length=16)
    level = models.PositiveSmallIntegerField()
    parent_id = models.CharField(max_length=16, blank=True)
    title = models.TextField()
    breadcrumb = models.TextField()
    start_page = models.PositiveIntegerField()
    end_page = models.PositiveIntegerField()
    start_y = models.FloatField(null=True)
    line_start = models.PositiveIntegerField(default=1)
    line_end = models.PositiveIntegerField(default=1)
    own_page_end = models.PositiveIntegerField(default=1)
    own_line_end = models.PositiveIntegerField(default=1)
    has_children = models.BooleanField(default=False)

    class Meta:
        ordering = ["ordinal"]
        constraints = [models.UniqueConstraint(fields=["document", "section_id"], name="section_once")]


class Line(models.Model):
    """line_df: one line of a page."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="lines", db_index=False)
    page_num = models.PositiveIntegerField()
    line_num = models.PositiveIntegerField()
    text = models.TextField()
    x0 = models.FloatField(null=True)
    y0 = models.FloatField(null=True)
    x1 = models.FloatField(null=True)
    y1 = models.FloatField(null=True)
    character_count = models.PositiveIntegerField()
    column_position = models.PositiveSmallIntegerField(default=0)
    section_id = models.CharField(max_length=16, blank=True)
    parsing_method = models.CharField(max_length=12, default="native")
    is_furniture = models.BooleanField(default=False)
    is_hidden = models.BooleanField(default=False)
    confidence = models.FloatField(null=True)
    #: An arbitration.documents.LineMark: a tracked change or margin comment, with its author.
    mark = models.CharField(max_length=12, blank=True, default="", db_default="")
    author = models.CharField(max_length=120, blank=True, default="", db_default="")

    class Meta:
        ordering = ["page_num", "line_num"]
        constraints = [models.UniqueConstraint(fields=["document", "page_num", "line_num"], name="line_once")]


class Passage(models.Model):
    """The unit of embedding and lexical search."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="passages", db_index=False)
    ordinal = models.PositiveIntegerField()
    page_start = models.PositiveIntegerField()
    line_start = models.PositiveIntegerField()
    page_end = models.PositiveIntegerField()
    line_end = models.PositiveIntegerField()
    section_id = models.CharField(max_length=16, blank=True)
    text = models.TextField()
    text_hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["ordinal"]
        constraints = [models.UniqueConstraint(fields=["document", "ordinal"], name="passage_once")]
        indexes = [models.Index(fields=["document", "page_start", "line_start"], name="passage_by_place")]


class DrawingState(models.TextChoices):
    """The status of a page image."""

    WAITING = "waiting", _("waiting")
    DRAWN = "drawn", _("drawn")
    FAILED = "failed", _("failed")


class PageDrawing(Retried):
    """A requested page image. Each page is rendered, or found impossible to render, only once."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="drawings", db_index=False)
    page_num = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=DrawingState.choices, default=DrawingState.WAITING)
    failure_code = models.CharField(max_length=40, blank=True)
    # None: a worker needed it.
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    asked_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "page_num"], name="page_drawn_once"),
            models.CheckConstraint(condition=Q(state__in=DrawingState.values), name="drawing_state_is_known"),
            models.CheckConstraint(
                condition=Q(state=DrawingState.FAILED) & ~Q(failure_code="")
                | ~Q(state=DrawingState.FAILED) & Q(failure_code=""),
                name="failed_drawing_says_why",
            ),
        ]
        indexes = [
            models.Index(
                fields=["asked_by"], condition=Q(state=DrawingState.WAITING), name="drawings_waiting"
            ),
        ]
