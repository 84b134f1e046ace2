"""The data of the pages for adding evidence."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.documents.citing import position_in
from workbench.documents.models import Document
from workbench.documents.selectors import page_view
from workbench.documents.viewer import finding_of, page_asked, viewer
from workbench.infra.addresses import number_in, words_in
from workbench.runs.models import Run
from workbench.runs.words import run_crumbs

from .blindness import require_sight
from .cards import is_reviewable
from .forms import LinesForm

PAGE_SIZE = 100


def documents_page(*, run: Run, user: User, query: QueryDict) -> dict[str, Any]:
    """The documents a question was asked of, found by name. Raises :class:`DecideFirst` as ``evidence_add`` does."""
    require_sight(user=user, runs=[run])
    text = words_in(query.get("q"))
    rows = (
        Document.objects.visible_to(user).ready().filter(collection=run.collection_id).order_by("name", "pk")
    )
    if text:
        rows = rows.filter(name__icontains=text)
    return {
        "run": run,
        "q": text,
        "documents": [
            {"document": row, "url": reverse("review:lines", args=[run.pk, row.pk])}
            for row in rows[:PAGE_SIZE]
        ],
        "crumbs": run_crumbs(run, here=_("Add evidence")),
    }


def lines_page(
    *, run: Run, document: Document, user: User, form: LinesForm, query: QueryDict
) -> dict[str, Any]:
    """A page of the document with the form beside it. A search in the document keeps the form. Raises
    :class:`DecideFirst` as ``evidence_add`` does."""
    require_sight(user=user, runs=[run])
    address = reverse("review:lines", args=[run.pk, document.pk])
    finding = finding_of(document=document, query=query)
    number = page_asked(document=document, query=query, finding=finding)
    view = page_view(document=document, page_num=number)
    return {
        "run": run,
        "document": document,
        "form": form,
        "is_open": is_reviewable(run),
        "viewer": viewer(view, user=user, address=address, finding=finding),
        "crumbs": run_crumbs(run, here=_("Add evidence")),
    }


def initial_of(query: QueryDict) -> dict[str, Any]:
    """The lines named by a link (``from`` and ``to`` as page:line), else the page shown."""
    shown = number_in(query.get("page")) or 1
    first, last = (position_in(query.get(name, "")) for name in ("from", "to"))
    (from_page, from_line) = first or (shown, None)
    (to_page, to_line) = last or (from_page, from_line)
    return {
        "from_page": from_page,
        "to_page": to_page,
        "from_line": from_line,
        "to_line": to_line,
        "role": "primary",
    }
