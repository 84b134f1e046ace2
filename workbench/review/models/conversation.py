"""Comments, and notifications of people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import Permission, member_condition
from workbench.documents.models import Collection
from workbench.runs.models import Candidate, Run
from workbench.runs.restrictions import runs_open_to

if TYPE_CHECKING:
    from workbench.accounts.models import User


class Comment(models.Model):
    """A comment on a run or one of its candidates. Append-only. ``@name`` notifies a person."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="comments")
    candidate = models.ForeignKey(
        Candidate, on_delete=models.CASCADE, null=True, blank=True, related_name="comments"
    )
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="comments")
    body = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [models.CheckConstraint(condition=~Q(body=""), name="comment_says_something")]

    def __str__(self) -> str:
        return self.body[:60]


class NotificationKind(models.TextChoices):
    MENTION = "mention", _("mentions you in a comment")
    HANDED_OVER = "handed_over", _("handed a card over to you")
    DISPUTE = "dispute", _("gave another role than you in a second review")
    ADJUDICATED = "adjudicated", _("decided between you and another reviewer")
    REOPENED = "reopened", _("reopened a run that you signed")
    TEXT_CHANGED = "text_changed", _("accepted a new version that changes the text of a run that you signed")


class NotificationQuerySet(models.QuerySet["Notification"]):
    def visible_to(self, user: User) -> NotificationQuerySet:
        """The person's own notifications, of their current collections and of runs they can see."""
        mine = self.filter(member_condition(user, Permission.VIEW, prefix="collection"), user=user)
        return mine.filter(runs_open_to(user, "run"))


class Notification(models.Model):
    """A notification in the app and, if the person wants it, by e-mail. Contains no document text."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications")
    kind = models.CharField(max_length=16, choices=NotificationKind.choices)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    candidate = models.ForeignKey(
        Candidate, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    read_at = models.DateTimeField(null=True, blank=True)
    emailed_at = models.DateTimeField(null=True, blank=True)

    objects = NotificationQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=NotificationKind.values), name="notification_kind_is_known"
            ),
            models.UniqueConstraint(
                fields=["user", "comment"], condition=Q(comment__isnull=False), name="one_mention_per_comment"
            ),
        ]
        indexes = [
            models.Index(
                fields=["user", "-id"], condition=Q(read_at__isnull=True), name="unread_of_a_person"
            ),
            models.Index(fields=["user", "id"], condition=Q(emailed_at__isnull=True), name="unsent_mail"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_id} {self.kind}"


class EmailWish(models.TextChoices):
    EACH = "each", _("at once, for each")
    DAILY = "daily", _("once a day, if there is anything")
    NONE = "none", _("never")


class NotificationWish(models.Model):
    """How a person wants to be notified by e-mail. Without a row: once a day."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notification_wish", primary_key=True
    )
    email = models.CharField(_("E-mail"), max_length=8, choices=EmailWish.choices, default=EmailWish.DAILY)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(email__in=EmailWish.values), name="email_wish_is_known")
        ]

    def __str__(self) -> str:
        return self.email
