"""Forms of sources."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from .kinds import LONGEST
from .protocol import Kind


class SourceForm(forms.Form):
    """A new source of one kind; its settings stand in fields of their own."""

    name = forms.CharField(label=_("Name"), max_length=120)

    def __init__(self, kind: Kind, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id=f"id_{kind.name}_%s", **kwargs)
        self.kind = kind
        for setting in kind.settings:
            self.fields[f"set_{setting.name}"] = forms.CharField(
                label=setting.label,
                help_text=setting.help,
                required=setting.is_required,
                initial=setting.initial,
                max_length=LONGEST,
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            )
        if kind.secret:
            self.fields["secret"] = forms.CharField(
                label=kind.secret,
                strip=False,
                max_length=LONGEST,
                help_text=_("It is stored encrypted and not shown again."),
                widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
            )

    def given(self) -> dict[str, Any]:
        """What the service takes."""
        values = self.cleaned_data
        return {
            "kind": self.kind.name,
            "name": values["name"],
            "settings": {setting.name: values[f"set_{setting.name}"] for setting in self.kind.settings},
            "secret": values.get("secret", ""),
        }
