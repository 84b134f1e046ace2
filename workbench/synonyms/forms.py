"""Forms of the vocabulary page."""

from functools import partial

from django import forms
from django.utils.translation import gettext_lazy as _

from workbench.infra.choices import options_of

from .models import MAX_TERM, EntryKind, Language


class EntryForm(forms.Form):
    term = forms.CharField(label=_("Term"), max_length=MAX_TERM, help_text=_("As people ask for it."))
    variant = forms.CharField(
        label=_("Variant"), max_length=MAX_TERM, help_text=_("As the documents write it.")
    )
    kind = forms.ChoiceField(label=_("Kind"), choices=partial(options_of, EntryKind), initial=EntryKind.ALIAS)
    language = forms.ChoiceField(label=_("Language of the variant"), choices=partial(options_of, Language))


class ImportForm(forms.Form):
    file = forms.FileField(
        label=_("CSV file"),
        allow_empty_file=True,
        help_text=_("Columns: term, variant and, if you like, kind and language."),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,text/csv"}),
    )


class EntryDecisionForm(forms.Form):
    decision = forms.ChoiceField(choices=[("approve", "approve"), ("reject", "reject")])
