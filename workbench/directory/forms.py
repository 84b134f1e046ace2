"""What a person says of a group."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from workbench.accounts.models import MemberRole
from workbench.infra.choices import options_of

from .models import MAX_NAME


class GroupRoleForm(forms.Form):
    """A group by name, and the role it stands for."""

    group = forms.CharField(
        label=_("Group"), max_length=MAX_NAME, help_text=_("Its name in your directory, letter by letter.")
    )
    role = forms.ChoiceField(label=_("Role"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Read when a page is made, so that the words are in its language.
        self.fields["role"].choices = options_of(MemberRole)  # type: ignore[attr-defined]
