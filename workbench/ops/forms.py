"""Forms of the Operations page."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from .control import LARGEST_BUDGET


class SwitchForm(forms.Form):
    """Stopping or resuming the models."""

    reason = forms.CharField(label=_("Reason"), max_length=300)


class BudgetsForm(forms.Form):
    """What a run and a month may cost."""

    run_budget = forms.DecimalField(
        label=_("Most that a run may cost, USD"),
        required=False,
        min_value=0,
        max_value=LARGEST_BUDGET,
        max_digits=12,
        decimal_places=4,
        help_text=_("Empty: no limit."),
    )
    month_budget = forms.DecimalField(
        label=_("Most that a month may cost, USD"),
        required=False,
        min_value=0,
        max_value=LARGEST_BUDGET,
        max_digits=12,
        decimal_places=4,
        help_text=_("Empty: no limit."),
    )
    reason = forms.CharField(label=_("Reason"), max_length=300)
