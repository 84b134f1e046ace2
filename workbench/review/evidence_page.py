"""What the pages of added evidence show."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.documents.models import Document
from workbench.documents.presenters import viewer
from workbench.documents.selectors import document_search, page_view
from workbench.infra.addresses import number_in, words_in
from workbench.runs.models import Run

from .cards import is_reviewable
from .forms import LinesForm

PAGE_SIZE = 100


def documents_page(*, run: Run, query: QueryDict) -> dict[str, Any]:
    """The documents a question was asked of, found by name."""
    text = words_in(query.get("q"))
    rows = Document.objects.ready().filter(collection=run.collection_id).order_by("name", "pk")
    if text:
        rows = rows.filter(name__icontains=text)
    return {
        "run": run,
        "q": text,
        "documents": [
            {"document": row, "url": reverse("review:lines", args=[run.pk, row.pk])}
            for row in rows[:PAGE_SIZE]
        ],
        "crumbs": _crumbs(run),
    }


def lines_page(
    *, run: Run, document: Document, user: User, form: LinesForm, query: QueryDict
) -> dict[str, Any]:
    """A page of the document with the form beside it; ``q`` finds lines."""
    address = reverse("review:lines", args=[run.pk, document.pk])
    number = min(max(number_in(query.get("page")) or 1, 1), max(document.page_count, 1))
    text = words_in(query.get("q"))
    hits = document_search(document=document, text=text) if text else []
    return {
        "run": run,
        "document": document,
        "form": form,
        "is_open": is_reviewable(run),
        "q": text,
        "hits": [
            {
                "url": f"{address}?page={hit.page_num}&from={hit.page_num}:{hit.line_num}"
                f"#p{hit.page_num}-l{hit.line_num}",
                "place": _("page %(page)d, line %(line)d") % {"page": hit.page_num, "line": hit.line_num},
                "text": hit.text,
            }
            for hit in hits
        ],
        "viewer": viewer(page_view(document=document, page_num=number), user=user, address=address, q=text),
        "crumbs": _crumbs(run),
    }


def initial_of(query: QueryDict) -> dict[str, Any]:
    """The lines that a link names (``from=page:line``), and the page that is shown."""
    page, _colon, line = query.get("from", "").partition(":")
    shown = number_in(query.get("page")) or 1
    start, number = number_in(page) or shown, number_in(line)
    return {"from_page": start, "to_page": start, "from_line": number, "to_line": number, "role": "primary"}


def _crumbs(run: Run) -> list[dict[str, str]]:
    return [
        {"label": run.collection.name, "url": run.collection.get_absolute_url()},
        {"label": _("Run %(pk)d") % {"pk": run.pk}, "url": run.get_absolute_url()},
        {"label": _("Add evidence")},
    ]
