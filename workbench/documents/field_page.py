"""Tags and fields as pages show them: of one document with their history, of many at once, of a collection."""

from __future__ import annotations

import datetime as dt
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count
from django.http import QueryDict
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_in
from workbench.audit.actions import Action
from workbench.audit.models import AuditEvent
from workbench.infra.crumbs import crumbs

from .describing import Description, description_of
from .fields import Carried, carried
from .forms import DescribeForm, FieldForm
from .models import Collection, CollectionField, Document, DocumentField, FieldKind, Particular
from .narrowing import Facts, ScopeFilter, fields_chosen, language_name

MOST_EVENTS = 20
#: Filters of a list by field: the parameter of the address, its label, and the list of the filter it fills.
_FILTERS = (
    ("document_type", lambda: _("Document type"), "document_types", 80),
    ("party", lambda: _("Party"), "parties", 160),
    ("tag", lambda: _("Tag"), "tags", 80),
)


def about(document: Document, *, form: DescribeForm | None, may_describe: bool) -> dict[str, Any]:
    """``documents/_fields.html``: what is known of the document beside its text, and who changed it."""
    values = carried([document])[document.pk]
    said = description_of(document, values)
    fields = list(document.collection.fields.all())
    offered = form or describe_form(said, fields)
    return {
        "facts": _facts(document, said, values, fields),
        "has_read": bool(values.read),
        "form": offered if may_describe else None,
        "url": reverse("documents:describe", args=[document.pk]),
        "history": _history(document),
    }


def describe_form(said: Description, fields: list[CollectionField]) -> DescribeForm:
    """The form with what people have said so far."""
    initial = {
        name: getattr(said, name) for name in ("document_type", "issuer", "jurisdiction", "effective_date")
    }
    initial |= {"tags": ", ".join(map(str, said.tags)), "parties": "\n".join(said.parties)}
    initial |= {f"own_{row.pk}": said.fields.get(row.name, "") for row in fields}
    return DescribeForm(initial=initial, own=fields, auto_id="id_describe_%s")


def _facts(
    document: Document, said: Description, values: Carried, fields: list[CollectionField]
) -> list[dict[str, Any]]:
    """Each fact with what a person set and what was read; those that nobody said are left out."""
    rows: list[tuple[str, list[str], str]] = [
        (_("Document type"), [said.document_type], Particular.TYPE),
        (_("Parties"), list(said.parties), Particular.PARTY),
        (_("Effective from"), [_day(said.effective_date)], Particular.DATE),
        (_("Issuer"), [said.issuer], ""),
        (_("Jurisdiction"), [said.jurisdiction], ""),
        (_("Language"), [language_name(document.language)], ""),
        (_("Tags"), [", ".join(map(str, said.tags))], ""),
        *((row.name, [_own(row, said.fields.get(row.name, ""))], "") for row in fields),
    ]
    facts = []
    for label, given, name in rows:
        by_people = [value for value in given if value]
        read = [_read(document, row) for row in values.read.get(name, ())]
        if by_people or read:
            facts.append({"label": label, "values": by_people, "read": read})
    return facts


def _read(document: Document, row: DocumentField) -> dict[str, Any]:
    page, line = row.page_num or 1, row.line_num or 1
    value = _day(dt.date.fromisoformat(row.value)) if row.name == Particular.DATE else row.value
    return {
        "value": value,
        "url": f"{document.get_absolute_url()}?page={page}#p{page}-l{line}",
        "place": {"page_start": page, "page_end": page, "line_start": line, "line_end": line},
    }


def _own(row: CollectionField, value: str) -> str:
    return _day(dt.date.fromisoformat(value)) if value and row.kind == FieldKind.DATE else value


def _day(day: dt.date | None) -> str:
    return str(date_format(day, "DATE_FORMAT")) if day else ""


def _history(document: Document) -> list[dict[str, Any]]:
    """The newest changes of tags and fields. One query."""
    events = AuditEvent.objects.of_object(document).filter(
        action__in=[Action.DOCUMENT_DESCRIBED, Action.DOCUMENT_FIELDS_READ]
    )
    return [
        {
            "at": event.created_at,
            "who": event.actor_name,
            "what": Action(event.action).label,
            "changes": _changes(event) if event.action == Action.DOCUMENT_DESCRIBED else [],
        }
        for event in events.order_by("-pk")[:MOST_EVENTS]
    ]


def _changes(event: AuditEvent) -> list[dict[str, str]]:
    labels = {
        "document_type": _("Document type"),
        "parties": _("Parties"),
        "effective_date": _("Effective from"),
        "issuer": _("Issuer"),
        "jurisdiction": _("Jurisdiction"),
        "tags": _("Tags"),
        "fields": _("Fields"),
    }
    before, after = event.before or {}, event.after or {}
    return [
        {"label": labels.get(name, name), "before": _words(before.get(name)), "after": _words(after[name])}
        for name in after
    ]


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {text}" for name, text in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


# --- a collection's own ------------------------------------------------------------------------------


def fields_page(*, collection: Collection, user: User, form: FieldForm) -> dict[str, Any]:
    """The collection's own fields, each with how many documents carry it."""
    rows = collection.fields.annotate(documents=Count("values"))
    return {
        "collection": collection,
        "may_manage": Permission.MANAGE in permissions_in(user, collection),
        "rows": rows,
        "form": form,
        "crumbs": crumbs(collection, here=_("Fields")),
    }


# --- lists ------------------------------------------------------------------------------------------


def filter_in(query: QueryDict) -> ScopeFilter:
    """What an address narrows a list of documents to; a value that is too long is one that no document carries."""
    given: dict[str, Any] = {
        target: [query[name].strip()[:longest]]
        for name, _label, target, longest in _FILTERS
        if query.get(name, "").strip()
    }
    own = fields_chosen([query["field"][:220]] if query.get("field", "").strip() else ())
    return ScopeFilter(
        **given, fields={name[:60]: tuple(v[:160] for v in values) for name, values in own.items()}
    )


def scope_query(collection: Collection, given: ScopeFilter) -> str:
    """The address of the ask page's form, narrowed as a list of documents is."""
    pairs = [("collection", collection.slug)]
    for name in ("document_types", "parties", "tags"):
        pairs += [(name, value) for value in getattr(given, name)]
    pairs += [("own_fields", f"{name}: {value}") for name, values in given.fields.items() for value in values]
    return urlencode(pairs)


def filter_fields(facts: Facts, query: QueryDict) -> list[dict[str, Any]]:
    """Fields of a filter form; what no document carries is not offered, unless it was asked for."""
    offers = {
        "document_type": facts.document_types,
        "party": facts.parties,
        "tag": facts.tags,
        "field": tuple(value for _name, values in facts.field_choices for value, _label in values),
    }
    labels = {name: label() for name, label, *_rest in _FILTERS} | {"field": _("Field")}
    shown = []
    for name, values in offers.items():
        given = query.get(name, "").strip()
        if values or given:
            offered = [*values, *([given] if given and given not in values else [])]
            options = [("", _("Any")), *((value, value) for value in offered)]
            shown.append(
                {"name": name, "label": labels[name], "kind": "select", "value": given, "options": options}
            )
    return shown
