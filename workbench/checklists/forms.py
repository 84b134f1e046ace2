"""Forms of question sets."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.documents.models import Collection, Document
from workbench.runs.strategies import strategy_choices

from .models import QuestionSet


class QuestionsForm(forms.Form):
    """The questions of a set, one a line."""

    questions = forms.CharField(
        label=_("Questions"),
        widget=forms.Textarea(attrs={"rows": 10}),
        max_length=200_000,
        help_text=_("One question a line."),
    )


class QuestionSetForm(QuestionsForm):
    collection = forms.ModelChoiceField(
        queryset=Collection.objects.none(), to_field_name="slug", label=_("Collection"), empty_label=None
    )
    name = forms.CharField(label=_("Name"), max_length=160)
    description = forms.CharField(label=_("Description"), required=False, max_length=2000)
    field_order = ["collection", "name", "description", "questions"]

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["collection"].queryset = Collection.objects.visible_to(user, Permission.ASK)


class RoundForm(forms.Form):
    documents = forms.ModelMultipleChoiceField(
        queryset=Document.objects.none(), label=_("Documents"), widget=forms.CheckboxSelectMultiple()
    )
    strategy = forms.ChoiceField(label=_("Strategy"), required=False)
    due_on = forms.DateField(
        label=_("Due on"), required=False, widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    )

    def __init__(self, *args: Any, question_set: QuestionSet, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["documents"].queryset = (
            Document.objects.visible_to(user, Permission.ASK)
            .ready()
            .filter(collection=question_set.collection)
            .order_by("name")
        )
        self.fields["strategy"].choices = [("", _("Default of the collection")), *strategy_choices()]
