"""What pages and the engine read of a collection's dictionary."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from django.db.models import CharField, Q, QuerySet
from django.db.models.functions import Cast
from django.shortcuts import get_object_or_404

from arbitration.questions.dictionary import MappingDictionary
from workbench.accounts.permissions import Permission
from workbench.documents.models import Collection

from .models import DictionaryEntry, EntryStatus
from .origins import origin_open_to

if TYPE_CHECKING:
    from workbench.accounts.models import User


def entry_for(*, user: User, pk: int, permission: Permission = Permission.VIEW) -> DictionaryEntry:
    """The entry, if the user may do this in its collection; else 404."""
    entries = DictionaryEntry.objects.visible_to(user, permission).select_related("collection")
    return get_object_or_404(entries, pk=pk)


def entry_of_pair(*, collection: Collection, term: str, variant: str) -> DictionaryEntry | None:
    """The entry of a pair, whichever way round it was written."""
    either = Q(term__iexact=term, variant__iexact=variant) | Q(term__iexact=variant, variant__iexact=term)
    return DictionaryEntry.objects.filter(either, collection=collection).select_related("collection").first()


def pair_key(term: str, variant: str) -> frozenset[str]:
    """A pair whichever way round, whatever its case."""
    return frozenset({term.lower(), variant.lower()})


def pair_statuses(*, collection: Collection) -> dict[frozenset[str], str]:
    entries = DictionaryEntry.objects.filter(collection=collection).order_by()
    return {
        pair_key(term, variant): status
        for term, variant, status in entries.values_list("term", "variant", "status")
    }


def pairs_hidden(*, collection: Collection, user: User) -> dict[frozenset[str], DictionaryEntry]:
    """The pairs of a collection that are not in use and that the person may not see."""
    entries = DictionaryEntry.objects.filter(collection=collection).exclude(status=EntryStatus.APPROVED)
    hidden = entries.exclude(origin_open_to(user)).select_related("collection").order_by()
    return {pair_key(entry.term, entry.variant): entry for entry in hidden}


def entries_of(
    *, collection: Collection, user: User, status: EntryStatus, text: str = ""
) -> QuerySet[DictionaryEntry]:
    """Entries of one status that the person may see, with where they come from, filtered by words of either side."""
    seen = DictionaryEntry.objects.visible_to(user).with_sight(user)
    entries = seen.filter(collection=collection, status=status).select_related(
        "proposed_by", "decided_by", "proposed_from__reviewer", "proposed_from__candidate__run__question"
    )
    return entries.filter(Q(term__icontains=text) | Q(variant__icontains=text)) if text else entries


def events_hidden(user: User) -> Q:
    """The condition for audit events of entries that the person may not see."""
    hidden = DictionaryEntry.objects.exclude(status=EntryStatus.APPROVED).exclude(origin_open_to(user))
    keys = hidden.order_by().annotate(key=Cast("pk", CharField())).values("key")
    return Q(object_type="dictionaryentry", object_id__in=keys)


def _approved_pairs(collection: Collection) -> list[tuple[str, str]]:
    entries = DictionaryEntry.objects.filter(collection=collection, status=EntryStatus.APPROVED)
    return list(entries.order_by("term", "variant", "id").values_list("term", "variant"))


def dictionary_of(*, collection: Collection) -> MappingDictionary | None:
    """The approved entries as the engine asks for them; None when there are none."""
    variants: dict[str, list[str]] = defaultdict(list)
    for term, variant in _approved_pairs(collection):
        variants[term].append(variant)
    return MappingDictionary(variants) if variants else None
