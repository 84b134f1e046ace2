"""The collection of a page of figures: the one in its address, else the first that the person can see."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, member_condition_any

from .models import Collection


def collection_choice(
    *, user: User, permissions: Iterable[Permission], query: QueryDict, url: str
) -> tuple[Collection | None, dict[str, Any]]:
    """The collection, or None if the person has none of the permissions anywhere, and the filter of the page at ``url``
    for choosing another (``partials/_filters.html``)."""
    collections = list(Collection.objects.filter(member_condition_any(user, permissions)).distinct())
    chosen = next((c for c in collections if c.slug == query.get("collection")), None)
    chosen = chosen or (collections[0] if collections else None)
    field = {
        "name": "collection",
        "label": _("Collection"),
        "kind": "select",
        "value": chosen.slug if chosen else "",
        "options": [(c.slug, c.name) for c in collections],
    }
    return chosen, {"url": url, "active": [], "fields": [field]}
