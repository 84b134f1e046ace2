"""What a webhook can be told of: events of the audit trail, under the trail's own names."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workbench.audit.actions import Action
from workbench.infra.addresses import public_address

#: Sent when a person asks for a test; nobody subscribes to it.
TEST = "webhook.test"


@dataclass(frozen=True, slots=True)
class EventKind:
    """An action of the trail; ``page`` and ``resource`` name the addresses of its object, for people and programs.

    ``of_installation``: it belongs to no collection, and every collection's webhooks may be told.
    """

    label: str | Promise
    page: str
    resource: str = ""
    of_installation: bool = False


EVENTS: dict[str, EventKind] = {
    Action.DOCUMENT_READY: EventKind(_("a document is ready"), "documents:document", "api:document-detail"),
    Action.DOCUMENT_FAILED: EventKind(
        _("a document could not be read"), "documents:document", "api:document-detail"
    ),
    Action.RUN_FINISHED: EventKind(_("a question is answered"), "questions:run", "api:run-detail"),
    Action.RUN_FAILED: EventKind(_("a run failed"), "questions:run", "api:run-detail"),
    Action.RUN_SIGNED: EventKind(
        _("the review of a run is finished and signed"), "questions:run", "api:run-detail"
    ),
    Action.RUN_TEXT_CHANGED: EventKind(
        _("a new version changed the text of a signed run"), "questions:run", "api:run-detail"
    ),
    Action.RUN_REOPENED: EventKind(_("a signed run is in review again"), "questions:run", "api:run-detail"),
    Action.QUESTION_SET_FINISHED: EventKind(
        _("a round of a question set is finished"), "question_sets:round", "api:round-detail"
    ),
    Action.EXPORT_MADE: EventKind(_("an export is ready"), "exports:export", "api:export-detail"),
    Action.EXPORT_FAILED: EventKind(_("an export could not be made"), "exports:export", "api:export-detail"),
    Action.TRAINING_DECIDED: EventKind(
        _("the gate decided on a trained model"), "models:training", of_installation=True
    ),
}


def addresses_of(*, action: str, object_id: str) -> dict[str, str]:
    """Where the object of an event is found: ``url`` for people, ``api_url`` for programs. Paths only where the
    installation has no PUBLIC_URL."""
    kind = EVENTS[action]
    named = {"url": kind.page, "api_url": kind.resource}
    return {key: public_address(reverse(name, args=[object_id])) for key, name in named.items() if name}


def labels() -> list[tuple[str, str | Promise]]:
    """Choices for forms."""
    return [(name, kind.label) for name, kind in EVENTS.items()]
