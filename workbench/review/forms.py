"""Forms of decisions."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from workbench.infra.choices import options_of
from workbench.runs.models import RoleChoice

from .models import EmailWish, ReasonCode, ReviewPolicy, SignatureMeaning


class DecisionForm(forms.Form):
    """What every decision carries: a comment, and the decision the person saw on the card."""

    comment = forms.CharField(required=False, max_length=4000)
    version = forms.IntegerField(required=False)
    next = forms.CharField(required=False, max_length=400)


class OverrideForm(DecisionForm):
    """Another role, with a typed reason. Unknown values are refused by the service, in words."""

    role = forms.ChoiceField(choices=RoleChoice.choices)
    reason_code = forms.ChoiceField(choices=ReasonCode.choices)


class ChoiceForm(DecisionForm):
    """A role without a typed reason: a blind decision, a second review, an adjudication (whose comment says why)."""

    role = forms.ChoiceField(choices=RoleChoice.choices)


class NotFoundForm(DecisionForm):
    """Confirms a not-found result, or says where the answer is."""

    decision = forms.ChoiceField(choices=[("confirm", "confirm"), ("refute", "refute")], required=False)
    #: A passage of the run that answers: it refutes.
    near = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)

    def clean(self) -> dict[str, Any]:
        """One of the two."""
        cleaned = super().clean() or {}
        if cleaned.get("near"):
            cleaned["decision"] = "refute"
        elif not cleaned.get("decision"):
            self.add_error("decision", _("Choose whether the answer is really not there."))
        return cleaned


class SignForm(forms.Form):
    """A signature: the password again, its meaning, and the hash of the record the person saw. The page focuses the
    password, because the meaning has a default."""

    meaning = forms.ChoiceField(
        label=_("My signature means"),
        choices=partial(options_of, SignatureMeaning),
    )
    password = forms.CharField(
        label=_("Password"),
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )
    seen_sha256 = forms.CharField(max_length=64, widget=forms.HiddenInput)


class ReasonForm(forms.Form):
    reason = forms.CharField(label=_("Reason"), max_length=2000)


class LinesForm(forms.Form):
    """Lines of a document that carry evidence, from a first to a last one, their role and why."""

    from_page = forms.IntegerField(label=_("From page"), min_value=1, max_value=10**6)
    from_line = forms.IntegerField(label=_("line"), min_value=1, max_value=10**6)
    to_page = forms.IntegerField(label=_("To page"), min_value=1, max_value=10**6)
    to_line = forms.IntegerField(label=_("line"), min_value=1, max_value=10**6)
    role = forms.ChoiceField(label=_("Role"), choices=partial(options_of, RoleChoice))
    reason = forms.CharField(label=_("What these lines show"), max_length=2000)


class HandOverForm(forms.Form):
    person = forms.IntegerField(min_value=1)
    note = forms.CharField(required=False, max_length=300)


class ViewForm(forms.Form):
    name = forms.CharField(max_length=60)
    query = forms.CharField(required=False, max_length=500)


class PolicyForm(forms.ModelForm):
    class Meta:
        model = ReviewPolicy
        fields = ["blind_share", "second_share", "check_share"]
        widgets = {
            name: forms.NumberInput(attrs={"min": 0, "max": 1, "step": "0.05"})
            for name in ("blind_share", "second_share", "check_share")
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["check_share"].required = False


class CommentForm(forms.Form):
    body = forms.CharField(max_length=4000)
    candidate = forms.CharField(required=False, max_length=80)


class WishForm(forms.Form):
    email = forms.ChoiceField(label=_("E-mail"), choices=partial(options_of, EmailWish))
