"""The trail page's filter form and pager, as the shared partials read them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict
from django.urls import reverse

from .forms import TrailFilterForm
from .selectors import TrailPage

_CURSORS = ("before", "after")


def filters_of(form: TrailFilterForm, query: QueryDict) -> dict[str, Any]:
    """``partials/_filters.html``: the fields, and a chip for each that is set."""
    return {
        "url": reverse("audit:trail"),
        "fields": [_field(form, name) for name in form.SHOWN if name not in form.SELDOM],
        "more": [_field(form, name) for name in form.SELDOM],
        "more_is_open": any(query.get(name) for name in form.SELDOM),
        "active": [
            {
                "label": f"{form.fields[name].label}: {query[name]}",
                "remove_url": _url(query, **{name: None}),
            }
            for name in form.SHOWN
            if query.get(name)
        ],
        "clear_url": reverse("audit:trail"),
    }


def pager_of(page: TrailPage, query: QueryDict) -> dict[str, Any]:
    """``partials/_pager.html``: links that keep the filter and move the cursor."""
    return {
        "shown": len(page.rows),
        "first_url": _url(query) if page.newer else "",
        "previous_url": _url(query, after=page.newer) if page.newer else "",
        "next_url": _url(query, before=page.older) if page.older else "",
    }


def _field(form: TrailFilterForm, name: str) -> dict[str, Any]:
    field = form.fields[name]
    shown = {"name": name, "label": field.label, "value": form[name].value() or ""}
    if isinstance(field, forms.ChoiceField):
        return shown | {"kind": "select", "options": field.choices}
    return shown | {"kind": "date" if isinstance(field, forms.DateField) else "search"}


def _url(query: QueryDict, **changes: Any) -> str:
    """The page's address with other parameters; None takes one away. A new filter starts at the newest."""
    parameters = query.copy()
    for name in _CURSORS:
        parameters.pop(name, None)
    for name, value in changes.items():
        parameters.pop(name, None)
        if value is not None:
            parameters[name] = value
    encoded = parameters.urlencode()
    return reverse("audit:trail") + (f"?{encoded}" if encoded else "")
