"""How a training ends that did not come through."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.audit.actions import Action
from workbench.audit.services import audit_work
from workbench.infra.storable import storable

from .models import ACTIVE_STATES, RunState, TrainingRun


def training_fail(*, run_id: int, reason: str, owner: str | None = None) -> bool:
    """Fails an active run on record; with ``owner`` only if that worker still holds it."""
    runs = TrainingRun.objects.filter(pk=run_id, state__in=ACTIVE_STATES)
    if owner is not None:
        runs = runs.filter(lease_owner=owner)
    with transaction.atomic():
        changed = runs.update(
            state=RunState.FAILED,
            failure_reason=storable(reason).strip() or _("The training failed without saying why."),
            finished_at=Now(),
            lease_owner="",
            lease_until=None,
        )
        if changed:
            audit_work(
                action=Action.TRAINING_FAILED,
                obj=TrainingRun.objects.get(pk=run_id),
                reason=reason[:300],
            )
    return bool(changed)
