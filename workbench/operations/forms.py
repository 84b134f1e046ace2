"""Forms of the Operations page, and of the page of accepted risk."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from training.bars import Decides
from workbench.audit.verifier import Broken, NotAnExport, read_anchors
from workbench.collection_settings.bars import GREATEST_PROMISE, LEAST_PROMISE
from workbench.collection_settings.models import BarDecides, BarProposal
from workbench.runs.prices import HIGHEST_PRICE

from .control import LARGEST_BUDGET


class SwitchForm(forms.Form):
    reason = forms.CharField(label=_("Reason"), max_length=300)


#: A file of 10,000 anchors has about 1.5 MB.
MOST_ANCHOR_BYTES = 2_000_000


class AnchorsForm(forms.Form):
    """A file of anchors that was kept elsewhere."""

    anchors = forms.FileField(
        label=_("File of anchors"),
        required=False,
        allow_empty_file=True,
        help_text=_("As the audit trail page gave it."),
    )

    def clean_anchors(self) -> dict[int, str]:
        """Position to hash."""
        file = self.cleaned_data["anchors"]
        if file is None:
            return {}
        if file.size > MOST_ANCHOR_BYTES:
            raise forms.ValidationError(_("This file is too large for anchors."))
        try:
            return read_anchors(file.read().decode().splitlines())
        except (NotAnExport, Broken, KeyError, TypeError, ValueError) as error:
            raise forms.ValidationError(_("This is not a file of anchors.")) from error


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
    model = forms.CharField(max_length=120, widget=forms.HiddenInput)
    reason = forms.CharField(label=_("Reason"), max_length=300)


class PromiseForm(forms.Form):
    """The share that a collection accepts to lose, in per cent."""

    decides = forms.ChoiceField(choices=BarDecides.choices, widget=forms.HiddenInput)
    promised = forms.FloatField(
        min_value=100 * LEAST_PROMISE,
        max_value=100 * GREATEST_PROMISE,
        widget=forms.NumberInput(attrs={"step": "0.5"}),
    )

    def __init__(self, *args: Any, decides: Decides = Decides.DISCARD, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["promised"].label = (
            _("Questions that may lose their evidence unseen, %")
            if decides is Decides.DISCARD
            else _("Accepted passages that may be wrong, %")
        )

    @property
    def share(self) -> float:
        """The share as a part of one. Valid forms only."""
        return round(float(self.cleaned_data["promised"]) / 100, 6)


class BarApplyForm(forms.Form):
    proposal = forms.ModelChoiceField(queryset=BarProposal.objects.none(), widget=forms.HiddenInput)
    seen_revision = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)
    reason = forms.CharField(label=_("Reason"), max_length=500)


class BarRemoveForm(forms.Form):
    bar = forms.IntegerField(min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)
    seen_revision = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)
    reason = forms.CharField(label=_("Reason"), max_length=500)
