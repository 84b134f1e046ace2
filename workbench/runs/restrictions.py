"""Runs that rest on a document which a person may not see: they, and all that belongs to them, are not theirs to see.

A run rests on the document asked, on those it was narrowed to by name, and on those that its passages are of, also
passages that people added. It is shown whole or not at all: an answer of which a part is withheld defends nothing.
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
    """Whether a value is one of a subquery's. The database takes an array for short, and so goes from the few
    restricted documents to their passages by the index, instead of reading all passages there are."""

    template = "%(expressions)s)"
    arg_joiner = " = ANY("
    output_field = BooleanField()


class _Contains(Func):
    """Whether a list in JSON has an element."""

    template = "(%(expressions)s)"
    arg_joiner = " @> "
    output_field = BooleanField()


def runs_open_to(user: User | AnonymousUser, path: str = "") -> Q:
    """The filter that keeps rows whose run rests on no document restricted to others. ``path`` leads from the filtered
    model to its run; rows without one stay."""
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
