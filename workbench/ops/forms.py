"""Forms of the Operations page."""

from __future__ import annotations

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from .control import LARGEST_BUDGET


class SwitchForm(forms.Form):
    """Stopping or resuming the models."""

    reason = forms.CharField(label=_("Reason"), max_length=300)


def _amount(label: Promise) -> forms.DecimalField:
    """A limit in dollars; empty for none."""
    return forms.DecimalField(
        label=label,
        required=False,
        min_value=0,
        max_value=LARGEST_BUDGET,
        max_digits=12,
        decimal_places=4,
        help_text=_("Empty: no limit."),
    )


class BudgetsForm(forms.Form):
    """What a run and a month may cost."""

    run_budget = _amount(_("Most that a run may cost, USD"))
    month_budget = _amount(_("Most that a month may cost, USD"))
    reason = forms.CharField(label=_("Reason"), max_length=300)
