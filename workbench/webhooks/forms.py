"""Forms of webhooks."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from workbench.infra.choices import options_of

from .events import labels
from .models import MAX_URL, WebhookFormat


class WebhookForm(forms.Form):
    """An address and what it is told of."""

    url = forms.CharField(
        label=_("Address"),
        max_length=MAX_URL,
        widget=forms.URLInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_("Such as https://host/path. It is sent ids and links, never text of a document."),
    )
    description = forms.CharField(label=_("What it is for"), max_length=120, required=False)
    format = forms.ChoiceField(
        label=_("Format"),
        choices=partial(options_of, WebhookFormat),
        initial=WebhookFormat.JSON,
        required=False,
        help_text=_("Slack: the address of an incoming webhook. Teams: that of a workflow."),
    )
    events = forms.MultipleChoiceField(label=_("Events"), widget=forms.CheckboxSelectMultiple())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["events"].choices = labels()  # type: ignore[attr-defined]

    def clean_format(self) -> str:
        """JSON where nothing was chosen."""
        return self.cleaned_data["format"] or WebhookFormat.JSON
