"""Audit events that a person must not read because they are about a run hidden from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import CharField, Exists, OuterRef, Q, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from workbench.documents.restrictions import hidden_from

from .models import Candidate, Run
from .restrictions import runs_open_to

if TYPE_CHECKING:
    from workbench.accounts.models import User


def events_hidden(user: User) -> Q:
    """The condition for audit events about runs hidden from the person, because people quote the document in comments
    and reasons: events of the run, of its candidates, and of whatever names the run in ``after``, such as a card or a
    report link."""
    # A run is based on documents of its collection only: without a hidden one there is nothing to read.
    collections = hidden_from(user).values("document__collection")
    hidden = Run.objects.filter(~runs_open_to(user), collection__in=collections).order_by()
    candidates = Candidate.objects.filter(run__in=hidden.values("pk")).order_by()
    named = hidden.annotate(key=Cast("pk", TextField())).filter(
        key=KeyTextTransform("run", OuterRef("after")), collection=OuterRef("collection_id")
    )
    return (
        Q(object_type="run", object_id__in=hidden.values(key=Cast("pk", CharField())))
        | Q(object_type="candidate", object_id__in=candidates.values(key=Cast("pk", CharField())))
        | Q(Exists(named))
    )
