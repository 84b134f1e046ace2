"""Versions of a document: suggested after ingestion, accepted or declined by a person.

Each version names the previous one (``version_of``). Questions about a collection only use the newest versions
(``DocumentQuerySet.newest``). An older one is kept, and is asked by naming it.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from arbitration.text import normalise
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record, audit_work
from workbench.errors import Conflict, NotAllowed
from workbench.infra.dispatch import dispatch_on_commit

from .models import Document, DocumentStatus, OfferState, VersionOffer
from .restricting import restriction_inherit
from .restrictions import hidden_from
from .services import index_epoch_bump

#: What tells versions apart in a file name: "v2", "2024-05-01", "final", "(1)".
_VERSION_MARK = re.compile(
    r"[\s_\-.(]*(?:\b|(?<=_))(?:v(?:er(?:sion)?)?[\s_.]?\d[\d._]*|(?:19|20)\d{2}(?:[\-_.]?\d{2}){0,2}|final|draft|current"
    r"|new|old|rev\d*|copy|\d+(?=\)))\)?\Z",
    re.IGNORECASE,
)


def title_key(title: str) -> str:
    """A title as two versions share it: without case and superfluous blanks."""
    return normalise(title).casefold()


def name_key(name: str) -> str:
    """A file name as two versions share it: without ending, case and marks of a version."""
    stem = PurePath(name).stem
    while (shorter := _VERSION_MARK.sub("", stem)) and shorter != stem:
        stem = shorter
    return " ".join(re.split(r"[\s_\-]+", stem)).strip().casefold()


def version_offer(*, document_id: int) -> VersionOffer | None:
    """Suggests a document that became ready as a new version of the latest one with its title or file name. None if
    there is none, or it was suggested already. Call it inside the transaction that makes it ready."""
    document = Document.objects.get(pk=document_id)
    if document.version_of_id or VersionOffer.objects.filter(document=document).exists():
        return None
    older = _namesake(document)
    if older is None:
        return None
    offer = VersionOffer.objects.create(document=document, older=older)
    audit_work(
        action=Action.VERSION_OFFERED,
        obj=document,
        collection_id=document.collection_id,
        after={"older": older.pk},
    )
    return offer


def _namesake(document: Document) -> Document | None:
    others = (
        Document.objects.filter(collection_id=document.collection_id)
        .ready()
        .newest()
        .exclude(pk=document.pk)
        .order_by("-pk")
    )
    titles, names = title_key(document.title), name_key(document.name)
    for pk, title, name in others.values_list("pk", "title", "name"):
        if (titles and titles == title_key(title)) or (names and names == name_key(name)):
            return others.get(pk=pk)
    return None


def version_accept(*, actor: User, document: Document) -> VersionOffer:
    """Accepts the document as the next version of the suggested one, or of that one's latest version. A worker then
    carries over or reopens decisions on the older version. A declined suggestion can still be accepted. Raises
    :class:`NotAllowed`; :class:`Conflict` without a suggestion that the actor may see, or if the two cannot follow
    each other."""
    _require_upload(actor, document)
    with transaction.atomic():
        offer = _offer_locked(document, actor=actor, unless=OfferState.ACCEPTED)
        older = newest_version(offer.older)
        _check_order(document=document, older=older)
        Document.objects.filter(pk=document.pk).update(
            version_of=older, version_number=older.version_number + 1
        )
        offer.older = older
        offer.save(update_fields=["older"])
        restriction_inherit(actor=actor, document=document, older=older)
        _decided(actor=actor, offer=offer, state=OfferState.ACCEPTED, action=Action.VERSION_ACCEPTED)
        index_epoch_bump(collection_ids=[document.collection_id])
        dispatch_on_commit("documents.carry_over", document_id=document.pk)
    document.refresh_from_db()
    offer.refresh_from_db()
    return offer


def version_decline(*, actor: User, document: Document) -> VersionOffer:
    """Declines the suggestion: the two are different documents. Raises :class:`NotAllowed`, or :class:`Conflict` if it
    was decided already or the actor may not see it."""
    _require_upload(actor, document)
    with transaction.atomic():
        offer = _offer_locked(document, actor=actor)
        if offer.state != OfferState.OPEN:
            raise Conflict(_("This was decided already: %(state)s.") % {"state": offer.get_state_display()})
        _decided(actor=actor, offer=offer, state=OfferState.DECLINED, action=Action.VERSION_DECLINED)
    offer.refresh_from_db()
    return offer


def newest_version(document: Document) -> Document:
    """The last version of the chain that a document belongs to."""
    return versions_of(document)[-1]


def versions_of(document: Document) -> list[Document]:
    """Every version of the chain that a document belongs to, oldest first; one query a version."""
    chain = [document]
    while chain[0].version_of is not None:
        chain.insert(0, chain[0].version_of)
    while following := chain[-1].later_versions.select_related("uploaded_by").first():
        chain.append(following)
    return chain


def versions_seen(*, document: Document, user: User) -> list[Document]:
    """The versions of the chain that the person may see, oldest first."""
    chain = versions_of(document)
    keys = {version.pk for version in chain}
    seen = set(Document.objects.visible_to(user).filter(pk__in=keys).values_list("pk", flat=True))
    return [version for version in chain if version.pk in seen]


def open_offer(document: Document) -> VersionOffer | None:
    """The open suggestion; None if there is none."""
    offer = getattr(document, "version_offer", None)
    return offer if offer is not None and offer.state == OfferState.OPEN else None


def _offer_locked(document: Document, *, actor: User, unless: OfferState | None = None) -> VersionOffer:
    """The suggestion, locked. To somebody who may not see what it would replace, it does not exist."""
    offer = (
        VersionOffer.objects.select_for_update(of=("self", "older"))
        .select_related("older")
        .filter(document=document)
        .first()
    )
    if offer is None or _is_hidden(offer.older, actor):
        raise Conflict(_("This document was not offered as a new version of another."))
    if offer.state == unless:
        raise Conflict(_("This was decided already: %(state)s.") % {"state": offer.get_state_display()})
    return offer


def _is_hidden(older: Document, actor: User) -> bool:
    """Whether the document, or its latest version, is restricted to others."""
    return hidden_from(actor).filter(pk__in={older.pk, newest_version(older).pk}).exists()


def _check_order(*, document: Document, older: Document) -> None:
    if document.pk in {version.pk for version in versions_of(older)} or document.later_versions.exists():
        raise Conflict(_("This document has versions of its own already; it cannot follow another."))
    if document.status != DocumentStatus.READY or older.status != DocumentStatus.READY:
        raise Conflict(_("Both versions must be ready first."))


def _decided(*, actor: User, offer: VersionOffer, state: OfferState, action: str) -> None:
    before = offer.state
    VersionOffer.objects.filter(pk=offer.pk).update(state=state, decided_by=actor, decided_at=Now())
    audit_record(
        actor=actor,
        action=action,
        obj=offer.document,
        collection_id=offer.document.collection_id,
        before={"state": before},
        after={"state": state, "older": offer.older_id},
    )


def _require_upload(actor: User, document: Document) -> None:
    if not has_permission(actor, document.collection, Permission.UPLOAD):
        raise NotAllowed(_("You may not change documents of this collection."))
