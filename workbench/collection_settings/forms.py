"""Forms of the settings page."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from pydantic import ValidationError

from arbitration.strategies.registry import STRATEGIES
from arbitration.strategies.rubrics import PROPERTIES
from arbitration.triage import GateProfile
from workbench.documents.erasure import (
    LONGEST_DELAY,
    LONGEST_REASON,
    LONGEST_RETENTION,
    SHORTEST_RETENTION,
)
from workbench.infra.model_endpoints import model_endpoints

from .models import THRESHOLDS, GateProposal

LABELS = {
    "minimum": _("Minimum cosine"),
    "verify": _("Verify from"),
    "accept": _("Accept from"),
    "gap": _("Largest gap to the best"),
    "keyword": _("Keyword score counts from"),
    "query": _("Another wording is the same question from"),
    "alias": _("Named section or alias counts from"),
    "confident": _("Answer kept for reuse from"),
}


PROPERTY_LABELS = {
    "depth": _("Depth"),
    "diversity": _("Diversity"),
    "clarity": _("Clarity"),
    "authoritativeness": _("Authoritativeness"),
    "recency": _("Recency"),
}


class WeightsForm(forms.Form):
    """How much each property of multi-criteria counts beside relevance."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in PROPERTIES:
            self.fields[name] = forms.FloatField(
                label=PROPERTY_LABELS[name],
                min_value=0,
                max_value=1,
                widget=forms.NumberInput(attrs={"step": "0.05"}),
            )


def model_choices() -> list[tuple[str, str]]:
    """Each model of each endpoint that is configured."""
    return [
        (f"{endpoint.name} {model}", f"{model} — {endpoint.name}, {endpoint.base_url}")
        for endpoint in model_endpoints()
        for model in endpoint.models
    ]


class GeneralForm(forms.Form):
    """How questions are answered, where text may go, and what labels are for."""

    description = forms.CharField(
        label=_("Description"), required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 2})
    )
    default_strategy = forms.ChoiceField(label=_("Default strategy"), required=False)
    model = forms.ChoiceField(
        label=_("Language model"),
        required=False,
        help_text=_("Only where the address of its endpoint is allowed below."),
    )
    allowed_endpoints = forms.CharField(
        label=_("Endpoints its text may go to"),
        required=False,
        max_length=4000,
        help_text=_(
            "One address a line. Text of this collection goes nowhere else; with none it stays here."
        ),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    contributes_to_training = forms.BooleanField(
        label=_("Labels of this collection train the model of the installation"),
        required=False,
        help_text=_(
            "The model learns numbers that detection measured, never words. Without this, labels of this collection "
            "neither train it nor judge it from the next training on; questions here are ranked by it all the same."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(name, name) for name in STRATEGIES]
        self.fields["model"].choices = [("", _("First allowed endpoint")), *model_choices()]
        self.fields["default_strategy"].choices = [("", _("Default of the installation")), *names]

    def clean_model(self) -> tuple[str, str]:
        """The name of the endpoint, and that of the model there."""
        endpoint, _space, model = self.cleaned_data["model"].partition(" ")
        return endpoint, model

    @property
    def values(self) -> dict[str, Any]:
        """What the service takes. Valid forms only."""
        endpoint, model = self.cleaned_data["model"]
        others = {name: value for name, value in self.cleaned_data.items() if name != "model"}
        return others | {"model_endpoint": endpoint, "model_name": model}

    def clean_allowed_endpoints(self) -> list[str]:
        lines = self.cleaned_data["allowed_endpoints"].splitlines()
        return [line.strip() for line in lines if line.strip()]


class HoldForm(forms.Form):
    is_held = forms.BooleanField(required=False, widget=forms.HiddenInput)
    reason = forms.CharField(label=_("Reason"), max_length=LONGEST_REASON)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="id_hold_%s", **kwargs)


class RetentionForm(forms.Form):
    """How long documents stay, and how long a deletion can be taken back."""

    days = forms.IntegerField(
        label=_("Days after which a document is deleted"),
        required=False,
        min_value=SHORTEST_RETENTION,
        max_value=LONGEST_RETENTION,
        help_text=_("Counted from its upload. Empty: documents are kept."),
    )
    delay_days = forms.IntegerField(
        label=_("Days until a deleted text is erased"),
        min_value=0,
        max_value=LONGEST_DELAY,
        help_text=_("Until then a deletion can be taken back. 0: it is erased at once."),
    )
    reason = forms.CharField(label=_("Reason"), max_length=LONGEST_REASON)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="id_retention_%s", **kwargs)


class ActForm(forms.Form):
    """What every change of thresholds carries: what the admin saw, and why."""

    seen_revision = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)
    reason = forms.CharField(label=_("Reason"), max_length=500, required=True)


class ProposalForm(ActForm):
    proposal = forms.ModelChoiceField(queryset=GateProposal.objects.none(), widget=forms.HiddenInput)


class ThresholdsForm(ActForm):
    field_order = [*THRESHOLDS, "reason", "seen_revision"]

    def __init__(self, *args: Any, space: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._space = space
        for name in THRESHOLDS:
            self.fields[name] = forms.FloatField(
                label=LABELS[name],
                min_value=0,
                max_value=1,
                widget=forms.NumberInput(attrs={"step": "0.001", "min": "0", "max": "1"}),
            )
        self.order_fields([*THRESHOLDS, "reason", "seen_revision"])

    def clean(self) -> dict[str, Any]:
        """The thresholds together make a profile."""
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        try:
            # What was not measured may not reject: no share of lost evidence is carried over.
            cleaned["profile"] = GateProfile(
                name="set by hand",
                embedding_space=self._space,
                **{name: cleaned[name] for name in THRESHOLDS},
            )
        except ValidationError as error:
            raise forms.ValidationError(
                _("Minimum and verify must not lie above accept."), code="order"
            ) from error
        return cleaned
