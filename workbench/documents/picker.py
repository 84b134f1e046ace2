"""Choosing documents of a collection by their titles: those chosen first, then those that are found."""

from __future__ import annotations

from collections.abc import Collection as Keys
from dataclasses import dataclass

from django.db.models import Q

from workbench.accounts.models import User
from workbench.infra.addresses import words_in

from .models import Collection, Document
from .restrictions import open_to

#: Documents offered beside those chosen; more are found by their titles.
MOST_OFFERED = 12
_MOST_WORDS = 8


@dataclass(frozen=True, slots=True)
class Picker:
    """What a person chose, and what they may choose; ``has_more``: more pass the search than are offered."""

    find: str
    chosen: tuple[Document, ...]
    offered: tuple[Document, ...]
    has_more: bool


def picker(*, collection: Collection, user: User, find: str = "", chosen: Keys[int] = ()) -> Picker:
    """The documents chosen, and the newest versions whose title or file name holds every word of ``find``. At most two
    queries. The caller has checked that the person may ask the collection."""
    ready = (
        Document.objects.filter(open_to(user), collection=collection)
        .ready()
        .only("name", "title", "collection")
    )
    ready = ready.order_by("title", "name", "pk")
    found = ready.newest().exclude(pk__in=chosen) if chosen else ready.newest()
    for word in words_in(find).split()[:_MOST_WORDS]:
        found = found.filter(Q(title__icontains=word) | Q(name__icontains=word))
    offered = tuple(found[: MOST_OFFERED + 1])
    return Picker(
        find=words_in(find),
        chosen=tuple(ready.filter(pk__in=chosen)) if chosen else (),
        offered=offered[:MOST_OFFERED],
        has_more=len(offered) > MOST_OFFERED,
    )
