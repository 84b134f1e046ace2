"""Forms of the models' pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from .models import TrainingSchedule

FIELDS = (
    "is_on",
    "day",
    "hour",
    "min_new_labels",
    "min_positives",
    "min_negatives",
    "min_questions",
    "interval_excludes_zero",
)


class ScheduleForm(forms.Form):
    is_on = forms.BooleanField(label=_("Train every month"), required=False)
    day = forms.IntegerField(label=_("Day of the month"), min_value=1, max_value=28)
    hour = forms.IntegerField(label=_("Hour (UTC)"), min_value=0, max_value=23)
    min_new_labels = forms.IntegerField(
        label=_("Only with at least this many new labels"), min_value=0, max_value=1_000_000
    )
    min_positives = forms.IntegerField(
        label=_("Gold pairs that are evidence, at least"), min_value=1, max_value=1_000_000
    )
    min_negatives = forms.IntegerField(
        label=_("Gold pairs that are none, at least"), min_value=1, max_value=1_000_000
    )
    min_questions = forms.IntegerField(label=_("Gold questions, at least"), min_value=1, max_value=100_000)
    interval_excludes_zero = forms.BooleanField(
        label=_("Deploy only when the interval of the gain excludes zero"), required=False
    )

    @classmethod
    def of(cls, schedule: TrainingSchedule, data: Any = None) -> ScheduleForm:
        return cls(data, initial={name: getattr(schedule, name) for name in FIELDS})


class ReasonForm(forms.Form):
    reason = forms.CharField(label=_("Why"), max_length=400, help_text=_("It goes on record."))
