"""What the versions page shows: the chain, the sections of two versions side by side, the fate of decisions."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from arbitration.contracts import CandidateScope
from arbitration.versions import (
    DiffPart,
    SectionChange,
    VersionSection,
    body_text,
    section_changes,
    word_diff,
    words_of,
)
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_in
from workbench.documents.beside import beside_url
from workbench.documents.models import Document, Line
from workbench.documents.presenters import line_url, offer_box
from workbench.documents.versions import open_offer, versions_seen
from workbench.infra.crumbs import crumbs
from workbench.runs.records import anchor_of
from workbench.runs.restrictions import runs_open_to
from workbench.runs.words import erased_words

from .blindness import of_hidden_card
from .models import CarriedAnchor, CarriedState

#: Words of both texts together beyond which no difference is worked out on a page.
LONGEST_DIFF = 6_000
ANCHORS_SHOWN = 200
#: First and last own line of a section.
_EXTENT = ("start_page", "line_start", "own_page_end", "own_line_end")
STATES = {
    "same": gettext_lazy("same"),
    "changed": gettext_lazy("changed"),
    "added": gettext_lazy("added"),
    "removed": gettext_lazy("removed"),
}


def versions_page(*, document: Document, user: User, query: QueryDict) -> dict[str, Any]:
    """This version beside the one before it (or the one it is offered for); ``section`` opens one difference."""
    chain = versions_seen(document=document, user=user)
    older = _before(document, user)
    may = permissions_in(user, document.collection)
    return {
        "document": document,
        "collection": document.collection,
        "chain": [{"document": one, "is_shown": one.pk == document.pk} for one in reversed(chain)],
        "older": older,
        "offer": offer_box(document) if Permission.UPLOAD in may else None,
        **(_compared(older, document, query) if older else {}),
        "anchors": _anchors(document, user) if older else [],
        "crumbs": crumbs(document.collection, document, here=_("Versions")),
    }


def _before(document: Document, user: User) -> Document | None:
    offer = open_offer(document)
    key = document.version_of_id or (offer.older_id if offer else None)
    if key is None or not document.is_readable:
        return None
    return Document.objects.visible_to(user).readable().filter(pk=key).first()


# --- sections ---------------------------------------------------------------------------------------


def _compared(older: Document, newer: Document, query: QueryDict) -> dict[str, Any]:
    changes = section_changes(sections_of(older), sections_of(newer))
    chosen = int(query["section"]) if query.get("section", "").isdecimal() else -1
    address = reverse("documents:versions", args=[newer.pk])
    counts = Counter(change.state for change in changes)
    return {
        "rows": [
            _row(change, address=f"{address}?section={number}#section-{number}", is_open=number == chosen)
            | {"dom_id": f"section-{number}", "beside_url": _beside(change, older, newer)}
            for number, change in enumerate(changes)
        ],
        "beside_url": beside_url((older.pk, None), (newer.pk, None)),
        "counts": [
            {"state": state, "label": label, "number": counts[state]} for state, label in STATES.items()
        ],
    }


def sections_of(document: Document) -> list[VersionSection]:
    """The sections of a document with their own text; text before the first heading has no title."""
    rows = document.sections.order_by("ordinal").values_list("section_id", "title", *_EXTENT)
    titles = {section_id: title for section_id, title, *_extent in rows}
    places = {section_id: ((a, b), (c, d)) for section_id, _title, a, b, c, d in rows}
    texts: dict[str, list[str]] = {"": [], **{section_id: [] for section_id in titles}}
    lines = Line.objects.filter(document=document, is_furniture=False, is_hidden=False)
    for section_id, text in lines.order_by("page_num", "line_num").values_list("section_id", "text"):
        texts[section_id if section_id in titles else ""].append(
            body_text(text, title=titles.get(section_id, ""))
        )
    if not texts[""]:
        del texts[""]
    return [
        VersionSection(titles.get(section_id, ""), "\n".join(text), places.get(section_id))
        for section_id, text in texts.items()
    ]


def _beside(change: SectionChange, older: Document, newer: Document) -> str:
    """Both texts of a changed section on their pages; nothing where one is missing or has no place."""
    if change.state != "changed" or not (change.old and change.new and change.old.place and change.new.place):
        return ""
    return beside_url((older.pk, change.old.place), (newer.pk, change.new.place))


def _row(change: SectionChange, *, address: str, is_open: bool) -> dict[str, Any]:
    old, new = change.old.text if change.old else "", change.new.text if change.new else ""
    return {
        "title": change.title or _("Text before the first heading"),
        "old_title": change.old.title if change.old else "",
        "state": change.state,
        "label": STATES[change.state],
        "same": change.same,
        "added": change.added,
        "removed": change.removed,
        "url": "" if change.state == "same" else address,
        "diff": difference(old, new) if is_open else None,
    }


def difference(old: str, new: str) -> dict[str, Any]:
    """Two texts with removed and added words (``_word_diff.html``). Without parts if they are too long."""
    if len(words_of(old)) + len(words_of(new)) > LONGEST_DIFF:
        return {"parts": (), "is_too_long": True}
    parts: tuple[DiffPart, ...] = word_diff(old, new)
    return {"parts": parts, "is_too_long": False}


# --- decisions --------------------------------------------------------------------------------------


def _anchors(document: Document, user: User) -> list[dict[str, Any]]:
    rows = anchors_seen(user=user).filter(document=document)
    shown = sorted(rows[:ANCHORS_SHOWN], key=lambda row: (row.state == CarriedState.CARRIED, row.pk))
    return [anchor_row(row) for row in shown]


def anchors_seen(*, user: User) -> QuerySet[CarriedAnchor]:
    """Decided anchors of runs that the person can see, for :func:`anchor_row`."""
    rows = CarriedAnchor.objects.filter(runs_open_to(user, "candidate__run"))
    return rows.annotate(is_hidden=of_hidden_card(user=user)).select_related(
        "review__reviewer",
        "review__superseded_by__reviewer",
        "candidate__run__question",
        "candidate__document",
        "candidate__text",
    )


def anchor_row(row: CarriedAnchor) -> dict[str, Any]:
    """A decided anchor, its place in the new version, and the difference if there is one. Who decided what is left out
    while the card is hidden from the person for whom :func:`anchors_seen` found it."""
    candidate, is_hidden = row.candidate, row.is_hidden  # type: ignore[attr-defined]
    return {
        "row": row,
        "question": candidate.run.question.text,
        "card_url": candidate.get_absolute_url(),
        "from_scope": anchor_of(candidate),
        "from_version": candidate.document.version_number,
        "to_scope": _scope(row),
        "to_url": _place_url(row),
        "is_hidden": is_hidden,
        "role": None if is_hidden else row.review.role,
        "by": None if is_hidden else row.review.reviewer,
        "decided_again": None if is_hidden else getattr(row.review, "superseded_by", None),
        "diff": None if row.state == CarriedState.CARRIED else difference(_text(row), _matched_text(row)),
    }


def _scope(row: CarriedAnchor) -> CandidateScope | None:
    if row.page_start is None:
        return None
    return CandidateScope.model_validate(row, from_attributes=True)


def _place_url(row: CarriedAnchor) -> str:
    if row.page_start is None:
        return ""
    return line_url(document=row.document_id, page=row.page_start, line=row.line_start)


def _text(row: CarriedAnchor) -> str:
    text = getattr(row.candidate, "text", None)
    return text.anchor if text else erased_words()


def _matched_text(row: CarriedAnchor) -> str:
    if row.page_start is None:
        return ""
    first, last = (row.page_start, row.line_start), (row.page_end, row.line_end)
    lines = Line.objects.filter(
        document_id=row.document_id,
        page_num__range=(row.page_start, row.page_end),
        is_furniture=False,
        is_hidden=False,
    ).values_list("page_num", "line_num", "text")
    return "\n".join(text for page, number, text in lines if first <= (page, number) <= last)
