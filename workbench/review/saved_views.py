"""Filters of the queue that a person keeps under a name: preferences of one person, and no events of the trail."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, token_allows
from workbench.errors import NotAllowed, WorkbenchError

from .filters import QueueFilter
from .models import SavedView

#: As wide as the column.
LONGEST_QUERY = 500


def views_of(*, user: User) -> QuerySet[SavedView]:
    """A person's own, by name. They are part of reviewing: a program sees them with that scope alone."""
    views = SavedView.objects.filter(user=user)
    return views if token_allows(user, Permission.REVIEW) else views.none()


def view_for(*, user: User, pk: int) -> SavedView:
    """One's own view; else 404."""
    return get_object_or_404(views_of(user=user), pk=pk)


def view_save(*, user: User, name: str, filters: QueueFilter) -> tuple[SavedView, bool]:
    """Keeps a filter under a name, and whether the name is new: an old one stands for the new filter.

    Raises :class:`NotAllowed` for a program without the scope to review, :class:`WorkbenchError` for a filter that is
    too long to be kept whole.
    """
    if not token_allows(user, Permission.REVIEW):
        raise NotAllowed(_("This token may not review."))
    if len(filters.query) > LONGEST_QUERY:
        raise WorkbenchError(
            _("This filter is too long to be kept. Use fewer words."), code="filter_too_long"
        )
    with transaction.atomic():
        return SavedView.objects.update_or_create(
            user=user, name=name.strip(), defaults={"query": filters.query}
        )


def view_delete(*, view: SavedView) -> None:
    """Forgets a view that :func:`view_for` gave."""
    view.delete()
