"""The filters of the queue in an address. The list, the next item, bulk decisions and saved views all read them
here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.db.models import Q
from django.db.models.functions import Now

from workbench.infra.addresses import number_in, words_in
from workbench.runs.models import RoleChoice

from .blindness import BLIND_STAGE
from .models import ItemStage, QueueItemQuerySet, QueueOrder
from .selectors import queue_open

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: Codes of why an item waits that tell nothing of the machine's role: the only ones shown of a hidden card, and the
#: only ones by which it is found.
OPEN_WHY = frozenset({"not_found", "added", "blind", "second", "disputed", "version_changed", "version_gone"})
UNDECIDED = "undecided"
MINE, NOBODY, OTHERS = "me", "nobody", "others"
#: Longest number of days that is looked back.
_MOST_DAYS = 3650
#: The reranker, whatever it is.
_RERANKERS = ("mlp", "logistic")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFilter:
    """A part of the queue. Empty fields mean all. Unknown values match nothing or are ignored."""

    collection: str = ""
    show: str = "required"  # or "all"
    stage: str = ""
    why: str = ""
    role: str = ""
    detector: str = ""
    decided_by: str = ""
    document: str = ""
    age: str = ""  # waits at least so many days
    assignee: str = ""
    run: str = ""
    order: str = QueueOrder.RISK

    @classmethod
    def of(cls, query: Mapping[str, str]) -> QueueFilter:
        """Reads the filter from the query of an address."""
        given = {field.name: words_in(query.get(field.name))[:200] for field in fields(cls)}
        return cls(**{name: value for name, value in given.items() if value})

    @property
    def query(self) -> str:
        """The query of an address for this filter, with only the values that differ from the default."""
        default = QueueFilter()
        pairs = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return urlencode([(name, value) for name, value in pairs if value != getattr(default, name)])

    @property
    def suffix(self) -> str:
        """What follows an address that keeps this filter: ``?`` and the query, or nothing."""
        return f"?{self.query}" if self.query else ""

    def apply(self, items: QueueItemQuerySet, *, user: User) -> QueueItemQuerySet:
        items = items.ordered(self.order)
        if self.show != "all":
            items = items.filter(is_required=True)
        return items.filter(self._place() & self._kind() & self._machine() & self._person(user))

    def _place(self) -> Q:
        condition = Q()
        if self.collection:
            number = number_in(self.collection)
            condition &= Q(collection__slug=self.collection) if number is None else Q(collection_id=number)
        if self.document:
            condition &= Q(candidate__document__name__icontains=self.document)
        if self.run:
            condition &= Q(run_id=number_in(self.run) or 0)
        return condition

    def _kind(self) -> Q:
        condition = Q()
        if self.stage in ItemStage.values:
            condition &= Q(stage=self.stage)
        if self.why:
            condition &= Q(why__contains=[self.why])
            if self.why not in OPEN_WHY:
                condition &= ~BLIND_STAGE
        days = number_in(self.age)
        if days is not None:
            condition &= Q(created_at__lte=Now() - timedelta(days=min(days, _MOST_DAYS)))
        return condition

    def _machine(self) -> Q:
        """Filters by the machine's verdict, and so leaves out items whose role is hidden."""
        condition = Q()
        if self.role == UNDECIDED:
            condition &= Q(candidate__verdict__role__isnull=True, candidate__verdict__isnull=False)
        elif self.role in RoleChoice.values:
            condition &= Q(candidate__verdict__role=self.role)
        if self.decided_by:
            kinds = _RERANKERS if self.decided_by in _RERANKERS else (self.decided_by,)
            condition &= Q(candidate__verdict__decided_by_kind__in=kinds)
        if self.detector:
            condition &= Q(candidate__methods__contains=[self.detector])
        return condition & ~BLIND_STAGE if condition else condition

    def _person(self, user: User) -> Q:
        mine = Q(assigned_to=user) | Q(claimed_by=user, claimed_until__gt=Now())
        taken = Q(assigned_to__isnull=False) | Q(claimed_until__gt=Now())
        if self.assignee == MINE:
            return mine
        if self.assignee == NOBODY:
            return ~taken
        if self.assignee == OTHERS:
            return taken & ~mine
        return Q()


def queue_filtered(*, user: User, filters: QueueFilter) -> QueueItemQuerySet:
    return filters.apply(queue_open(user=user), user=user)
