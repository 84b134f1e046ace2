"""Hides runs based on a document that a person cannot see, with everything that belongs to them.

A run is based on the document asked, on the documents named in its filters, and on those of its passages, including
passages that people added. It is shown completely or not at all, because an answer with a part withheld cannot be
defended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q

from workbench.documents.models import Document
from workbench.documents.restrictions import hidden_from, open_to

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from workbench.accounts.models import User


class _Among(Func):
    """Whether a value is in a subquery. The database assumes an array to be short, so it goes from the few restricted
    documents to their passages by index instead of reading all passages."""

    template = "%(expressions)s)"
    arg_joiner = " = ANY("
    output_field = BooleanField()


class _Contains(Func):
    """Whether a JSON list contains an element."""

    template = "(%(expressions)s)"
    arg_joiner = " @> "
    output_field = BooleanField()


def runs_open_to(user: User | AnonymousUser, path: str = "") -> Q:
    """The filter that keeps rows whose run is based on no document restricted to others. ``path`` leads from the
    filtered model to its run. Rows without a run are kept."""
    hidden = hidden_from(user)
    start = f"{path}__" if path else ""
    few = Document.objects.filter(_Among(F("pk"), ArraySubquery(hidden.values("pk"))))
    resting = few.filter(candidates__isnull=False).order_by()
    named = _Contains(OuterRef(f"{start}question__filters__documents"), Func(F("pk"), function="to_jsonb"))
    return (
        open_to(user, f"{start}question__document")
        & ~Q(**{f"{path or 'pk'}__in": resting.values("candidates__run")})
        & ~Q(Exists(hidden.filter(named)))
    )
