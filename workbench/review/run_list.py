"""The list of runs. A row says what people must still decide, and reveals nothing that is hidden from the person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from workbench.documents.models import Collection
from workbench.infra.addresses import number_in, words_in
from workbench.infra.choices import options_of
from workbench.runs.models import Run, RunQuerySet, RunStatus
from workbench.runs.selectors import runs_visible

from .blindness import of_withheld_run
from .models import ItemState, QueueItem

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: What a row of a list of runs shows.
_ROW_COLUMNS = (
    *("strategy", "status", "review_state", "text_changed_at", "not_found", "no_strong_match", "created_at"),
    *("question__text", "question__filters", "question__document__name", "question__document__title"),
    *("collection__name", "collection__slug"),
)


def runs_listed(*, user: User) -> RunQuerySet:
    """Runs for a list, newest first. ``open_required`` is the number of verdicts people must still decide;
    ``is_withheld`` if the result is hidden from this person."""
    waiting = (
        QueueItem.objects.filter(run=OuterRef("pk"), state=ItemState.WAITING, is_required=True)
        .order_by()
        .values("run")
        .annotate(number=Count("pk"))
        .values("number")
    )
    runs = runs_visible(user=user).only(*_ROW_COLUMNS)
    return runs.annotate(
        open_required=Coalesce(Subquery(waiting), 0), is_withheld=of_withheld_run(user=user, run="pk")
    )


@dataclass(frozen=True, slots=True)
class RunSlice:
    """Some runs, newest first, and the cursor of the next ones."""

    items: list[Run]
    next_cursor: str


def runs_slice(*, user: User, query: QueryDict, size: int = 25) -> RunSlice:
    """Runs the user can read, filtered by the address: collection, status, words of the question, own runs."""
    runs = runs_listed(user=user)
    if query.get("collection"):
        runs = runs.filter(collection__slug=words_in(query["collection"]))
    if query.get("status") in RunStatus.values:
        runs = runs.filter(status=query["status"])
    if query.get("asked_by") == "me":
        runs = runs.filter(requested_by=user)
    if text := words_in(query.get("q")):
        runs = runs.filter(question__text__icontains=text)
    cursor = number_in(query.get("before"))
    if cursor is not None:
        runs = runs.filter(pk__lt=cursor)
    items = list(runs[: size + 1])
    return RunSlice(items[:size], str(items[size - 1].pk) if len(items) > size else "")


def run_list(*, user: User, query: QueryDict) -> dict[str, Any]:
    """Runs of the user's collections with filters that live in the address."""
    address = reverse("questions:runs")
    page = runs_slice(user=user, query=query)
    collections = Collection.objects.visible_to(user).order_by("name")
    onward = query.copy()
    onward["before"] = page.next_cursor
    return {
        "page": page,
        "filters": {
            "url": address,
            "fields": [
                {
                    "name": "q",
                    "label": _("Find a question"),
                    "kind": "search",
                    "value": query.get("q", ""),
                    "grow": True,
                },
                {
                    "name": "collection",
                    "label": _("Collection"),
                    "kind": "select",
                    "value": query.get("collection", ""),
                    "options": [("", _("All")), *((c.slug, c.name) for c in collections)],
                },
                {
                    "name": "status",
                    "label": _("Status"),
                    "kind": "select",
                    "value": query.get("status", ""),
                    "options": [("", _("Any")), *options_of(RunStatus)],
                },
                {
                    "name": "asked_by",
                    "label": _("Asked by"),
                    "kind": "select",
                    "value": query.get("asked_by", ""),
                    "options": [("", _("Anybody")), ("me", _("Me"))],
                },
            ],
            "active": [],
        },
        "pager": {
            "shown": len(page.items),
            "next_url": f"{address}?{onward.urlencode()}" if page.next_cursor else "",
            "first_url": address if query.get("before") else "",
        },
    }
