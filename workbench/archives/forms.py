"""Forms of the pages of archives."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _


class ArchiveForm(forms.Form):
    """An archive that is sent."""

    file = forms.FileField(
        label=_("Archive"),
        widget=forms.ClearableFileInput(attrs={"accept": ".zip,application/zip"}),
        help_text=_("A ZIP file made with “Export as archive”, of at most 2 GB."),
    )


class TakeInForm(forms.Form):
    """Under which short name a checked archive is taken in."""

    slug = forms.SlugField(
        label=_("Short name of the new collection"),
        max_length=80,
        help_text=_("It stands in the collection's address. Letters, digits and hyphens."),
    )
