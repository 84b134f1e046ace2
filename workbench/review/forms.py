"""Forms of decisions."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from workbench.questions.models import RoleChoice

from .models import ReasonCode, SignatureMeaning


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


class SignForm(forms.Form):
    """A signature: the password again, what it means, and the hash of the record the person saw."""

    meaning = forms.ChoiceField(label=_("My signature means"), choices=SignatureMeaning.choices)
    password = forms.CharField(
        label=_("Password"),
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    seen_sha256 = forms.CharField(max_length=64, widget=forms.HiddenInput)


class ReasonForm(forms.Form):
    """A reason that must be given."""

    reason = forms.CharField(label=_("Reason"), max_length=2000)
