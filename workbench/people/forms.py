"""Forms of the people page."""

from __future__ import annotations

from functools import partial

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from workbench.accounts.models import MemberRole
from workbench.infra.choices import options_of


class InvitationForm(forms.Form):
    """Somebody's address, the role they get, and a name for those who are new."""

    email = forms.EmailField(label=_("E-mail address"), max_length=254)
    role = forms.ChoiceField(
        label=pgettext_lazy("of a person", "Role"), choices=partial(options_of, MemberRole)
    )
    name = forms.CharField(
        label=_("Name"), required=False, max_length=120, help_text=_("Used only for a new account.")
    )


class RoleForm(forms.Form):
    """A role to be given to, or taken from, a member."""

    role = forms.ChoiceField(choices=MemberRole.choices)
    reason = forms.CharField(required=False, max_length=500)
