"""What a person says of a document: its type, issuer, jurisdiction, date and tags. Questions are narrowed by these, and
strategies weigh date and issuer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import NotAllowed, WorkbenchError
from workbench.infra.storable import storable

from .models import DELETED_STATUSES, Document
from .services import index_epoch_bump

MOST_TAGS, LONGEST_TAG = 20, 80


def document_describe(
    *,
    actor: User,
    document: Document,
    document_type: str,
    issuer: str,
    jurisdiction: str,
    effective_date: dt.date | None,
    tags: Sequence[str],
) -> Document:
    """Puts the facts in place of those before; empty ones are unknown. An audited act; questions that were answered
    with other facts are answered anew.

    Raises :class:`NotAllowed`, or :class:`WorkbenchError` for a deleted document or too many tags.
    """
    if not has_permission(actor, document.collection, Permission.UPLOAD):
        raise NotAllowed(_("You may not change documents of this collection."))
    if document.status in DELETED_STATUSES:
        raise WorkbenchError(_("This document is deleted."), code="document_deleted")
    new: dict[str, Any] = {
        "document_type": _plain(document_type),
        "issuer": _plain(issuer),
        "jurisdiction": _plain(jurisdiction),
        "effective_date": effective_date,
        "tags": list(dict.fromkeys(plain for tag in tags if (plain := _plain(tag)))),
    }
    if len(new["tags"]) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in new["tags"]):
        raise WorkbenchError(
            _("At most %(n)d tags, each of at most %(length)d characters.")
            % {"n": MOST_TAGS, "length": LONGEST_TAG},
            code="bad_tags",
        )
    with transaction.atomic():
        locked = Document.objects.select_for_update().get(pk=document.pk)
        changed = [name for name, value in new.items() if getattr(locked, name) != value]
        if not changed:
            return locked
        audit_record(
            actor=actor,
            action=Action.DOCUMENT_DESCRIBED,
            obj=locked,
            collection_id=locked.collection_id,
            before={name: _said(getattr(locked, name)) for name in changed},
            after={name: _said(new[name]) for name in changed},
        )
        for name in changed:
            setattr(locked, name, new[name])
        locked.save(update_fields=changed)
        index_epoch_bump(collection_ids=[locked.collection_id])
    return locked


def _plain(text: str) -> str:
    return " ".join(storable(text.replace("\x00", " ")).split())


def _said(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value
