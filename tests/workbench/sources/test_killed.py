"""kill -9 in the middle of a look: what came in before stays, the rest comes in after, nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.product import ROOT
from tests.workbench.cast import Cast
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document
from workbench.settings import celery, sources
from workbench.sources.looking import SETTLED_AFTER
from workbench.sources.models import FileState, Source, SourceFile

from .watched import later, look, watched

#: A worker that dies by kill -9: before or after it commits its n-th file.
WORKER = """
import os, signal, sys
import django
django.setup()
from django.db import transaction
from workbench.infra import dispatch
from workbench.sources import looking

dispatch.dispatch = lambda *a, **k: True
moment, number = sys.argv[2], int(sys.argv[3])
take, write, move, done, written = looking._take, looking._write_down, looking._move, [0], [False]

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def taken(*given, **named):
    take(*given, **named)
    done[0] += 1
    if moment == "after" and done[0] == number:
        die()

def written_down(*given, **named):
    write(*given, **named)
    written[0] = True

def moved(*given, **named):
    move(*given, **named)
    if moment == "before" and written[0] and done[0] == number - 1:
        die()

looking._take, looking._write_down, looking._move = taken, written_down, moved
looking.source_look(source_id=int(sys.argv[1]))
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("moment", "number"), [("before", 1), ("after", 1), ("before", 2), ("after", 3)])
def test_each_file_is_a_document_once(
    cast: Cast, here: None, settings: Any, tmp_path: Path, moment: str, number: int
) -> None:
    source = watched(cast, settings, tmp_path / "in")
    for name in ("a", "b", "c"):
        (tmp_path / "in" / f"{name}.txt").write_text(f"text of {name}")
    look(source)
    assert SourceFile.objects.filter(state=FileState.WAITING).count() == 3
    later()

    values = connection.settings_dict
    address = (
        f"postgres://{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT']}/{values['NAME']}"
    )
    ended = subprocess.run(
        [sys.executable, "-c", WORKER, str(source.pk), moment, str(number)],
        cwd=ROOT,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "workbench.settings.test",
            "TEST_DATABASE_URL": address,
            "SOURCE_FOLDERS": str(tmp_path),
            "WORKBENCH_HOME": str(tmp_path),
            "WORKBENCH_MEDIA_ROOT": str(tmp_path / "files"),
        },
        timeout=120,
        check=False,
        capture_output=True,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    assert Document.objects.count() == (number if moment == "after" else number - 1)
    assert Source.objects.get().lease_owner, "it died with the lease in its hand"

    look(source, 2)
    assert sorted(Document.objects.values_list("name", flat=True)) == ["a.txt", "b.txt", "c.txt"]
    assert list(SourceFile.objects.values_list("state", "is_duplicate")) == [(FileState.TAKEN, False)] * 3
    assert AuditEvent.objects.filter(action="document.uploaded").count() == 3


def test_the_minute_holds_also_after_a_kill() -> None:
    """A file that comes right after a look, may still be written at the next, and whose worker is killed while it takes
    the file in or reads it: each step at its slowest, by the settings that are shipped."""
    beats = celery.CELERY_BEAT_SCHEDULE
    sweep = beats["sweep-sources"]["schedule"]
    noted = sources.SOURCE_SECONDS + sweep
    taken = noted + SETTLED_AFTER.total_seconds() + sweep
    killed_taking = taken + celery.LEASE_SECONDS + sweep
    killed_reading = taken + celery.LEASE_SECONDS + beats["sweep-documents"]["schedule"]
    for_reading = 5
    assert taken + for_reading < 30
    assert max(killed_taking, killed_reading) + for_reading <= 60
