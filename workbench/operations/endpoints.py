"""The configured language models: what is known of each, who asks it, and one tiny request to test it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic

import structlog
from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from arbitration.errors import LLMFailure
from workbench.accounts.models import User
from workbench.accounts.permissions import administers
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection
from workbench.errors import NotAllowed, WorkbenchError
from workbench.infra.model_endpoints import ModelEndpoint, is_local, model_endpoints
from workbench.runs.gateway import ModelChoice, endpoint_greet, model_choice
from workbench.runs.models import LLMCall
from workbench.runs.words import outcome_words

logger = structlog.get_logger(__name__)

#: How far back the ledger is read for a model's last call.
LOOKED_BACK = timedelta(days=30)
#: Collections named of each model.
MOST_COLLECTIONS = 12
#: What to do about a request without an answer, by its outcome.
_HELP = {
    "bad_request": gettext_lazy("Check the key and the name of the model."),
    "budget": gettext_lazy("Enter a price for the model, or raise the budget."),
    "connection": gettext_lazy("Check the address, and whether the server is up."),
    "rate_limited": gettext_lazy("Wait a minute and test again, or ask your provider for a higher limit."),
    "stopped": gettext_lazy("Resume language models on the Operations page."),
    "timeout": gettext_lazy("The server may be busy or still loading the model: test again in a minute."),
}


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model at an endpoint. ``last`` is its newest call of the last thirty days, ``collections`` the reader's
    that ask it now."""

    endpoint: ModelEndpoint
    model: str
    last: LLMCall | None
    collections: tuple[Collection, ...]

    @property
    def is_local(self) -> bool:
        """Whether it costs nothing a call."""
        return is_local(self.endpoint)

    @property
    def has_key(self) -> bool:
        return bool(self.endpoint.api_key)

    @property
    def last_words(self) -> str:
        """How the last call ended; empty where there was none."""
        return outcome_words(self.last.outcome) if self.last else ""

    @property
    def slugs(self) -> list[str]:
        return [collection.slug for collection in self.collections]

    @property
    def named(self) -> tuple[Collection, ...]:
        """As many collections as a page names."""
        return self.collections[:MOST_COLLECTIONS]

    @property
    def unnamed_count(self) -> int:
        """How many it does not name."""
        return len(self.collections) - len(self.named)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a request. ``said`` is the whole result in words."""

    is_answered: bool
    outcome: str
    said: str
    seconds: float


def known_models(*, user: User) -> list[KnownModel]:
    """Every model of every endpoint, with its last call and the user's collections that ask it. Three queries."""
    last, askers = _last_calls(), _askers(user)
    return [
        KnownModel(
            endpoint,
            model,
            last.get((endpoint.base_url[:200], model[:120])),
            tuple(askers.get((endpoint.name, model), ())),
        )
        for endpoint in model_endpoints()
        for model in endpoint.models
    ]


def _last_calls() -> Mapping[tuple[str, str], LLMCall]:
    lately = LLMCall.objects.filter(created_at__gte=Now() - LOOKED_BACK).order_by()
    newest = lately.values("endpoint", "model").annotate(last=Max("pk")).values_list("last", flat=True)
    return {(call.endpoint, call.model): call for call in LLMCall.objects.filter(pk__in=list(newest))}


def _askers(user: User) -> Mapping[tuple[str, str], list[Collection]]:
    """The collections that may send their text to the model that they ask."""
    found: dict[tuple[str, str], list[Collection]] = {}
    for collection in Collection.objects.visible_to(user).order_by("name"):
        choice = model_choice(collection)
        if choice is not None and choice.endpoint.base_url in collection.allowed_endpoints:
            found.setdefault((choice.endpoint.name, choice.model), []).append(collection)
    return found


def endpoint_try(*, actor: User, endpoint: str, model: str) -> Trial:
    """Asks a model to say hello, waits a few seconds at most, and says what came of it. On record.

    Raises :class:`NotAllowed` for anybody but an administrator of the installation, :class:`WorkbenchError` where no
    such model is configured.
    """
    if not administers(actor):
        raise NotAllowed(_("Only an administrator of the installation does this."))
    known = next((e for e in model_endpoints() if e.name == endpoint and model in e.models), None)
    if known is None:
        raise WorkbenchError(_("This endpoint or model is not configured."), code="model_unknown")
    began, failure = monotonic(), None
    try:
        endpoint_greet(ModelChoice(known, model))
    except LLMFailure as error:
        failure = error
        logger.warning("endpoint.trial_failed", endpoint=endpoint, outcome=error.outcome)
    trial = _trial(model, failure, round(monotonic() - began, 1))
    with transaction.atomic():
        audit_record(
            actor=actor,
            action=Action.ENDPOINT_TESTED,
            object_type="endpoint",
            object_id=endpoint,
            after={"endpoint": known.base_url, "model": model, "outcome": trial.outcome},
        )
    return trial


def _trial(model: str, failure: LLMFailure | None, seconds: float) -> Trial:
    if failure is None:
        said = _("%(model)s answered in %(seconds)s s.") % {"model": model, "seconds": seconds}
        return Trial(True, "ok", said, seconds)
    said = _("%(model)s did not answer: %(why)s.") % {"model": model, "why": outcome_words(failure.outcome)}
    return Trial(False, failure.outcome, f"{said} {_HELP.get(failure.outcome, '')}".strip(), seconds)
