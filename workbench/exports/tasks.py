"""Tasks of exports."""

from __future__ import annotations

from celery import shared_task

from workbench.infra.dispatch import dispatch

from .services import export_make, exports_remove_old, exports_to_wake


@shared_task(name="exports.make")
def make(*, export_id: int) -> None:
    export_make(export_id=export_id)


@shared_task(name="exports.sweep")
def sweep() -> int:
    """Wakes a worker for each export whose message was lost, removes old ones; returns how many were woken."""
    exports_remove_old()
    return sum(dispatch(make, export_id=pk) for pk in exports_to_wake())
