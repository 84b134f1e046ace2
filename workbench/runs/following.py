"""The progress of a run, for programs that follow it."""

from __future__ import annotations

from typing import Any

from workbench.accounts.memberships import roles_forget
from workbench.accounts.models import User
from workbench.infra.streams import Look

from .gateway import give_connection_back
from .models import Run


def run_look(*, user: User, pk: int) -> Look:
    """Reads the state of the run with the person's current rights. If they can no longer read it, nothing more is sent.
    Stages are only named: their figures or times would reveal what a blind reviewer must not know."""

    def look() -> tuple[dict[str, Any] | None, bool]:
        try:
            return seen()
        finally:
            give_connection_back()

    def seen() -> tuple[dict[str, Any] | None, bool]:
        roles_forget(user=user)
        is_active = User.objects.filter(pk=user.pk, is_active=True).exists()
        run = Run.objects.visible_to(user).filter(pk=pk).only("status", "stages").first()
        if run is None or not is_active:
            return None, True
        told = {"run": pk, "status": run.status, "stages": [stage["stage"] for stage in run.stages]}
        return told, run.is_ended

    return look
