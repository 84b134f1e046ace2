"""Adding sources, switching them on and off, asking for a look. Each act is on record, without the secret."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.locks import LockSpace, advisory_lock
from workbench.audit.services import audit_record
from workbench.documents.models import Collection
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.storable import storable

from .borders import require_own_place
from .kinds import kind_named, settings_checked
from .models import FileState, Source, SourceFile, SourceState
from .protocol import Values
from .secrets import is_under_present_key, opened, sealed

MOST_SOURCES = 20
_LONGEST_SECRET = 500


def source_create(
    *, actor: User, collection: Collection, kind: str, name: str, settings: Values, secret: str = ""
) -> Source:
    """A new source, which is looked at soon.

    Raises :class:`NotAllowed`, :class:`WorkbenchError` for settings that may not be, :class:`Conflict` for too many and
    for a place that another collection reads.
    """
    _require_manager(actor, collection)
    chosen = kind_named(kind)
    values = settings_checked(chosen, settings)
    name = " ".join(storable(name).split())[:120]
    if not name:
        raise WorkbenchError(_("Give the source a name."), code="name_missing")
    if bool(chosen.secret) != bool(secret):
        raise WorkbenchError(
            _("%(name)s is missing.") % {"name": chosen.secret}
            if chosen.secret
            else _("This kind of source has no secret."),
            code="bad_secret",
        )
    if len(secret) > _LONGEST_SECRET or not secret.isprintable():
        raise WorkbenchError(_("The secret is too long, or not on one line."), code="bad_secret")
    with transaction.atomic():
        advisory_lock(LockSpace.SOURCE_PLACES)
        require_own_place(collection=collection, kind=kind, settings=values)
        # One at a time, so that the limit holds.
        Collection.objects.select_for_update().get(pk=collection.pk)
        if collection.sources.exclude(state=SourceState.REMOVED).count() >= MOST_SOURCES:
            raise Conflict(
                _("The collection has %(n)d sources. Remove one that is not used any more.")
                % {"n": MOST_SOURCES}
            )
        source = Source.objects.create(
            collection=collection,
            kind=kind,
            name=name,
            settings=values,
            secret=sealed(secret),
            created_by=actor,
        )
        _record(actor, Action.SOURCE_CREATED, source, after={"kind": kind, "name": name} | values)
        dispatch_on_commit("sources.look", source_id=source.pk)
    source.refresh_from_db()
    return source


def source_pause(*, actor: User, source: Source) -> None:
    """It is not looked at until it is resumed; a look that goes on now ends before its next file."""
    _switch(actor, source, SourceState.PAUSED, takes={SourceState.ACTIVE}, action=Action.SOURCE_PAUSED)


def source_resume(*, actor: User, source: Source) -> None:
    """It is looked at again, from where it was left."""
    _switch(actor, source, SourceState.ACTIVE, takes={SourceState.PAUSED}, action=Action.SOURCE_RESUMED)


def source_remove(*, actor: User, source: Source) -> None:
    """It is gone for everybody, its secret too; the documents stay."""
    living = {SourceState.ACTIVE, SourceState.PAUSED}
    _switch(actor, source, SourceState.REMOVED, takes=living, action=Action.SOURCE_REMOVED)


def source_look_now(*, actor: User, source: Source) -> None:
    """Looks as soon as a worker is free. Raises :class:`Conflict` while the source is paused."""
    with transaction.atomic():
        locked = _locked(actor, source)
        _look_soon(locked)
        _record(actor, Action.SOURCE_LOOK_REQUESTED, locked)


def source_file_retry(*, actor: User, file: SourceFile) -> None:
    """Takes a file again that failed. Raises :class:`Conflict` for any other, and while the source is paused."""
    with transaction.atomic():
        locked = _locked(actor, file.source)
        changed = SourceFile.objects.filter(pk=file.pk, state=FileState.FAILED).update(state=FileState.AGAIN)
        if changed != 1:
            raise Conflict(_("Only a file that failed can be tried again."), code="other_state")
        _look_soon(locked)
        _record(actor, Action.SOURCE_FILE_RETRIED, locked, after={"file": file.pk})


def secrets_renew() -> int:
    """Encrypts with the present key what lies under a former one; gives the number."""
    renewed = 0
    for source in Source.objects.exclude(secret="").order_by("pk"):
        secret = None if is_under_present_key(source.secret) else opened(source.secret)
        if secret is not None:
            # Only what was read is replaced: a source that was removed meanwhile stays without.
            rows = Source.objects.filter(pk=source.pk, secret=source.secret)
            renewed += rows.update(secret=sealed(secret))
    return renewed


# --- what they share ----------------------------------------------------------------------------------------


def _switch(
    actor: User, source: Source, state: SourceState, *, takes: set[SourceState], action: Action
) -> None:
    with transaction.atomic():
        locked = _locked(actor, source)
        if locked.state not in takes:
            raise Conflict(
                _("The source is %(state)s.") % {"state": locked.get_state_display()}, code="other_state"
            )
        values: dict[str, Any] = {"state": state}
        if state == SourceState.REMOVED:
            values["secret"] = ""
        if state == SourceState.ACTIVE:
            # Whoever resumes it answers for it from now on: what it takes in is on their behalf.
            values |= {
                "error": "",
                "failures": 0,
                "is_unfinished": False,
                "next_look_at": Now(),
                "created_by": actor,
            }
            dispatch_on_commit("sources.look", source_id=locked.pk)
        Source.objects.filter(pk=locked.pk).update(**values)
        _record(actor, action, locked, before={"state": locked.state}, after={"state": state})
    source.refresh_from_db()


def _look_soon(source: Source) -> None:
    if source.state != SourceState.ACTIVE:
        raise Conflict(_("The source is paused. Resume it first."), code="paused")
    Source.objects.filter(pk=source.pk).update(next_look_at=Now())
    dispatch_on_commit("sources.look", source_id=source.pk)


def _locked(actor: User, source: Source) -> Source:
    """The row, locked, for somebody who may change it."""
    locked = Source.objects.select_for_update(of=("self",)).select_related("collection").get(pk=source.pk)
    _require_manager(actor, locked.collection)
    if locked.state == SourceState.REMOVED:
        raise Conflict(_("This source was removed."), code="removed")
    return locked


def _require_manager(actor: User, collection: Collection) -> None:
    if not has_permission(actor, collection, Permission.MANAGE):
        raise NotAllowed(_("Only admins of this collection may change its sources."))


def _record(actor: User, action: Action, source: Source, **what: Any) -> None:
    audit_record(actor=actor, action=action, obj=source, collection_id=source.collection_id, **what)
