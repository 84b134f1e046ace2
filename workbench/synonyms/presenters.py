"""What the vocabulary page shows."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.documents.models import Collection
from workbench.infra.addresses import number_in
from workbench.infra.crumbs import crumbs

from .forms import EntryForm, ImportForm
from .models import DictionaryEntry, EntryStatus
from .selectors import entries_of
from .services import may_decide

PAGE_SIZE = 100


def vocabulary_page(
    *, collection: Collection, user: User, query: QueryDict, **changes: Any
) -> dict[str, Any]:
    """What waits for a decision with where it comes from, what is in use, what is not, and the ways to add."""
    text = query.get("q", "").strip()
    offset = number_in(query.get("after")) or 0
    decides = may_decide(user=user, collection=collection)
    address = reverse("vocabulary:vocabulary", args=[collection.slug])
    used = list(
        entries_of(collection=collection, user=user, status=EntryStatus.APPROVED, text=text)[offset:][
            : PAGE_SIZE + 1
        ]
    )
    return {
        "collection": collection,
        "proposed": _rows(collection, user, EntryStatus.PROPOSED, decides=decides),
        "approved": [_row(entry, decides=decides) for entry in used[:PAGE_SIZE]],
        "rejected": _rows(collection, user, EntryStatus.REJECTED, decides=decides),
        "may_decide": decides,
        "entry_form": EntryForm() if decides else None,
        "import_form": ImportForm() if decides else None,
        "filters": _filters(address=address, text=text),
        "is_filtered": bool(text or offset),
        "pager": {
            "shown": len(used[:PAGE_SIZE]),
            "next_url": _url(address, text, offset + PAGE_SIZE) if len(used) > PAGE_SIZE else "",
            "first_url": _url(address, text, 0) if offset else "",
        },
        "crumbs": crumbs(
            (_("Collections"), reverse("documents:collections")), collection, here=_("Vocabulary")
        ),
        **changes,
    }


def _rows(collection: Collection, user: User, status: EntryStatus, *, decides: bool) -> list[dict[str, Any]]:
    entries = entries_of(collection=collection, user=user, status=status).order_by("-id")[:PAGE_SIZE]
    return [_row(entry, decides=decides) for entry in entries]


def _row(entry: DictionaryEntry, *, decides: bool) -> dict[str, Any]:
    return {
        "entry": entry,
        "origin": _origin(entry),
        "decide_url": reverse("vocabulary:decide", args=[entry.pk]) if decides else "",
    }


def _origin(entry: DictionaryEntry) -> dict[str, Any] | None:
    """The decision that taught the pair, with the way to its card; None where a person wrote it, or the decision is
    hidden from the reader. The entry comes from :mod:`.selectors`, which knows."""
    review = entry.proposed_from
    if review is None or review.candidate is None or not getattr(entry, "sees_origin", False):
        return None
    run = review.candidate.run
    return {
        "question": run.question.text,
        "url": review.candidate.get_absolute_url(),
        "by": review.reviewer,
        "role": review.role,
    }


def _filters(*, address: str, text: str) -> dict[str, Any]:
    return {
        "url": address,
        "fields": [
            {"name": "q", "label": _("Find a pair in use"), "kind": "search", "value": text, "grow": True}
        ],
        "active": [],
        "clear_url": address if text else "",
    }


def _url(address: str, text: str, offset: int) -> str:
    query = {name: value for name, value in (("q", text), ("after", str(offset or ""))) if value}
    return f"{address}?{urlencode(query)}" if query else address
