"""Stored API responses, so that a repeated request changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .models import IdempotentRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.audit.models import AuditEvent


def answers_forget(events: Sequence[AuditEvent]) -> None:
    """Forgets people's stored responses when they leave a collection, because a response may be from that collection.
    Repeated requests are still not executed twice."""
    IdempotentRequest.objects.filter(user__in=[event.object_id for event in events]).update(body=None)
