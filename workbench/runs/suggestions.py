"""Suggests questions from the outlines of documents: a heading that can be asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.documents.models import Collection, Document, Section
from workbench.documents.restrictions import open_to

MOST_SUGGESTIONS = 6
#: Documents whose outlines are read, and entries of each.
_MOST_DOCUMENTS, _MOST_ENTRIES = 3, 60
#: Lengths of a heading that can be asked about.
_SHORTEST, _LONGEST = 4, 70
_NUMBERING = "0123456789.,:;()[]§-–— \t"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A heading in its document's language, the document, and the address of the form with a question about it."""

    heading: str
    document: str
    language: str
    url: str


def suggestions(*, collection: Collection, user: User, documents: Sequence[int] = ()) -> list[Suggestion]:
    """Headings of the chosen documents, else of the newest in the collection, a few of each. Two queries, however many
    documents. The caller has checked that the person can ask the collection."""
    found = Document.objects.filter(open_to(user), collection=collection).ready()
    found = found.filter(pk__in=documents) if documents else found.newest()
    read = list(found.order_by("-pk").only("name", "title", "language")[:_MOST_DOCUMENTS])
    entries = Section.objects.filter(document__in=read, ordinal__lt=_MOST_ENTRIES, has_children=False)
    headings: dict[int, list[str]] = {document.pk: [] for document in read}
    for document, title in entries.order_by("ordinal").values_list("document", "title"):
        headings[document].append(_heading(title))
    share = MOST_SUGGESTIONS // max(len(read), 1)
    return [
        Suggestion(heading, str(document), document.language, _address(collection, document, heading))
        for document in read
        for heading in _spread(_askable(headings[document.pk], of=str(document)), share)
    ]


def drafted(heading: str) -> str:
    return _("What does “%(heading)s” say?") % {"heading": heading} if heading else ""


def _heading(title: str) -> str:
    return " ".join(title.split()).lstrip(_NUMBERING).rstrip(".:; ")


def _askable(headings: Sequence[str], *, of: str) -> list[str]:
    """Headings without duplicates, without too short or too long ones and without the document's own title."""
    fitting = [h for h in headings if _SHORTEST <= len(h) <= _LONGEST and h.casefold() != of.casefold()]
    return list(dict.fromkeys(fitting))


def _spread(headings: Sequence[str], number: int) -> list[str]:
    """This many headings, spread over the whole outline."""
    if len(headings) <= number:
        return list(headings)
    return [headings[place * len(headings) // number] for place in range(number)]


def _address(collection: Collection, document: Document, heading: str) -> str:
    query = urlencode({"collection": collection.slug, "document": document.pk, "about": heading})
    return f"{reverse('questions:ask')}?{query}"
