"""Checklists asked of many documents: the daily form of compliance work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import OfCollectionQuerySet, Permission, member_condition
from workbench.documents.models import Collection, Document
from workbench.runs.models import Run

if TYPE_CHECKING:
    from workbench.accounts.models import User


class QuestionSet(models.Model):
    """A saved checklist of a collection."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="question_sets")
    name = models.CharField(_("name"), max_length=160)
    description = models.TextField(_("description"), blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    objects = OfCollectionQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["collection", "name"], name="set_name_once")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("question_sets:set", args=[self.pk])


class Entry(models.Model):
    """One question of a set. A round keeps the entries it asked: a changed question is a new entry."""

    question_set = models.ForeignKey(QuestionSet, on_delete=models.CASCADE, related_name="entries")
    ordinal = models.PositiveIntegerField()
    text = models.TextField()
    is_current = models.BooleanField(default=True)

    class Meta:
        ordering = ["ordinal", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["question_set", "ordinal"],
                condition=models.Q(is_current=True),
                name="one_current_entry_per_place",
            )
        ]

    def __str__(self) -> str:
        return self.text


class RoundQuerySet(models.QuerySet["Round"]):
    def visible_to(self, user: User, permission: Permission = Permission.VIEW) -> RoundQuerySet:
        """Those in collections where the user holds the permission."""
        return self.filter(member_condition(user, permission, prefix="question_set__collection"))


class Round(models.Model):
    """A set asked of some documents at a time, by one strategy."""

    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="rounds")
    strategy = models.CharField(max_length=40)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    due_on = models.DateField(_("due on"), null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    #: When every cell had an outcome; empty again while one is asked once more.
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = RoundQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["id"], condition=models.Q(finished_at__isnull=True), name="round_open")
        ]

    def __str__(self) -> str:
        return f"{self.question_set} · {date_format(self.created_at, 'DATE_FORMAT')}"

    def get_absolute_url(self) -> str:
        return reverse("question_sets:round", args=[self.pk])


class Cell(models.Model):
    """One question of a round at one document; its run once it was asked."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="cells")
    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="cells")
    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="cells")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, blank=True, related_name="cells")
    failure = models.TextField(blank=True, help_text=_("Why it could not be asked."))

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["round", "entry", "document"], name="one_cell_per_place"),
        ]
