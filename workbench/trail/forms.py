"""The filter of the trail page, as its address carries it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from workbench.documents.models import Collection

from .selectors import TrailFilter

#: The choice "no collection": no slug looks like this.
INSTALLATION = "~"


class TrailFilterForm(forms.Form):
    """Reads and checks the filter; days are days in UTC."""

    collection = forms.ChoiceField(label=_("Collection"), required=False)
    action = forms.CharField(label=_("Action begins with"), required=False, max_length=80)
    actor = forms.CharField(label=_("Who"), required=False, max_length=254)
    object_type = forms.CharField(label=_("Kind of object"), required=False, max_length=40)
    object_id = forms.CharField(label=_("Object id"), required=False, max_length=80)
    since = forms.DateField(label=pgettext_lazy("dates", "From"), required=False)
    until = forms.DateField(label=_("To, included"), required=False)
    request_id = forms.CharField(label=_("Request"), required=False, max_length=64)
    before = forms.IntegerField(required=False, min_value=1)
    after = forms.IntegerField(required=False, min_value=0)

    #: The fields that people see; the cursors are in links only.
    SHOWN = ("collection", "action", "actor", "object_type", "object_id", "since", "until", "request_id")

    #: Those of them that are folded until one is wanted.
    SELDOM = ("object_type", "object_id", "request_id")

    def __init__(self, data: Any, *, collections: Sequence[Collection], is_staff: bool) -> None:
        super().__init__(data)
        self._collections = {collection.slug: collection for collection in collections}
        self.fields["collection"].choices = [
            ("", _("all")),
            *((collection.slug, collection.name) for collection in collections),
            *([(INSTALLATION, _("installation"))] if is_staff else []),
        ]

    @property
    def names_unknown_collection(self) -> bool:
        """Whether the address names a collection that this person knows nothing of."""
        return "collection" in self.errors

    def to_filter(self) -> TrailFilter:
        """The filter of the fields that are right."""
        clean = self.cleaned_data
        return TrailFilter(
            collection=self._collections.get(clean.get("collection", "")),
            installation_only=clean.get("collection") == INSTALLATION,
            action=clean.get("action", ""),
            actor=clean.get("actor", ""),
            object_type=clean.get("object_type", ""),
            object_id=clean.get("object_id", ""),
            since=_start_of(clean.get("since")),
            until=_start_of(_day_after(clean.get("until"))),
            request_id=clean.get("request_id", ""),
        )


def _start_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time.min, tzinfo=UTC) if day else None


def _day_after(day: date | None) -> date | None:
    return min(day, date.max - timedelta(days=1)) + timedelta(days=1) if day else None
