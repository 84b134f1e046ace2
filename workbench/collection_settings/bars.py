"""The risk a collection accepts, and the bars that keep to it: asked for, put to use and removed by an admin. What they
are is computed above this app, from people's decisions (``workbench.operations.bars``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from training.bars import Decides, Measure, bar_settings
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.embedding import active_space
from workbench.documents.models import Collection
from workbench.errors import Conflict, WorkbenchError
from workbench.infra.dispatch import dispatch_on_commit

from .models import BarDecides, BarProposal, BarState, CollectionBar
from .services import require_manage

#: Shares that may be promised.
LEAST_PROMISE, GREATEST_PROMISE = 0.01, 0.5


# --- reading ----------------------------------------------------------------------------------------


def bars_in_use(*, collection: Collection) -> QuerySet[CollectionBar]:
    """The bars of the collection on the scale of the embedder in use, with who applied them."""
    bars = CollectionBar.objects.filter(collection=collection, space=active_space().name)
    return bars.select_related("applied_by", "proposal")


def engine_changes(*, collection: Collection, without: Decides | None = None) -> dict[str, float | int]:
    """What the bars in use change in the engine's settings, those that decide ``without`` left out. One query."""
    rows = CollectionBar.objects.filter(collection=collection, space=active_space().name)
    found = rows.values_list("decides", "measure", "bar")
    return changes_of(bar for bar in found if bar[0] != without)


def changes_of(bars: Iterable[tuple[str, str, float]]) -> dict[str, float | int]:
    """The same of bars that were read already: what each decides, on what it is put, and where."""
    changes: dict[str, float | int] = {}
    for decides, measure, bar in bars:
        changes |= bar_settings(Decides(decides), Measure(measure), bar)
    return changes


def proposals_of(*, collection: Collection, decides: str) -> QuerySet[BarProposal]:
    """What was computed for the collection, newest first."""
    rows = BarProposal.objects.filter(collection=collection, decides=decides)
    return rows.select_related("requested_by").order_by("-id")


# --- asking -----------------------------------------------------------------------------------------


def bar_request(*, actor: User, collection: Collection, decides: str, promised: float) -> BarProposal:
    """States the share of questions that may be lost, or of accepted passages that may be wrong, and has the bar that
    keeps to it computed by a worker. Nothing is in use by it.

    Raises :class:`NotAllowed`; :class:`WorkbenchError` for a share out of range; :class:`Conflict` while one is being
    computed.
    """
    require_manage(actor, collection)
    proposal = proposal_unsaved(actor=actor, collection=collection, decides=decides, promised=promised)
    try:
        with transaction.atomic():
            proposal.save(force_insert=True)
            _record_request(actor, proposal)
            dispatch_on_commit("operations.bars", proposal_id=proposal.pk)
    except IntegrityError as error:
        raise Conflict(_("This is being computed already. Wait until it is ready.")) from error
    return proposal


def proposal_unsaved(*, actor: User, collection: Collection, decides: str, promised: float) -> BarProposal:
    """A computation to be made. Raises :class:`WorkbenchError` for a share out of range."""
    if decides not in BarDecides.values:
        raise WorkbenchError(_("A bar decides discarding or accepting."), code="decides_unknown")
    if not LEAST_PROMISE <= promised <= GREATEST_PROMISE:
        raise WorkbenchError(
            _("State a share between %(least)d and %(greatest)d %%.")
            % {"least": 100 * LEAST_PROMISE, "greatest": 100 * GREATEST_PROMISE},
            code="promise_out_of_range",
        )
    return BarProposal(collection=collection, decides=decides, promised=promised, requested_by=actor)


def _record_request(actor: User, proposal: BarProposal) -> None:
    audit_record(
        actor=actor,
        action=Action.RISK_REQUESTED,
        obj=proposal,
        after={"decides": proposal.decides, "promised": proposal.promised},
    )


# --- using ------------------------------------------------------------------------------------------


