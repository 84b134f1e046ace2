"""Writing a collection's dictionary: by hand, from a file, and deciding what was proposed.

Nothing is searched with before a person approved it, and nothing is deleted: removing an entry is a decision
like any other.
"""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from arbitration.text import is_stop_word, normalise, words
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_any_permission
from workbench.audit.actions import Action
from workbench.audit.redaction import digest_of
from workbench.audit.services import audit_record
from workbench.documents.models import Collection
from workbench.errors import Conflict, NotAllowed, WorkbenchError

from .models import MAX_TERM, DictionaryEntry, EntryKind, EntryStatus, Language
from .selectors import entry_of_pair

DECIDERS = frozenset({Permission.MANAGE, Permission.REVIEW})


def may_decide(*, user: User, collection: Collection) -> bool:
    """Whether the person may change the dictionary: admins and reviewers of the collection."""
    return has_any_permission(user, collection, *DECIDERS)


def entry_add(
    *,
    actor: User,
    collection: Collection,
    term: str,
    variant: str,
    kind: str = EntryKind.ALIAS,
    language: str = Language.EN,
) -> DictionaryEntry:
    """A pair written by a person, in use at once; a pair that was proposed or rejected is approved by it.

    Raises :class:`NotAllowed`, :class:`WorkbenchError` for unusable terms, :class:`Conflict` for a pair in use.
    """
    require_decider(actor=actor, collection=collection)
    term, variant = checked_pair(term, variant)
    check_choices(kind=kind, language=language)
    known = entry_of_pair(collection=collection, term=term, variant=variant)
    if known is not None:
        return entry_approve(actor=actor, entry=known)
    try:
        with transaction.atomic():
            entry = DictionaryEntry.objects.create(
                collection=collection,
                term=term,
                variant=variant,
                kind=kind,
                language=language,
                status=EntryStatus.APPROVED,
                proposed_by=actor,
                decided_by=actor,
                decided_at=Now(),
            )
            _record(actor=actor, action=Action.VOCABULARY_ADDED, entry=entry, before=None)
    except IntegrityError as error:
        raise Conflict(_("Somebody added this pair at the same moment.")) from error
    entry.refresh_from_db()
    return entry


def entry_approve(*, actor: User, entry: DictionaryEntry) -> DictionaryEntry:
    """From now on the pair is searched with. Raises :class:`Conflict` when it is in use already."""
    return _decide(actor=actor, entry=entry, status=EntryStatus.APPROVED)


def entry_reject(*, actor: User, entry: DictionaryEntry) -> DictionaryEntry:
    """A proposal is turned down, or a pair in use is removed; either way it is not proposed again.

    Raises :class:`Conflict` when it is out of use already.
    """
    return _decide(actor=actor, entry=entry, status=EntryStatus.REJECTED)


def _decide(*, actor: User, entry: DictionaryEntry, status: EntryStatus) -> DictionaryEntry:
    require_decider(actor=actor, collection=entry.collection)
    with transaction.atomic():
        locked = DictionaryEntry.objects.select_for_update(of=("self",)).get(pk=entry.pk)
        before = EntryStatus(locked.status)
        if before == status:
            raise Conflict(
                _("“%(entry)s” is %(status)s already.") % {"entry": locked, "status": status.label},
                code="decided",
            )
        DictionaryEntry.objects.filter(pk=locked.pk).update(status=status, decided_by=actor, decided_at=Now())
        locked.refresh_from_db()
        _record(actor=actor, action=_verb(before, status), entry=locked, before=before)
    return locked


def _verb(before: EntryStatus, after: EntryStatus) -> str:
    if after == EntryStatus.APPROVED:
        return Action.VOCABULARY_APPROVED
    return Action.VOCABULARY_REMOVED if before == EntryStatus.APPROVED else Action.VOCABULARY_REJECTED


def _record(*, actor: User, action: str, entry: DictionaryEntry, before: EntryStatus | None) -> None:
    audit_record(
        actor=actor,
        action=action,
        obj=entry,
        before={"status": before} if before else None,
        after={
            **pair_on_record(entry),
            "kind": entry.kind,
            "language": entry.language,
            "status": entry.status,
            "review": entry.proposed_from_id,
        },
    )


def pair_on_record(entry: DictionaryEntry) -> dict[str, Any]:
    """Both terms as the trail keeps them. The variant that the machine proposes is a phrase of a document: the trail
    keeps its hash."""
    learned = entry.proposed_by.is_system
    return {"term": entry.term, "variant": digest_of(entry.variant) if learned else entry.variant}


def require_decider(*, actor: User, collection: Collection) -> None:
    """Raises :class:`NotAllowed` unless the person may change the dictionary."""
    if not may_decide(user=actor, collection=collection):
        raise NotAllowed(_("Only reviewers and admins of this collection may change its vocabulary."))


def checked_pair(term: str, variant: str) -> tuple[str, str]:
    """Both terms in their stored form. Raises :class:`WorkbenchError` that says what is wrong with which."""
    term, variant = (_checked(text, name) for text, name in ((term, _("term")), (variant, _("variant"))))
    if term.lower() == variant.lower():
        raise WorkbenchError(_("Term and variant are the same."), code="same_term")
    return term, variant


def _checked(text: str, name: str) -> str:
    clean = normalise("".join(c if c.isprintable() else " " for c in text))
    if not clean:
        raise WorkbenchError(_("The %(name)s is empty.") % {"name": name}, code="term_missing")
    if len(clean) > MAX_TERM:
        raise WorkbenchError(
            _("The %(name)s is longer than %(limit)d characters.") % {"name": name, "limit": MAX_TERM},
            code="term_too_long",
        )
    content = [w for w in words(clean) if not (is_stop_word(w, "en") or is_stop_word(w, "es"))]
    if not content:
        raise WorkbenchError(
            _("“%(term)s” has no word that can be searched for.") % {"term": clean}, code="term_empty"
        )
    return clean


def check_choices(*, kind: str, language: str) -> None:
    """Raises :class:`WorkbenchError` for an unknown kind or language."""
    if kind not in EntryKind.values:
        raise WorkbenchError(
            _("The kind must be one of: %(names)s.") % {"names": ", ".join(EntryKind.values)},
            code="kind_unknown",
        )
    if language not in Language.values:
        raise WorkbenchError(
            _("The language must be one of: %(names)s.") % {"names": ", ".join(Language.values)},
            code="language_unknown",
        )
