"""A watched folder of tests, and a worker for it in this process."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db.models import F
from django.db.models.functions import Now

from tests.workbench.cast import Cast
from workbench.sources.looking import source_look
from workbench.sources.models import Source, SourceFile
from workbench.sources.services import source_create


def watched(cast: Cast, settings: Any, folder: Path) -> Source:
    """Alpha takes in what lies in the folder."""
    settings.SOURCE_FOLDERS = [folder.parent]
    folder.mkdir(exist_ok=True)
    return source_create(
        actor=cast.admin, collection=cast.alpha, kind="folder", name="In", settings={"folder": str(folder)}
    )


def later() -> None:
    """Time passes: sources are due, what waits has stayed the same, leases of the dead have lapsed."""
    SourceFile.objects.update(at=F("at") - timedelta(seconds=10))
    Source.objects.update(next_look_at=Now() - timedelta(seconds=1), lease_owner="", lease_until=None)


def look(source: Source, times: int = 1) -> None:
    """A worker looks so many times."""
    for _ in range(times):
        later()
        source_look(source_id=source.pk)
    source.refresh_from_db()
