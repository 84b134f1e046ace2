"""The criteria of a two-turn run: as inferred by the model, and as edited by a person for another run (engines.md,
section 5)."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import ValidationError

from arbitration.strategies.rubrics import Criterion, RelevanceScale, Rubric

from .models import Run

PREFIX = "criteria"
MOST_CRITERIA = 8


def rubric_of(run: Run) -> Rubric | None:
    """The criteria of the run; None if it used none, or has none yet."""
    text = run.artefacts.get("rubric")
    try:
        return Rubric.model_validate_json(text) if text else None
    except ValidationError:
        return None


class CriterionForm(forms.Form):
    """A criterion. Without a name, it is ignored."""

    name = forms.CharField(label=gettext_lazy("Criterion"), required=False, max_length=60)
    definition = forms.CharField(label=gettext_lazy("What it means"), required=False, max_length=400)
    zero = forms.CharField(label=gettext_lazy("0 means"), required=False, max_length=200)
    five = forms.CharField(label=gettext_lazy("5 means"), required=False, max_length=200)
    weight = forms.FloatField(
        label=gettext_lazy("Weight, 0 to 1"),
        required=False,
        min_value=0,
        max_value=1,
        widget=forms.NumberInput(attrs={"step": "0.05", "min": "0", "max": "1"}),
    )

    def clean(self) -> dict[str, Any]:
        """Checks that a named criterion has a weight."""
        cleaned = super().clean() or {}
        if not self.errors and cleaned.get("name") and cleaned.get("weight") is None:
            raise forms.ValidationError(_("Give “%(name)s” a weight.") % {"name": cleaned["name"]})
        return cleaned


class _Criteria(forms.BaseFormSet):
    def clean(self) -> None:
        """Checks that there is at least one criterion and no duplicate."""
        if any(self.errors):
            return
        names = [form.cleaned_data["name"].casefold() for form in self._named()]
        if not names:
            raise forms.ValidationError(_("Name at least one criterion."))
        if len(set(names)) < len(names):
            raise forms.ValidationError(_("Name each criterion once."))

    def rubric(self, *, relevance: RelevanceScale | None = None) -> Rubric:
        """The criteria entered, with the inferred scale of relevance. Only for valid forms."""
        criteria = [Criterion(**form.cleaned_data) for form in self._named()]
        return Rubric(relevance=relevance, criteria=criteria)

    def problems(self) -> list[str]:
        own = [str(error) for error in self.non_form_errors()]
        return own + [
            str(error) for form in self.forms for errors in form.errors.values() for error in errors
        ]

    def _named(self) -> list[forms.Form]:
        return [form for form in self.forms if form.cleaned_data.get("name")]


CriteriaForms = forms.formset_factory(
    CriterionForm,
    formset=_Criteria,
    extra=1,
    max_num=MOST_CRITERIA,
    absolute_max=MOST_CRITERIA,
    validate_max=True,
)


def criteria_forms(rubric: Rubric) -> forms.BaseFormSet:
    return CriteriaForms(initial=[c.model_dump() for c in rubric.criteria], prefix=PREFIX)
