"""What runs offer to the apps below: the trail and the vocabulary keep what rests on a run from whom it is hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.audit.withholding import withhold
from workbench.synonyms.origins import origins_open

from .restrictions import runs_open_to
from .withholding import events_hidden

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import Q

    from workbench.accounts.models import User


def _origin_open(user: User | AnonymousUser) -> Q:
    return runs_open_to(user, "proposed_from__run")


withhold(events_hidden)
origins_open(_origin_open)
