"""The settings page of a collection."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from arbitration.triage import OPEN_GATES, GateProfile
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_in
from workbench.documents.embedding import active_space
from workbench.documents.models import Collection
from workbench.infra.crumbs import crumbs

from .forms import (
    LABELS,
    PROPERTY_LABELS,
    GeneralForm,
    HoldForm,
    ProposalForm,
    RetentionForm,
    ThresholdsForm,
    WeightsForm,
)
from .models import THRESHOLDS, CollectionGates, GateProposal
from .selectors import criteria_weights_of, gates_row, proposals_for
from .strategy_fields import StrategyFields

MOST_PROPOSALS = 5


def settings_page(
    *,
    collection: Collection,
    user: User,
    general: GeneralForm | None = None,
    weights: WeightsForm | None = None,
    options: StrategyFields | None = None,
    thresholds: ThresholdsForm | None = None,
    hold: HoldForm | None = None,
    retention: RetentionForm | None = None,
) -> dict[str, Any]:
    """What is set, what is proposed, and the forms to change it; those given were sent and have errors."""
    row = gates_row(collection=collection)
    current = row.profile if row else OPEN_GATES
    criteria_weights = criteria_weights_of(collection=collection)
    may_manage = Permission.MANAGE in permissions_in(user, collection)
    return {
        "collection": collection,
        "may_manage": may_manage,
        "gates": row,
        "current": [(LABELS[name], getattr(current, name)) for name in THRESHOLDS],
        "may_reject": current.may_reject,
        "space": active_space().name,
        "revision": row.revision if row else 0,
        "proposals": [
            _proposal(proposal, row, current)
            for proposal in proposals_for(collection=collection)[:MOST_PROPOSALS]
        ],
        "general": general or general_form(collection),
        "weights": weights or WeightsForm(initial=criteria_weights),
        "options": options
        or StrategyFields(initial=StrategyFields.initial_of(collection.strategy_options or {})),
        "criteria_weights": [(PROPERTY_LABELS[name], weight) for name, weight in criteria_weights.items()],
        "thresholds": thresholds or thresholds_form(row, current),
        "hold": hold or HoldForm(initial={"is_held": not collection.legal_hold}),
        "retention": retention
        or RetentionForm(
            initial={"days": collection.retention_days, "delay_days": collection.erasure_delay_days}
        ),
        "crumbs": crumbs(collection, here=_("Settings")),
    }


def settings_step(collection: Collection) -> tuple[str, str]:
    """The settings page as a step of breadcrumbs."""
    return _("Settings"), reverse("collection_settings:settings", args=[collection.slug])


def general_form(collection: Collection) -> GeneralForm:
    return GeneralForm(
        initial={
            "description": collection.description,
            "default_strategy": collection.default_strategy,
            "model": f"{collection.model_endpoint} {collection.model_name}".strip(),
            "allowed_endpoints": "\n".join(collection.allowed_endpoints),
            "contributes_to_training": collection.contributes_to_training,
        }
    )


def thresholds_form(row: CollectionGates | None, current: GateProfile) -> ThresholdsForm:
    initial = {name: getattr(current, name) for name in THRESHOLDS}
    return ThresholdsForm(
        initial=initial | {"seen_revision": row.revision if row else 0}, space=active_space().name
    )


def effect_words(proposal: GateProposal, used: GateProposal | None) -> str:
    """What the thresholds do, in a sentence, and what changes against those in use, where these were measured too."""
    said = _(
        "Of 100 passages %(rejected)s are rejected and %(accepted)s accepted without a judge; %(judged)s are read."
    ) % {
        "rejected": _number(100 * proposal.rejected_share),
        "accepted": _number(100 * proposal.accepted_share),
        "judged": _number(_judged(proposal)),
    }
    if used is None or used.pk == proposal.pk or None in (used.evidence_lost, proposal.evidence_lost):
        return said
    more = _judged(proposal) - _judged(used)
    lost = 100 * ((proposal.evidence_lost or 0.0) - (used.evidence_lost or 0.0))
    reads = _("%(n)s more are read") if more >= 0 else _("%(n)s fewer are read")
    loses = (
        _("%(n)s %% more of the evidence is lost")
        if lost >= 0
        else _("%(n)s %% less of the evidence is lost")
    )
    compared = _("Compared with now, %(reads)s and %(loses)s.") % {
        "reads": reads % {"n": _number(abs(more))},
        "loses": loses % {"n": _number(abs(lost), digits=2)},
    }
    return f"{said} {compared}"


def _judged(proposal: GateProposal) -> float:
    """Passages in a hundred that neither threshold decides."""
    return 100 * max(0.0, 1 - proposal.rejected_share - proposal.accepted_share)


def _number(value: float, *, digits: int = 0) -> str:
    return str(number_format(value, decimal_pos=digits))


def _proposal(proposal: GateProposal, row: CollectionGates | None, current: GateProfile) -> dict[str, Any]:
    changes = [
        {"label": LABELS[name], "before": getattr(current, name), "after": getattr(proposal, name)}
        for name in THRESHOLDS
        if getattr(current, name) != getattr(proposal, name)
    ]
    lost, precision = proposal.evidence_lost, proposal.accepted_precision
    return {
        "row": proposal,
        "lost": None if lost is None else 100 * lost,
        "rejected": 100 * proposal.rejected_share,
        "accepted": 100 * proposal.accepted_share,
        "precision": None if precision is None else 100 * precision,
        "effect": effect_words(proposal, row.proposal if row else None),
        "changes": changes,
        "is_applied": row is not None and row.proposal_id == proposal.pk,
        "form": ProposalForm(
            initial={"proposal": proposal.pk, "seen_revision": row.revision if row else 0},
            auto_id=f"id_proposal{proposal.pk}_%s",
        ),
    }
