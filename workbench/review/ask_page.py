"""The parts around the question form: the person's earlier questions, and suggestions from documents."""

from __future__ import annotations

from typing import Any

from workbench.accounts.models import User
from workbench.documents.models import Collection
from workbench.documents.picker import picker
from workbench.runs.forms import AskForm
from workbench.runs.suggestions import suggestions

from .run_list import runs_listed

MOST_RECENT = 5


def ask_page(*, user: User, form: AskForm, collection: Collection | None, find: str = "") -> dict[str, Any]:
    """The form with the available documents, the person's own questions about the collection (newest first), and
    suggestions from its outlines."""
    context: dict[str, Any] = {"form": form, "collection": collection, "recent": [], "suggestions": []}
    if collection is None:
        return context
    chosen, followed = form.documents_so_far(), form.followed()
    mine = runs_listed(user=user).filter(collection=collection, requested_by=user)
    return context | {
        "followed": followed if followed is not None and followed.collection_id == collection.pk else None,
        "picker": picker(collection=collection, user=user, find=find, chosen=chosen),
        "recent": mine[:MOST_RECENT],
        "suggestions": suggestions(collection=collection, user=user, documents=chosen),
    }
