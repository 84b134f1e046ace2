"""Forms of the labeling pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.checklists.models import QuestionSet
from workbench.documents.models import Collection

from .models import Project, SourceChoice
from .supply import MAX_PAIRS


class ProjectForm(forms.Form):
    """A new project; shares in percent, as people think of them."""

    collection = forms.ModelChoiceField(
        queryset=Collection.objects.none(), to_field_name="slug", label=_("Collection")
    )
    name = forms.CharField(label=_("Name"), max_length=160)
    double_share = forms.IntegerField(
        label=_("Shown to two people, in %"),
        min_value=0,
        max_value=100,
        initial=15,
        help_text=_("Nobody sees which. Questions of the holdout always go to two."),
    )
    gold_share = forms.IntegerField(
        label=_("With a known answer, in %"),
        min_value=0,
        max_value=50,
        initial=5,
        help_text=_("Checks how well the guidelines are followed; leaves no label."),
    )
    random_share = forms.IntegerField(
        label=_("Drawn at random, in %"),
        min_value=0,
        max_value=100,
        initial=20,
        help_text=_("The others come by uncertainty."),
    )
    keep_waiting = forms.IntegerField(
        label=_("Pairs kept waiting"),
        min_value=0,
        max_value=MAX_PAIRS,
        initial=0,
        required=False,
        help_text=_("Every hour, finished runs supply what is missing; 0 leaves that to you."),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["collection"].queryset = Collection.objects.visible_to(user, Permission.MANAGE)

    def project(self) -> Project:
        """The unsaved project."""
        cleaned = self.cleaned_data
        return Project(
            collection=cleaned["collection"],
            name=cleaned["name"].strip(),
            double_share=cleaned["double_share"] / 100,
            gold_share=cleaned["gold_share"] / 100,
            random_share=cleaned["random_share"] / 100,
            keep_waiting=cleaned["keep_waiting"] or 0,
        )


class _SetForm(forms.Form):
    """A choice among the question sets of a project's collection."""

    question_set = forms.ModelChoiceField(
        queryset=QuestionSet.objects.none(),
        required=False,
        label=_("Question set"),
        empty_label=_("All questions"),
    )

    def __init__(
        self, *args: Any, project: Project, sets: Sequence[QuestionSet] | None = None, **kwargs: Any
    ) -> None:
        """``sets`` are the collection's, where the caller has read them already: a page has two such forms."""
        super().__init__(*args, **kwargs)
        field = self.fields["question_set"]
        field.queryset = QuestionSet.objects.filter(collection=project.collection_id)
        if sets is not None:
            field.choices = [("", field.empty_label), *((row.pk, str(row)) for row in sets)]


class FillForm(_SetForm):
    limit = forms.IntegerField(
        label=_("At most"), min_value=1, max_value=MAX_PAIRS, initial=200, help_text=_("Pairs to add.")
    )


class SupplyForm(forms.Form):
    """How many pairs are to wait; beat supplies them."""

    keep_waiting = forms.IntegerField(
        label=_("Pairs kept waiting"),
        min_value=0,
        max_value=MAX_PAIRS,
        help_text=_("Every hour, finished runs supply what is missing; 0 leaves that to you."),
    )


class ElusionForm(_SetForm):
    size = forms.IntegerField(label=_("Sample size"), min_value=1, max_value=MAX_PAIRS, initial=100)


class GuidelineForm(forms.Form):
    body = forms.CharField(
        label=_("Guidelines"), max_length=20_000, widget=forms.Textarea(attrs={"rows": 12})
    )


class ImportForm(forms.Form):
    """A file of labels, or of pairs to label."""

    file = forms.FileField(
        label=_("JSONL or CSV file"),
        allow_empty_file=True,
        help_text=_("Columns: question, document, page, line_from, line_to (or text), role."),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.jsonl,text/csv,application/jsonl"}),
    )
    kind = forms.ChoiceField(
        label=_("Contents"),
        choices=[
            ("pairs", _("Pairs to label; a role given is the known answer")),
            (SourceChoice.ANNOTATOR.value, _("Labels of annotators")),
            (SourceChoice.LLM.value, _("Labels of a language model")),
        ],
    )
    judge = forms.CharField(
        label=_("Annotator or model"),
        max_length=200,
        required=False,
        help_text=_("For rows that do not say."),
    )
    is_gold = forms.BooleanField(
        label=_("A gold set: made by people without sight of any machine's verdict"), required=False
    )
    dry_run = forms.BooleanField(label=_("Only check the file"), required=False, initial=True)


class AnswerForm(forms.Form):
    role = forms.CharField(max_length=12)


class PassForm(forms.Form):
    kind = forms.CharField(max_length=12)


class AdjudicationForm(forms.Form):
    """A third person's role, or nothing where the pair cannot be told, and why."""

    role = forms.CharField(max_length=12)
    comment = forms.CharField(required=False, max_length=2000)