def bar_apply(
    *,
    actor: User,
    collection: Collection,
    proposal: BarProposal,
    seen_revision: int,
    reranker: str,
    reason: str = "",
) -> CollectionBar:
    """Puts a computed bar to use from the next question on; earlier runs stay as they are. ``seen_revision`` is the
    revision of the bar that the admin saw, 0 for none; ``reranker`` names what serves now.

    Raises :class:`NotAllowed`; :class:`WorkbenchError` for a bar of another collection, embedder or model, or where
    there is none, as with too few questions; :class:`Conflict` when somebody changed it meanwhile.
    """
    require_manage(actor, collection)
    _require_usable(proposal, collection, reranker)
    try:
        with transaction.atomic():
            return _apply(actor, proposal, seen_revision, reason)
    except IntegrityError as error:
        raise Conflict(_changed()) from error


def _require_usable(proposal: BarProposal, collection: Collection, reranker: str) -> None:
    if proposal.collection_id != collection.pk:
        raise WorkbenchError(_("This bar was computed for another collection."), code="other_collection")
    if proposal.state != BarState.READY:
        raise WorkbenchError(_("This bar is not ready."), code="not_ready")
    if proposal.bar is None:
        raise WorkbenchError(why_none(proposal), code="no_bar")
    if proposal.space != active_space().name:
        raise WorkbenchError(_("This bar belongs to another embedder. Compute it again."), code="other_space")
    if proposal.reranker != reranker:
        raise WorkbenchError(_("Another model serves by now. Compute the bar again."), code="other_model")


def why_none(proposal: BarProposal) -> str:
    """Why no bar keeps the promise."""
    missing = proposal.missing
    if missing:
        return ngettext(
            "%(n)d more question must be decided blind before this can be promised. The shipped default stays.",
            "%(n)d more questions must be decided blind before this can be promised. The shipped default stays.",
            missing,
        ) % {"n": missing}
    return _("No bar keeps this promise here. The shipped default stays.")


def _apply(actor: User, proposal: BarProposal, seen_revision: int, reason: str) -> CollectionBar:
    rows = CollectionBar.objects.select_for_update().filter(
        collection=proposal.collection_id,
        space=proposal.space,
        decides=proposal.decides,
        measure=proposal.measure,
    )
    current = rows.first()
    if (current.revision if current else 0) != seen_revision:
        raise Conflict(_changed())
    before = _record(current) if current else None
    values: dict[str, Any] = {"bar": proposal.bar, "proposal": proposal, "applied_by": actor}
    if current is None:
        row = CollectionBar.objects.create(
            collection_id=proposal.collection_id,
            space=proposal.space,
            decides=proposal.decides,
            measure=proposal.measure,
            **values,
        )
    else:
        rows.update(revision=current.revision + 1, applied_at=Now(), **values)
        row = rows.get()
    audit_record(
        actor=actor,
        action=Action.RISK_APPLIED,
        obj=row,
        before=before,
        after=_record(row),
        reason=reason,
    )
    return row


def bar_remove(
    *, actor: User, collection: Collection, bar: int, seen_revision: int, reason: str = ""
) -> None:
    """Back to the shipped default from the next question on. Raises :class:`NotAllowed`, or :class:`Conflict` when it
    is no longer the bar that the admin saw."""
    require_manage(actor, collection)
    with transaction.atomic():
        rows = CollectionBar.objects.select_for_update().filter(collection=collection, pk=bar)
        current = rows.first()
        if current is None or current.revision != seen_revision:
            raise Conflict(_changed())
        audit_record(
            actor=actor,
            action=Action.RISK_REMOVED,
            obj=current,
            before=_record(current),
            reason=reason,
        )
        rows.delete()


def _record(row: CollectionBar) -> dict[str, Any]:
    return {
        "decides": row.decides,
        "measure": row.measure,
        "bar": row.bar,
        "promised": row.proposal.promised,
        "proposal": row.proposal_id,
        "space": row.space,
    }


def _changed() -> str:
    return _("Somebody changed this meanwhile. Look at it again before you change it.")
