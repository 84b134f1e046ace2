"""Forms of decisions."""

from __future__ import annotations

from django import forms

from workbench.questions.models import RoleChoice

from .models import ReasonCode


class DecisionForm(forms.Form):
    """What every decision carries: a comment, and the decision the person saw on the card."""

    comment = forms.CharField(required=False, max_length=4000)
    version = forms.IntegerField(required=False)
    next = forms.CharField(required=False, max_length=400)


class OverrideForm(DecisionForm):
    """Another role, with a typed reason. Unknown values are refused by the service, in words."""

    role = forms.ChoiceField(choices=RoleChoice.choices)
    reason_code = forms.ChoiceField(choices=ReasonCode.choices)


class NotFoundForm(DecisionForm):
    """Confirm a not-found, or say where the answer stands."""

    decision = forms.ChoiceField(choices=[("confirm", "confirm"), ("refute", "refute")])
