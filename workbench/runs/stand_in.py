"""The note on a run page if rules and reranker decided in place of a language model."""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from .models import Run

_WHY = {
    "timeout": gettext_lazy("It did not answer in time."),
    "connection": gettext_lazy("It could not be reached."),
    "server_error": gettext_lazy("Its server failed."),
    "circuit_open": gettext_lazy("It failed too often just before."),
    "rate_limited": gettext_lazy("It took no more requests."),
    "bad_request": gettext_lazy("It refused the request."),
    "budget": gettext_lazy("The budget is used up."),
    "stopped": gettext_lazy("Language models were stopped."),
    "not_allowed": gettext_lazy("This collection does not allow its endpoint."),
    "refused": gettext_lazy("It declined to answer."),
    "cut_off": gettext_lazy("Its answer was cut off."),
}


def stand_in_of(run: Run) -> dict[str, Any] | None:
    """How many candidates were decided without the model, how many wait, and why; None if it answered."""
    said = run.artefacts.get("stand_in")
    if not said:
        return None
    found: dict[str, Any] = json.loads(said)
    return found | {"why": _WHY.get(found["outcome"], _("Its answer could not be read."))}
