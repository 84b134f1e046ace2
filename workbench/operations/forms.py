"""Forms of the Operations page."""

from __future__ import annotations

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workbench.runs.prices import HIGHEST_PRICE

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


def _price(label: Promise) -> forms.DecimalField:
    return forms.DecimalField(
        label=label, min_value=0, max_value=HIGHEST_PRICE, max_digits=12, decimal_places=6
    )


class PriceForm(forms.Form):
    """What a model costs, in USD per million tokens."""

    model = forms.CharField(
        label=_("Model"), max_length=120, help_text=_("As the endpoint names it, such as gpt-5-mini.")
    )
    fresh = _price(_("Input, USD per million tokens"))
    cached = _price(_("Cached input, USD per million tokens"))
    output = _price(_("Output, USD per million tokens"))
    reason = forms.CharField(label=_("Reason"), max_length=300)


class PriceRemovalForm(forms.Form):
    """Taking a price away."""

    model = forms.CharField(max_length=120, widget=forms.HiddenInput)
    reason = forms.CharField(label=_("Reason"), max_length=300)
