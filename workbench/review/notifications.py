"""Notifies people: always in the app, and by e-mail as they wish. E-mails contain no text of documents or comments."""

from __future__ import annotations

from collections.abc import Iterable

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.db.models import Q
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workbench.accounts.models import User
from workbench.accounts.permissions import token_acts
from workbench.direction import shown
from workbench.errors import NotAllowed
from workbench.infra.dispatch import dispatch_on_commit
from workbench.runs.models import Candidate, Run

from .models import (
    Comment,
    EmailWish,
    Notification,
    NotificationKind,
    NotificationQuerySet,
    NotificationWish,
)

logger = structlog.get_logger(__name__)
#: A mail names at most so many; the rest is in the app.
MOST_IN_A_MAIL = 30


def notify(
    *,
    users: Iterable[User],
    kind: NotificationKind,
    actor: User,
    run: Run,
    candidate: Candidate | None = None,
    comment: Comment | None = None,
    tells_actor: bool = False,
) -> list[Notification]:
    """Notifies people of somebody else's action. Call it in the transaction of that action. People are not notified of
    their own actions, unless it had an effect they could not see (``tells_actor``)."""
    rows = [
        Notification(
            user=user,
            kind=kind,
            actor=actor,
            collection_id=run.collection_id,
            run=run,
            candidate=candidate,
            comment=comment,
        )
        for user in users
        if (tells_actor or user.pk != actor.pk) and not user.is_system
    ]
    Notification.objects.bulk_create(rows)
    at_once = set(
        NotificationWish.objects.filter(
            user__in=[row.user_id for row in rows], email=EmailWish.EACH
        ).values_list("user_id", flat=True)
    )
    for user_id in at_once:
        dispatch_on_commit("review.mail", user_id=user_id)
    return rows


def unread(*, user: User) -> NotificationQuerySet:
    """The number shown on the bell."""
    return Notification.objects.visible_to(user).filter(read_at__isnull=True)


def notifications_read(*, user: User, keys: list[int] | None = None) -> int:
    """Marks some or all of the person's notifications as read. Returns their number."""
    rows = Notification.objects.filter(user=user, read_at__isnull=True)
    return rows.filter(pk__in=keys).update(read_at=Now()) if keys is not None else rows.update(read_at=Now())


def wish_of(*, user: User) -> NotificationWish:
    return NotificationWish.objects.filter(user=user).first() or NotificationWish(user=user)


def wish_set(*, user: User, email: str) -> NotificationWish:
    """Sets a person's e-mail preference. Not an audit event. Raises :class:`NotAllowed` for a read-only token."""
    if not token_acts(user):
        raise NotAllowed(_("This token may only read."))
    return NotificationWish.objects.update_or_create(user=user, defaults={"email": email})[0]


def mail_send(*, user_id: int) -> bool:
    """Sends an e-mail with unread notifications that were not mailed yet. False if there are none, or the person wants
    no e-mail. Notifications are claimed before sending, so that two workers never send them twice, and released if
    sending fails."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or wish_of(user=user).email == EmailWish.NONE:
        return False
    moment = timezone.now()
    unsent = Notification.objects.filter(user=user, emailed_at__isnull=True, read_at__isnull=True)
    keys = list(
        Notification.objects.visible_to(user).filter(pk__in=unsent.values("pk")).values_list("pk", flat=True)
    )
    if not keys or not Notification.objects.filter(pk__in=keys, emailed_at__isnull=True).update(
        emailed_at=moment
    ):
        return False
    claimed = Notification.objects.filter(pk__in=keys, emailed_at=moment)
    rows = list(claimed.select_related("actor", "collection", "candidate").order_by("-pk"))
    try:
        with translation.override(user.language or settings.LANGUAGE_CODE):
            send_mail(_subject(len(rows)), shown(_body(user, rows)), None, [user.email])
    except OSError as error:
        claimed.update(emailed_at=None)
        logger.warning("notifications.mail_failed", user_id=user_id, error=type(error).__name__)
        return False
    return True


def people_to_mail() -> list[int]:
    """People who get a daily e-mail now: with unread notifications that were not mailed yet, and no other wish."""
    others = NotificationWish.objects.exclude(email=EmailWish.DAILY).values("user_id")
    waiting = Notification.objects.filter(emailed_at__isnull=True, read_at__isnull=True)
    rows = waiting.filter(~Q(user_id__in=others), user__is_active=True).order_by("user_id")
    return list(rows.values_list("user_id", flat=True).distinct())


def line_of(row: Notification) -> dict[str, str]:
    """A notification in words, and its address."""
    address = (
        row.run.get_absolute_url() if row.kind != NotificationKind.HANDED_OVER else reverse("review:queue")
    )
    if row.kind == NotificationKind.MENTION:
        address += f"?tab=comments#comment-{row.comment_id}"
    elif row.kind == NotificationKind.HANDED_OVER:
        address += "?assignee=me&show=all"
    elif row.candidate:
        address = row.candidate.get_absolute_url()
    return {"who": str(row.actor), "what": str(row.get_kind_display()), "url": address}


def _subject(count: int) -> str:
    return ngettext("%(n)d thing waits for you", "%(n)d things wait for you", count) % {"n": count}


def _body(user: User, rows: list[Notification]) -> str:
    context = {
        "person": user,
        "lines": [line_of(row) | {"collection": row.collection.name} for row in rows[:MOST_IN_A_MAIL]],
        "more": max(0, len(rows) - MOST_IN_A_MAIL),
        "base": settings.PUBLIC_URL,
        "settings_url": reverse("review:notifications"),
    }
    return render_to_string("review/email/notifications.txt", context)
