"""What waits for a person, as the shell of every page tells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.cache import caches
from django.db.models import IntegerField, QuerySet, Subquery
from django.utils.formats import number_format
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_anywhere

from .models import QueueItem
from .notifications import unread
from .selectors import queue_open

#: The shell stands on every page: what waits beyond this is not counted there ("1,000+").
MOST_TOLD = 1_000
#: Seconds for which "more than a thousand" is believed, in one process.
MANY_SECONDS = 20
_COUNTED = "_waiting_of_this_request"


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for a person: candidates that need one, and notifications not yet read."""

    to_review: int
    unread: int


def waiting_for(*, user: User) -> Waiting:
    """Both counts of the page's shell, in one query; the user of a request remembers them, as a page may show them
    too. A number that is told as "1,000+" is counted again after some seconds only: it costs the most of what the
    shell asks and says the least."""
    known: Waiting | None = getattr(user, _COUNTED, None)
    if known is not None:
        return known
    many = f"shell.many.{user.pk}"
    may_review = Permission.REVIEW in permissions_anywhere(user=user)
    if may_review and caches["process"].get(many):
        waiting = Waiting(MOST_TOLD + 1, _first(unread(user=user)).count())
    else:
        open_items = queue_open(user=user, required_only=True) if may_review else QueueItem.objects.none()
        counts = (_Number(_first(rows)) for rows in (open_items, unread(user=user)))
        waiting = Waiting(*User.objects.filter(pk=user.pk).values_list(*counts).get())
        if waiting.to_review > MOST_TOLD:
            caches["process"].set(many, True, timeout=MANY_SECONDS)
    if isinstance(user, SimpleLazyObject):
        setattr(user, _COUNTED, waiting)
    return waiting


class _Number(Subquery):
    """How many rows there are, as a subquery."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()
    empty_result_set_value = 0


def _first(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The keys of the rows, at most one more than is counted exactly."""
    return rows.order_by().values("pk")[: MOST_TOLD + 1]


def number_told(number: int) -> str:
    """A number of the shell in words: exact as far as anybody cares."""
    if number > MOST_TOLD:
        return _("%(n)s+") % {"n": number_format(MOST_TOLD, use_l10n=True, force_grouping=True)}
    return number_format(number, use_l10n=True, force_grouping=True)
