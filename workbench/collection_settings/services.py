"""Changing what is set per collection. Every change is an audited act of an admin of the collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from arbitration.strategies.registry import STRATEGIES
from arbitration.strategies.rubrics import PROPERTIES
from arbitration.triage import GateCalibration, GateProfile
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.embedding import active_space
from workbench.documents.models import Collection
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.model_endpoints import model_endpoints

from .models import THRESHOLDS, CollectionGates, GateProposal
from .selectors import criteria_weights_of
from .strategy_options import options_checked

MOST_ENDPOINTS = 20


def proposal_create(
    *, actor: User, collection: Collection | None, calibration: GateCalibration, source: str
) -> GateProposal:
    """Keeps what calibration found; nothing is in use by it."""
    if collection is not None:
        require_manage(actor, collection)
    elif not (actor.is_system or actor.is_staff):
        raise NotAllowed(_("Only an administrator of the installation proposes thresholds for everybody."))
    profile = calibration.profile
    with transaction.atomic():
        proposal = GateProposal.objects.create(
            collection=collection,
            source=source[:200],
            questions=calibration.questions,
            evidence=calibration.evidence,
            rejected_share=calibration.rejected_share,
            accepted_share=calibration.accepted_share,
            accepted_precision=calibration.accepted_precision,
            created_by=actor,
            **_columns(profile),
        )
        audit_record(
            actor=actor,
            action=Action.THRESHOLDS_PROPOSED,
            obj=proposal,
            after=_record(profile) | {"source": proposal.source, "questions": proposal.questions},
        )
    return proposal


def gates_apply(
    *,
    actor: User,
    collection: Collection,
    profile: GateProfile,
    seen_revision: int,
    proposal: GateProposal | None = None,
    reason: str = "",
) -> CollectionGates:
    """Puts thresholds to use from the next question on. ``seen_revision`` is the revision the admin saw, 0 for none.

    Raises :class:`NotAllowed`; :class:`WorkbenchError` for thresholds of another embedder, or of a proposal for
    another collection; :class:`Conflict` when somebody changed them meanwhile.
    """
    require_manage(actor, collection)
    space = active_space().name
    if profile.embedding_space != space:
        raise WorkbenchError(
            _("These thresholds belong to another embedder. Calibrate for the one in use."),
            code="other_space",
        )
    if proposal is not None and proposal.collection_id not in (None, collection.pk):
        raise WorkbenchError(_("This proposal was made for another collection."), code="other_collection")
    try:
        with transaction.atomic():
            return _apply(actor, collection, profile, seen_revision, proposal, reason)
    except IntegrityError as error:
        raise Conflict(_changed()) from error


def _apply(
    actor: User,
    collection: Collection,
    profile: GateProfile,
    seen_revision: int,
    proposal: GateProposal | None,
    reason: str,
) -> CollectionGates:
    rows = CollectionGates.objects.select_for_update().filter(
        collection=collection, space=profile.embedding_space
    )
    current = rows.first()
    if (current.revision if current else 0) != seen_revision:
        raise Conflict(_changed())
    values: dict[str, Any] = _columns(profile) | {"proposal": proposal, "applied_by": actor}
    before = _record(current.profile) if current else None
    if current is None:
        row = CollectionGates.objects.create(collection=collection, **values)
    else:
        rows.update(revision=current.revision + 1, applied_at=Now(), **values)
        row = rows.get()
    audit_record(
        actor=actor,
        action=Action.THRESHOLDS_APPLIED,
        obj=row,
        before=before,
        after=_record(profile) | {"proposal": proposal.pk if proposal else None},
        reason=reason,
    )
    return row


def gates_remove(*, actor: User, collection: Collection, seen_revision: int, reason: str = "") -> None:
    """Back to no thresholds: everything is verified. Raises as :func:`gates_apply`."""
    require_manage(actor, collection)
    with transaction.atomic():
        rows = CollectionGates.objects.select_for_update().filter(
            collection=collection, space=active_space().name
        )
        current = rows.first()
        if current is None or current.revision != seen_revision:
            raise Conflict(_changed())
        audit_record(
            actor=actor,
            action=Action.THRESHOLDS_REMOVED,
            obj=current,
            before=_record(current.profile),
            reason=reason,
        )
        rows.delete()


def collection_change(
    *,
    actor: User,
    collection: Collection,
    default_strategy: str,
    allowed_endpoints: Sequence[str],
    description: str,
    criteria_weights: Mapping[str, float],
    contributes_to_training: bool,
    model_endpoint: str | None = None,
    model_name: str | None = None,
    strategy_options: Mapping[str, Mapping[str, object]] | None = None,
) -> None:
    """Changes how a collection's questions are answered, where its text may go, and whether its labels train the
    model of the installation. ``criteria_weights`` are those of multi-criteria, 0 to 1 for each of its properties;
    ``strategy_options`` the settings of strategies by name, unchanged where None.
    ``model_endpoint`` and ``model_name`` choose one of the configured endpoints and of its models; empty, the first
    endpoint that the collection allows answers with its first model; None leaves the choice as it is.

    Raises :class:`NotAllowed`, or :class:`WorkbenchError` for an unknown strategy, an address that is none, or
    weights that are not those of the properties.
    """
    require_manage(actor, collection)
    if default_strategy and default_strategy not in STRATEGIES:
        raise WorkbenchError(_("There is no such strategy."), code="strategy_unknown")
    if set(criteria_weights) != set(PROPERTIES) or not all(0 <= w <= 1 for w in criteria_weights.values()):
        raise WorkbenchError(
            _("Each property of multi-criteria has one weight between 0 and 1."), code="bad_weights"
        )
    endpoints = list(dict.fromkeys(endpoint.strip() for endpoint in allowed_endpoints if endpoint.strip()))
    if len(endpoints) > MOST_ENDPOINTS:
        raise WorkbenchError(
            _("Name at most %(n)d endpoints.") % {"n": MOST_ENDPOINTS}, code="too_many_endpoints"
        )
    for address in endpoints:
        if not address.startswith(("https://", "http://")) or len(address) > 200:
            raise WorkbenchError(
                _("“%(address)s” is not an address; it begins with https://.") % {"address": address[:80]},
                code="bad_endpoint",
            )
    endpoint = collection.model_endpoint if model_endpoint is None else model_endpoint
    model = collection.model_name if model_name is None else model_name
    _check_model(endpoint=endpoint, model=model, allowed=endpoints)
    new: dict[str, Any] = {
        "model_endpoint": endpoint,
        "model_name": model,
        "default_strategy": default_strategy,
        "allowed_endpoints": endpoints,
        "description": description.strip(),
        "criteria_weights": dict(criteria_weights),
        "contributes_to_training": contributes_to_training,
    }
    if strategy_options is not None:
        checked = {name: options_checked(strategy=name, given=own) for name, own in strategy_options.items()}
        new["strategy_options"] = {name: own for name, own in checked.items() if own} or None
    with transaction.atomic():
        locked = Collection.objects.select_for_update().get(pk=collection.pk)
        before = {name: getattr(locked, name) for name in new}
        before["criteria_weights"] = criteria_weights_of(collection=locked)
        if before == new:
            return
        Collection.objects.filter(pk=locked.pk).update(**new)
        audit_record(
            actor=actor,
            action=Action.COLLECTION_CHANGED,
            obj=locked,
            before={name: value for name, value in before.items() if value != new[name]},
            after={name: value for name, value in new.items() if value != before[name]},
        )


def _check_model(*, endpoint: str, model: str, allowed: Sequence[str]) -> None:
    """The choice is one of a configured endpoint, its model, and an address that the collection allows."""
    if not endpoint and not model:
        return
    known = next((one for one in model_endpoints() if one.name == endpoint), None)
    if known is None or (model and model not in known.models):
        raise WorkbenchError(_("This endpoint or model is not configured."), code="model_unknown")
    if known.base_url not in allowed:
        raise WorkbenchError(
            _("Allow the address %(address)s before you choose its model.") % {"address": known.base_url},
            code="endpoint_not_allowed",
        )


def _columns(profile: GateProfile) -> dict[str, Any]:
    thresholds = {name: getattr(profile, name) for name in THRESHOLDS}
    return thresholds | {
        "space": profile.embedding_space or "",
        "name": profile.name[:120],
        "bias": dict(profile.bias),
        "evidence_lost": profile.evidence_lost,
    }


def _record(profile: GateProfile) -> dict[str, Any]:
    return profile.model_dump(mode="json")


def _changed() -> str:
    return _("Somebody changed the thresholds meanwhile. Look at them again before you change them.")


def require_manage(actor: User, collection: Collection) -> None:
    """Raises :class:`NotAllowed` unless the person is an admin of the collection."""
    if not has_permission(actor, collection, Permission.MANAGE):
        raise NotAllowed(_("Only an admin of this collection changes its settings."))
