"""What the search page shows; the shapes are those of the partials they fill."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, collections_with
from workbench.documents.finding import pieces
from workbench.documents.models import Collection
from workbench.documents.narrowing import Facts, facts_of
from workbench.documents.presenters import line_url

from .forms import ANY_WORD, SearchForm
from .selectors import FARTHEST, PAGE_SIZE, Found, search, searchable
from .words import LONGEST_QUERY

#: Documents that the field offers; of more, those of one collection.
_OFFERED = 500


def search_page(*, user: User, query: QueryDict, form: SearchForm) -> dict[str, Any]:
    """The form, and the hits once something is looked for."""
    is_asked = "q" in query
    offset = form.cleaned_data.get("after") or 0 if is_asked and form.is_valid() else 0
    page = (
        search(user=user, request=form.to_request(), offset=offset) if is_asked and form.is_valid() else None
    )
    asks_in = collections_with(user=user, permission=Permission.ASK)
    text = query.get("q", "").strip()
    hits = [_hit(found, text=text, asks_in=asks_in) for found in page.found] if page else []
    return {
        "filters": _filters(user=user, form=form, query=query, is_asked=is_asked),
        "problems": _problems(form) if is_asked else [],
        "is_asked": is_asked,
        "page": page,
        "hits": hits,
        "first": offset + 1,
        "last": offset + len(hits),
        "is_whole": bool(page) and not offset and not (page and page.has_more),
        "is_farthest": bool(page) and offset + PAGE_SIZE >= FARTHEST and len(hits) == PAGE_SIZE,
        "pager": _pager(query, offset=offset, shown=len(hits), has_more=bool(page and page.has_more)),
        "any_url": _address(query, match=ANY_WORD, after=None) if _may_loosen(form) else "",
        "everywhere_url": _address(QueryDict(), q=text) if _is_narrowed(query) else "",
    }


def _hit(found: Found, *, text: str, asks_in: list[int] | None) -> dict[str, Any]:
    document = found.document
    place = {
        "page_start": found.page_start,
        "line_start": found.line_start,
        "page_end": found.page_end,
        "line_end": found.line_end,
    }
    about = {"collection": document.collection.slug, "document": document.pk, "text": text}
    may_ask = asks_in is None or document.collection_id in asks_in
    return {
        "title": str(document),
        "collection": document.collection.name,
        "section": found.section.breadcrumb if found.section else "",
        "version": document.version_number,
        "place": place,
        "url": place_url(found),
        "parts": pieces(found.text, found.marks),
        "ask_url": f"{reverse('questions:ask')}?{urlencode(about)}" if may_ask else "",
    }


def place_url(found: Found) -> str:
    """The page of the document at the first line of the place."""
    return line_url(document=found.document.pk, page=found.page_start, line=found.line_start)


def _problems(form: SearchForm) -> list[tuple[str, str]]:
    """What is wrong with the address, by the label of the field."""
    return [
        (str(form.fields[name].label or "") if name in form.fields else "", " ".join(map(str, errors)))
        for name, errors in form.errors.items()
    ]


def _filters(*, user: User, form: SearchForm, query: QueryDict, is_asked: bool) -> dict[str, Any]:
    collections = list(Collection.objects.visible_to(user))
    chosen = form.collection
    facts = facts_of(collections=[chosen] if chosen else collections, user=user)
    fields = {name: _field(form, name, query) for name in form.fields if name != "after"}
    fields["q"] |= {"grow": True, "key": "/"}
    fields["collection"] |= {
        "kind": "select",
        "options": [("", _("All of mine")), *((c.slug, c.name) for c in collections)],
    }
    fields["document"] |= {"kind": "select", "options": _documents(user=user, form=form)}
    _offer(fields, facts)
    more = [fields[name] for name in form.SELDOM if name in fields]
    return {
        "url": reverse("search:search"),
        "button": _("Search"),
        "fields": [fields[name] for name in ("q", "collection", "document")],
        "more": more,
        "more_is_open": any(query.get(name) for name in form.SELDOM),
        "active": [],
        "clear_url": reverse("search:search") if is_asked else "",
    }


def _offer(fields: dict[str, dict[str, Any]], facts: Facts) -> None:
    """Values that documents carry are chosen from; what none carries is not asked for, unless it was already."""
    offers = (
        ("document_type", facts.document_types),
        ("party", facts.parties),
        ("tag", facts.tags),
        ("field", [value for _name, values in facts.field_choices for value, _label in values]),
    )
    for name, values in offers:
        given = fields[name]["value"]
        if values or given:
            offered = [*values, *([given] if given and given not in values else [])]
            fields[name] |= {"kind": "select", "options": [("", _("Any")), *((v, v) for v in offered)]}
        else:
            del fields[name]
    for name in ("effective_from", "effective_to"):
        if not facts.has_dates and not fields[name]["value"]:
            del fields[name]


def _documents(*, user: User, form: SearchForm) -> list[tuple[object, str]]:
    documents = searchable(user=user)
    if form.collection is not None:
        documents = documents.filter(collection=form.collection)
    rows = documents.order_by("title", "name", "pk").values_list("pk", "title", "name")[:_OFFERED]
    options: list[tuple[object, str]] = [(pk, title or name) for pk, title, name in rows]
    chosen = form.document
    if chosen is not None and chosen.pk not in {pk for pk, _title in options}:
        options.append((chosen.pk, str(chosen)))
    return [("", _("All documents")), *options]


def _field(form: SearchForm, name: str, query: QueryDict) -> dict[str, Any]:
    """A field with what was typed, however wrong, as far as it may be long."""
    field = form.fields[name]
    shown = {"name": name, "label": field.label, "value": query.get(name, "")[:LONGEST_QUERY]}
    if isinstance(field, forms.ChoiceField):
        return shown | {"kind": "select", "options": field.choices}
    if isinstance(field, forms.DateField):
        return shown | {"kind": "date"}
    return shown | {"kind": "search" if name == "q" else "text"}


def _pager(query: QueryDict, *, offset: int, shown: int, has_more: bool) -> dict[str, Any]:
    before = max(offset - PAGE_SIZE, 0) or None
    return {
        "shown": shown,
        "first_url": _address(query, after=None) if offset > PAGE_SIZE else "",
        "previous_url": _address(query, after=before) if offset else "",
        "next_url": _address(query, after=offset + PAGE_SIZE) if has_more else "",
    }


def _may_loosen(form: SearchForm) -> bool:
    """Whether passages with some of the words are left out."""
    if not form.is_valid():
        return False
    request = form.to_request()
    return len(request.words.terms) > 1 and not request.any_word


def _is_narrowed(query: QueryDict) -> bool:
    return any(query.get(name) for name in ("collection", "document", *SearchForm.SELDOM))


def _address(query: QueryDict, **changes: object) -> str:
    """The page's address with other parameters; None takes one away."""
    parameters = query.copy()
    for name, value in changes.items():
        parameters.pop(name, None)
        if value is not None:
            parameters[name] = str(value)
    return f"{reverse('search:search')}?{parameters.urlencode()}"
