"""Fields of documents: which ones a collection has, what the machine read and what a person set.

The two stay apart. Where a person has set a field, theirs counts; where nobody has, what was read in the document's
opening does, and pages say so. Tags, issuer, type and date as people set them are columns of the document.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from arbitration.documents import Line as ParsedLine
from arbitration.particulars import MOST_LINES, particulars_of
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.storable import storable

from .models import Collection, CollectionField, Document, DocumentField, FieldKind, Line, Particular

MOST_FIELDS, LONGEST_NAME, LONGEST_VALUE = 20, 60, 160


@dataclass(frozen=True, slots=True)
class Carried:
    """What one document carries in fields that are no columns: ``read`` by the machine, by name and in order;
    ``parties`` and ``own`` (by the collection's name of the field) as people set them."""

    read: Mapping[str, tuple[DocumentField, ...]] = field(default_factory=dict)
    parties: tuple[str, ...] = ()
    own: Mapping[str, str] = field(default_factory=dict)


def carried(documents: Iterable[Document]) -> dict[int, Carried]:
    """By document. One query."""
    rows: dict[int, list[DocumentField]] = {document.pk: [] for document in documents}
    for row in DocumentField.objects.filter(document__in=list(rows)).select_related("definition"):
        rows[row.document_id].append(row)
    return {pk: _carried(values) for pk, values in rows.items()}


def _carried(rows: Sequence[DocumentField]) -> Carried:
    read = {
        name: tuple(r for r in rows if r.set_by_id is None and r.name == name) for name in Particular.values
    }
    return Carried(
        {name: values for name, values in read.items() if values},
        tuple(row.value for row in rows if row.set_by_id is not None and row.name == Particular.PARTY),
        {row.definition.name: row.value for row in rows if row.definition is not None},
    )


def carrying(name: str, values: Q) -> Q:
    """Documents with such a value of one of :class:`Particular` that is no column: a person's, or, where nobody set
    any, the machine's. ``values`` is a condition on the rows of values."""
    rows = DocumentField.objects.filter(document=OuterRef("pk"), name=name)
    by_person = rows.filter(set_by__isnull=False)
    return Q(Exists(by_person.filter(values))) | (~Q(Exists(by_person)) & read_in_text(name, values))


def read_in_text(name: str, values: Q) -> Q:
    """Documents in which the machine read such a value."""
    rows = DocumentField.objects.filter(document=OuterRef("pk"), name=name, set_by__isnull=True)
    return Q(Exists(rows.filter(values)))


def values_that_count(documents: QuerySet[Document]) -> list[tuple[str, str, str]]:
    """Every value that these documents go by: (name of what all have, else empty; name of the collection's own; value).
    One query."""
    rows = DocumentField.objects.filter(document__in=documents.order_by())
    of_person = DocumentField.objects.filter(
        document=OuterRef("document"), name=OuterRef("name"), set_by__isnull=False
    )
    outdone = Q(set_by__isnull=True) & (
        Q(Exists(of_person))
        | Q(name=Particular.TYPE) & ~Q(document__document_type="")
        | Q(name=Particular.DATE, document__effective_date__isnull=False)
    )
    found = rows.exclude(outdone).values_list("name", F("definition__name"), "value")
    return [(name, own or "", value) for name, own, value in found.order_by().distinct()]


# --- which fields a collection has ------------------------------------------------------------------


def field_add(
    *, actor: User, collection: Collection, name: str, kind: str = FieldKind.TEXT
) -> CollectionField:
    """Gives the documents of a collection one more field.

    Raises :class:`NotAllowed`, :class:`Conflict` for a name that is taken, :class:`WorkbenchError` for one without
    letters or digits.
    """
    _require(actor, collection, Permission.MANAGE)
    name = plain(name)
    if not any(character.isalnum() for character in name) or len(name) > LONGEST_NAME or ":" in name:
        raise WorkbenchError(
            _("Give the field a name with letters or digits, without a colon, of at most %(n)d characters.")
            % {"n": LONGEST_NAME},
            code="bad_name",
        )
    if kind not in FieldKind.values:
        raise WorkbenchError(_("A field holds text or a date."), code="bad_kind")
    try:
        with transaction.atomic():
            Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
            if CollectionField.objects.filter(collection=collection).count() >= MOST_FIELDS:
                raise WorkbenchError(
                    _("At most %(n)d fields. Remove one first.") % {"n": MOST_FIELDS}, code="too_many_fields"
                )
            added = CollectionField.objects.create(collection=collection, name=name, kind=kind)
            audit_record(
                actor=actor,
                action=Action.COLLECTION_FIELD_ADDED,
                obj=collection,
                collection_id=collection.pk,
                after={"field": name, "kind": kind},
            )
    except IntegrityError as error:
        raise Conflict(_("This collection has a field of that name."), code="field_taken") from error
    return added


def field_remove(*, actor: User, collection: Collection, name: str) -> None:
    """Takes a field away, with its values on every document. Raises :class:`NotAllowed`, :class:`WorkbenchError`."""
    _require(actor, collection, Permission.MANAGE)
    with transaction.atomic():
        row = (
            CollectionField.objects.select_for_update()
            .filter(collection=collection, name__iexact=name)
            .first()
        )
        if row is None:
            raise WorkbenchError(_("This collection has no field of that name."), code="field_unknown")
        audit_record(
            actor=actor,
            action=Action.COLLECTION_FIELD_REMOVED,
            obj=collection,
            collection_id=collection.pk,
            before={"field": row.name, "kind": row.kind, "documents": row.values.count()},
        )
        row.delete()


def _require(actor: User, collection: Collection, permission: Permission) -> None:
    if not has_permission(actor, collection, permission):
        raise NotAllowed(_("Only an admin of this collection changes its fields."))


# --- values -----------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """A value as it is kept: on one line, without what a database cannot hold."""
    return " ".join(storable(text.replace("\x00", " ")).split())


def own_values(*, collection: Collection, given: Mapping[str, str]) -> dict[CollectionField, str]:
    """Values of the collection's own fields, checked; empty ones are left out.

    Raises :class:`WorkbenchError` for an unknown field, a value that is too long, or a date that is none.
    """
    fields = {row.name.casefold(): row for row in collection.fields.all()}
    checked = {}
    for name, value in given.items():
        row = fields.get(name.casefold())
        if row is None:
            raise WorkbenchError(
                _("This collection has no field “%(name)s”.") % {"name": name[:LONGEST_NAME]},
                code="field_unknown",
            )
        if value := plain(value):
            checked[row] = _of_kind(row, value)
    return checked


def _of_kind(row: CollectionField, value: str) -> str:
    if row.kind == FieldKind.DATE:
        try:
            return dt.date.fromisoformat(value).isoformat()
        except ValueError as error:
            raise WorkbenchError(
                _("%(name)s is a date. Write it as 2026-03-01.") % {"name": row.name}, code="bad_date"
            ) from error
    if len(value) > LONGEST_VALUE:
        raise WorkbenchError(
            _("%(name)s has at most %(n)d characters.") % {"name": row.name, "n": LONGEST_VALUE},
            code="bad_value",
        )
    return value


def values_replace(
    *, actor: User, document: Document, parties: Sequence[str], own: Mapping[CollectionField, str]
) -> None:
    """Puts a person's values in place of those before, in the caller's transaction; what was read stays."""
    DocumentField.objects.filter(document=document, set_by__isnull=False).delete()
    rows = [DocumentField(name=Particular.PARTY, value=party) for party in parties]
    rows += [DocumentField(definition=definition, value=value) for definition, value in own.items()]
    for row in rows:
        row.document, row.set_by = document, actor
    DocumentField.objects.bulk_create(rows)


def particulars_store(*, document: Document, lines: Sequence[ParsedLine]) -> int:
    """Reads what the document says of itself and puts it in place of what was read before, in the caller's
    transaction; gives how many values."""
    rows = [
        DocumentField(
            document=document,
            name=found.name,
            value=plain(found.value)[:LONGEST_VALUE],
            page_num=found.page_num,
            line_num=found.line_num,
        )
        for found in particulars_of(lines)
    ]
    DocumentField.objects.filter(document=document, set_by__isnull=True).delete()
    DocumentField.objects.bulk_create([row for row in rows if row.value], ignore_conflicts=True)
    return len(rows)


def opening_of(document: Document) -> list[ParsedLine]:
    """The first lines of a document that was read."""
    rows = Line.objects.filter(document=document, is_furniture=False, is_hidden=False)
    return [
        ParsedLine(
            page_num=row.page_num, line_num=row.line_num, text=row.text, character_count=row.character_count
        )
        for row in rows.order_by("page_num", "line_num")[:MOST_LINES]
    ]
