"""The stop switch and the budgets: acts of an administrator of the installation, each on record."""

from __future__ import annotations

from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import require_administrator
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, WorkbenchError
from workbench.runs.gateway import llm_control
from workbench.runs.models import LLMControl

from .selectors import degraded_forget

#: USD; a slip of the hand is refused.
LARGEST_BUDGET = Decimal(1_000_000)


def llm_stop(*, actor: User, reason: str) -> None:
    """No language model is asked from now on; everything else goes on. Calls under way end by themselves."""
    if not reason.strip():
        raise WorkbenchError(_("Say why the models are stopped; everybody reads it."), code="reason_missing")
    with transaction.atomic():
        control = _locked(actor)
        if control.is_stopped:
            raise Conflict(_("The models are stopped already."))
        LLMControl.objects.filter(pk=control.pk).update(is_stopped=True, stop_reason=reason.strip())
        audit_record(actor=actor, action=Action.LLM_STOPPED, obj=control, reason=reason)
    degraded_forget()


def llm_resume(*, actor: User, reason: str) -> None:
    """Language models may be asked again."""
    with transaction.atomic():
        control = _locked(actor)
        if not control.is_stopped:
            raise Conflict(_("The models are not stopped."))
        LLMControl.objects.filter(pk=control.pk).update(is_stopped=False, stop_reason="")
        audit_record(
            actor=actor,
            action=Action.LLM_RESUMED,
            obj=control,
            before={"stop_reason": control.stop_reason},
            reason=reason,
        )
    degraded_forget()


def budgets_change(
    *, actor: User, run_budget: Decimal | None, month_budget: Decimal | None, reason: str
) -> None:
    """Sets the most that a run and a month may cost, in USD; None is no limit. The next call is held to it."""
    for amount in (run_budget, month_budget):
        if amount is not None and not 0 <= amount <= LARGEST_BUDGET:
            raise WorkbenchError(
                _("A budget lies between 0 and %(most)s USD.") % {"most": LARGEST_BUDGET}, code="bad_budget"
            )
    with transaction.atomic():
        control = _locked(actor)
        before = {"run_budget": control.run_budget, "month_budget": control.month_budget}
        after = {"run_budget": run_budget, "month_budget": month_budget}
        if before == after:
            return
        LLMControl.objects.filter(pk=control.pk).update(**after)
        audit_record(
            actor=actor,
            action=Action.LLM_BUDGETS_CHANGED,
            obj=control,
            before=before,
            after=after,
            reason=reason,
        )


def _locked(actor: User) -> LLMControl:
    require_administrator(actor)
    llm_control()
    return LLMControl.objects.select_for_update().get(pk=1)
