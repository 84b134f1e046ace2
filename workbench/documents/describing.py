"""Metadata that people set on a document: type, parties, issuer, jurisdiction, date, tags and custom fields. Questions
are filtered by it, and strategies weigh date and issuer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import WorkbenchError

from .fields import (
    LONGEST_VALUE,
    Carried,
    carried,
    opening_of,
    own_values,
    particulars_store,
    plain,
    values_replace,
)
from .models import DELETED_STATUSES, Collection, Document, DocumentStatus
from .restrictions import open_to
from .services import index_epoch_bump, require_upload_right

MOST_TAGS, LONGEST_TAG = 20, 80
MOST_PARTIES = 20
#: Documents that are described at once.
MOST_AT_ONCE = 200
COLUMNS = ("document_type", "issuer", "jurisdiction", "effective_date", "tags")


@dataclass(frozen=True, slots=True)
class Description:
    """All metadata set on a document. ``fields`` are by field name."""

    document_type: str = ""
    issuer: str = ""
    jurisdiction: str = ""
    effective_date: dt.date | None = None
    tags: Sequence[str] = ()
    parties: Sequence[str] = ()
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to many documents at once. Tags and parties are added or removed. ``fields`` are set; empty ones are
    unchanged. ``read_again``: the machine extracts its values again."""

    add_tags: Sequence[str] = ()
    remove_tags: Sequence[str] = ()
    add_parties: Sequence[str] = ()
    document_type: str = ""
    issuer: str = ""
    jurisdiction: str = ""
    effective_date: dt.date | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    read_again: bool = False

    def __bool__(self) -> bool:
        """Whether anything is changed."""
        return self != Changes()

    def on(self, before: Description) -> Description:
        """A document's description after them."""
        gone = {plain(tag).casefold() for tag in self.remove_tags}
        named = {
            name: value
            for name in ("document_type", "issuer", "jurisdiction", "effective_date")
            if (value := getattr(self, name))
        }
        return replace(
            before,
            tags=[*(tag for tag in before.tags if tag.casefold() not in gone), *self.add_tags],
            parties=[*before.parties, *self.add_parties],
            fields={**before.fields, **{name: value for name, value in self.fields.items() if value}},
            **named,
        )


def description_of(document: Document, values: Carried) -> Description:
    """The metadata set on a document. ``values`` are its field values (:func:`.fields.carried`)."""
    columns = {name: getattr(document, name) for name in COLUMNS}
    return Description(**columns, parties=values.parties, fields=values.own)


def document_describe(
    *,
    actor: User,
    document: Document,
    document_type: str,
    issuer: str,
    jurisdiction: str,
    effective_date: dt.date | None,
    tags: Sequence[str],
    parties: Sequence[str] = (),
    fields: Mapping[str, str] | None = None,
) -> Document:
    """Replaces the metadata; empty values are unknown.

    An audited action. Questions answered with other metadata are answered again. Raises :class:`NotAllowed`, or
    :class:`WorkbenchError` for a deleted document, an unknown field or invalid values.
    """
    require_upload_right(actor, document.collection)
    with transaction.atomic():
        locked = Document.objects.select_for_update().select_related("collection").get(pk=document.pk)
        given = Description(
            document_type, issuer, jurisdiction, effective_date, tags, parties, dict(fields or {})
        )
        if _describe(actor, locked, carried([locked])[locked.pk], given):
            index_epoch_bump(collection_ids=[locked.collection_id])
    return locked


def documents_describe(
    *, actor: User, collection: Collection, documents: Sequence[int], changes: Changes
) -> int:
    """Makes the same changes to several documents of a collection, all or nothing. Returns the number of changed
    documents. Each has its own event. Raises as :func:`document_describe`, and :class:`WorkbenchError` for none, too
    many, or a missing one."""
    require_upload_right(actor, collection)
    keys = sorted(set(documents))
    if not keys:
        raise WorkbenchError(_("Choose at least one document."), code="none_chosen")
    if len(keys) > MOST_AT_ONCE:
        raise WorkbenchError(
            _("At most %(n)d documents at once.") % {"n": MOST_AT_ONCE}, code="too_many_documents"
        )
    if not changes:
        raise WorkbenchError(_("Say what to change."), code="nothing_to_change")
    with transaction.atomic():
        rows = Document.objects.select_for_update(of=("self",)).select_related("collection")
        locked = list(rows.filter(open_to(actor), collection=collection, pk__in=keys).order_by("pk"))
        if len(locked) < len(keys):
            raise WorkbenchError(
                _("One of these documents is not in the collection."), code="document_elsewhere"
            )
        values = carried(locked)
        changed = 0
        for document in locked:
            is_described = _describe(
                actor,
                document,
                values[document.pk],
                changes.on(description_of(document, values[document.pk])),
            )
            is_read = changes.read_again and _read_again(actor, document)
            changed += is_described or is_read
        if changed:
            index_epoch_bump(collection_ids=[collection.pk])
    return changed


def _describe(actor: User, document: Document, values: Carried, given: Description) -> bool:
    """Changes one document, locked by the caller. Returns whether anything changed."""
    if document.status in DELETED_STATUSES:
        raise WorkbenchError(_("This document is deleted."), code="document_deleted")
    own = own_values(collection=document.collection, given=given.fields)
    new = _facts(given) | {"fields": {definition.name: value for definition, value in own.items()}}
    old = _facts(description_of(document, values)) | {"fields": dict(values.own)}
    changed = [name for name in new if new[name] != old[name]]
    if not changed:
        return False
    audit_record(
        actor=actor,
        action=Action.DOCUMENT_DESCRIBED,
        obj=document,
        collection_id=document.collection_id,
        before={name: _said(old[name]) for name in changed},
        after={name: _said(new[name]) for name in changed},
    )
    columns = [name for name in changed if name in COLUMNS]
    for name in columns:
        setattr(document, name, new[name])
    if columns:
        document.save(update_fields=columns)
    if {"parties", "fields"} & set(changed):
        values_replace(actor=actor, document=document, parties=new["parties"], own=own)
    return True


def _facts(given: Description) -> dict[str, Any]:
    """The metadata in stored form. Raises :class:`WorkbenchError` for too many or too long values."""
    facts: dict[str, Any] = {
        "document_type": plain(given.document_type),
        "issuer": plain(given.issuer),
        "jurisdiction": plain(given.jurisdiction),
        "effective_date": given.effective_date,
        "tags": _each_once(given.tags),
        "parties": _each_once(given.parties),
    }
    if len(facts["tags"]) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in facts["tags"]):
        raise WorkbenchError(
            _("At most %(n)d tags, each of at most %(length)d characters.")
            % {"n": MOST_TAGS, "length": LONGEST_TAG},
            code="bad_tags",
        )
    if len(facts["parties"]) > MOST_PARTIES or any(len(party) > LONGEST_VALUE for party in facts["parties"]):
        raise WorkbenchError(
            _("At most %(n)d parties, each of at most %(length)d characters.")
            % {"n": MOST_PARTIES, "length": LONGEST_VALUE},
            code="bad_parties",
        )
    return facts


def _read_again(actor: User, document: Document) -> bool:
    """Extracts the machine's values again, unless the document has no text."""
    if document.status != DocumentStatus.READY:
        return False
    found = particulars_store(document=document, lines=opening_of(document))
    audit_record(
        actor=actor,
        action=Action.DOCUMENT_FIELDS_READ,
        obj=document,
        collection_id=document.collection_id,
        after={"values": found},
    )
    return True


def _each_once(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(kept for value in values if (kept := plain(value))))


def _said(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value
