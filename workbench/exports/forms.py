"""The forms that ask for a period, and for a link."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.documents.models import Collection

from .days import days_between
from .links import LONGEST_DAYS


class PeriodForm(forms.Form):
    """A collection and two days; the last day is part of the period."""

    collection = forms.ModelChoiceField(
        label=gettext_lazy("Collection"), queryset=Collection.objects.none(), empty_label=None
    )
    first = forms.DateField(
        label=gettext_lazy("First day"), widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    )
    last = forms.DateField(
        label=gettext_lazy("Last day"),
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        help_text=gettext_lazy("Days are those of UTC; the last one is part of the period."),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        audited = Collection.objects.visible_to(user, Permission.AUDIT).order_by("name")
        self.fields["collection"].queryset = audited  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """The first day must not be after the last."""
        cleaned = super().clean() or {}
        first, last = cleaned.get("first"), cleaned.get("last")
        if first and last and first > last:
            self.add_error("last", _("The last day is before the first."))
        return cleaned

    def period(self) -> tuple[datetime, datetime]:
        """The moments between which the period lies, the second excluded."""
        return days_between(first=self.cleaned_data["first"], last=self.cleaned_data["last"])


class LinkForm(forms.Form):
    """For how long a link opens the report, and why."""

    reason = forms.CharField(
        label=gettext_lazy("Who gets it, and what for"), max_length=500, widget=forms.TextInput
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("Expires after"),
        choices=[
            (7, gettext_lazy("7 days")),
            (30, gettext_lazy("30 days")),
            (LONGEST_DAYS, gettext_lazy("90 days")),
        ],
        coerce=int,
    )
