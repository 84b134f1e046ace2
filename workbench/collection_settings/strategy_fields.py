"""The settings of strategies as form fields: for a collection, and for one question of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from arbitration.strategies.settable import SETTABLE

_OPTION = "option_"


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
    option_order = forms.ChoiceField(
        label=_("Order of the passages for the answer"),
        required=False,
        choices=[
            ("", _("Default")),
            ("descending", _("Best first")),
            ("ascending", _("Best last")),
            ("random", _("Random")),
        ],
    )
    option_score = forms.ChoiceField(
        label=_("Judgment"),
        required=False,
        choices=[
            ("", _("Default")),
            ("log_odds", _("Log-odds of Yes and No")),
            ("yes_no", _("Plain Yes or No")),
        ],
    )
    option_relevance_only = forms.NullBooleanField(
        label=_("Rank by relevance alone"),
        required=False,
        widget=forms.Select(choices=[("", _("Default")), ("true", _("Yes")), ("false", _("No"))]),
    )

    option_streams = forms.NullBooleanField(
        label=_("Streams by document type"),
        required=False,
        help_text=_("Each document type has a like share of the passages that are graded."),
        widget=forms.Select(choices=[("", _("Default")), ("true", _("Yes")), ("false", _("No"))]),
    )
    option_merge = forms.ChoiceField(
        label=_("Merge rule of the streams"),
        required=False,
        choices=[
            ("", _("Default")),
            ("score", _("By grade")),
            ("round-robin", _("In turn")),
            ("quota", _("By quota")),
        ],
    )
    option_per_stream = forms.IntegerField(
        label=_("Most passages of one document type"), required=False, min_value=1, max_value=400
    )

    option_hints = forms.NullBooleanField(
        label=_("Show the model what found each passage"),
        required=False,
        help_text=_("Off by default, so that the model judges by the text alone."),
        widget=forms.Select(choices=[("", _("Default")), ("true", _("Yes")), ("false", _("No"))]),
    )
    option_two_orders = forms.NullBooleanField(
        label=_("Judge in two orders"),
        required=False,
        help_text=_("Doubles the calls. Where the two roles differ, a person decides."),
        widget=forms.Select(choices=[("", _("Default")), ("true", _("Yes")), ("false", _("No"))]),
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
