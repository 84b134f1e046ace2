"""The settings of strategies as form fields: for a collection, and for one question of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from arbitration.strategies.settable import SETTABLE

_OPTION = "option_"


def _choice(label: Promise, *choices: tuple[str, Promise]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, required=False, choices=[("", _("Default")), *choices])


def _yes_or_no(label: Promise, help_text: Promise | str = "") -> forms.NullBooleanField:
    widget = forms.Select(choices=[("", _("Default")), ("true", _("Yes")), ("false", _("No"))])
    return forms.NullBooleanField(label=label, required=False, help_text=help_text, widget=widget)


class StrategyFields(forms.Form):
    """Settings of the strategies that have any; what is left empty is the default: for a question what
    the collection has, for a collection what the strategy has."""

    option_k = forms.IntegerField(label=_("Passages judged"), required=False, min_value=1, max_value=200)
    option_n = forms.FloatField(
        label=_("Tolerance below the mean, in standard deviations"),
        required=False,
        min_value=0,
        max_value=5,
        widget=forms.NumberInput(attrs={"step": "0.5"}),
    )
    option_floor = forms.FloatField(
        label=_("Floor of the log-odds"),
        required=False,
        min_value=-50,
        max_value=50,
        help_text=_("A passage at or below it is discarded, wherever the bar lies."),
        widget=forms.NumberInput(attrs={"step": "0.5"}),
    )
    option_order = _choice(
        _("Order of the passages for the answer"),
        ("descending", _("Best first")),
        ("ascending", _("Best last")),
        ("random", _("Random")),
    )
    option_score = _choice(
        _("Judgment"),
        ("log_odds", _("Log-odds of Yes and No")),
        ("yes_no", _("Plain Yes or No")),
    )
    option_relevance_only = _yes_or_no(_("Rank by relevance alone"))
    option_streams = _yes_or_no(
        _("Streams by document type"),
        _("Each document type has a like share of the passages that are graded."),
    )
    option_merge = _choice(
        _("Merge rule of the streams"),
        ("score", _("By grade")),
        ("round-robin", _("In turn")),
        ("quota", _("By quota")),
    )
    option_per_stream = forms.IntegerField(
        label=_("Most passages of one document type"), required=False, min_value=1, max_value=400
    )
    option_hints = _yes_or_no(
        _("Show the model what found each passage"),
        _("Off by default, so that the model judges by the text alone."),
    )
    option_two_orders = _yes_or_no(
        _("Judge in two orders"), _("Doubles the calls. Where the two roles differ, a person decides.")
    )
    option_seed = forms.IntegerField(
        label=_("Seed of the order"),
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text=_("The same seed gives the same order of passages."),
    )

    def settings_of(self, strategy: str) -> list[forms.BoundField]:
        return [self[f"{_OPTION}{name}"] for name in SETTABLE.get(strategy, ())]

    @property
    def arbiter_settings(self) -> list[forms.BoundField]:
        return self.settings_of("arbiter")

    @property
    def consensus_settings(self) -> list[forms.BoundField]:
        return self.settings_of("consensus")

    @property
    def criteria_settings(self) -> list[forms.BoundField]:
        return self.settings_of("multi-criteria")

    @property
    def pointwise_settings(self) -> list[forms.BoundField]:
        return self.settings_of("pointwise")

    def options_by_strategy(self) -> dict[str, dict[str, Any]]:
        """What was filled in, by strategy. Valid forms only."""
        return {name: given for name in SETTABLE if (given := self.options_of(name))}

    @staticmethod
    def initial_of(options: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
        """The form's values for settings by strategy."""
        return {f"{_OPTION}{name}": value for own in options.values() for name, value in own.items()}

    def options_of(self, strategy: str) -> dict[str, Any]:
        """What was filled in for a strategy. Valid forms only."""
        given = {name: self.cleaned_data.get(f"{_OPTION}{name}") for name in SETTABLE.get(strategy, ())}
        return {name: value for name, value in given.items() if value not in (None, "")}
