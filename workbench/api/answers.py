"""Answers that the API keeps, so that a repeated request changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .models import IdempotentRequest

if TYPE_CHECKING:
    from workbench.audit.models import AuditEvent


def answers_forget(event: AuditEvent) -> None:
    """They may be of the collection that the person has just left; what the requests did is still not done twice."""
    IdempotentRequest.objects.filter(user=event.object_id).update(body=None)
