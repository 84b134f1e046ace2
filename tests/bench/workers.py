"""One to four reading processes: workers of the queue ``ingest`` on one machine, which read the same real files.

Time is the database's, from the first claim to the last document that is ready; before that every process has read a
file, and so loaded its encoder. An encoder uses all cores: on one machine more processes gain what a single one leaves
idle. At the end one of two is killed with a document in hand, which the other takes over.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.detection import STAND_IN, new_corpus
from tests.bench.ingest import a_pdf
from tests.bench.registry import Figure, Size, measurement
from tests.product import ROOT, eventually

PROCESSES = (1, 2, 3, 4)
#: Every fifth file is read, or all; rounds go up and down the numbers in turn, and the best counts.
STEP, ROUNDS = {"quick": 5, "full": 1}, {"quick": 1, "full": 3}
#: Seconds between two looks at the leases, and about as many between two sweeps as beat leaves.
LOOK, SWEEP, EMBEDDINGS = 0.1, 5.0, 15
CELERY = "-m celery -q -A workbench.celery worker -Q ingest -P solo -c 1 -l ERROR --without-gossip --without-mingle"
Files = Sequence[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read; how often a document was claimed or ended once more; how many each process was seen with."""

    pages: int
    passages: int
    seconds: float
    twice: int
    seen: dict[int, int]


@measurement("workers", needs_services=True)
def measure(size: Size) -> Iterator[Figure]:
    """Pages a second by number of processes, over those of one; documents read twice; the work of one that died."""
    from workbench.documents.embedding import current_embedder

    folder = Path(os.environ.get("WORKBENCH_TEST_DATA", "../shared/data")) / "documents"
    paths = sorted(folder.glob("*/*"), key=lambda path: (-path.stat().st_size, path.name))[:: STEP[size]]
    if not paths:
        print(f"workers: no shared test data at {folder}; set WORKBENCH_TEST_DATA", file=sys.stderr)
        return
    files = [(path.name, path.read_bytes()) for path in paths]
    embed = partial(current_embedder().embed, [STAND_IN])
    embeddings = partial(timeit.repeat, embed, number=1, repeat=EMBEDDINGS)
    # Each reading with seconds of an embedding, before and after, while the workers are idle.
    found: dict[int, list[tuple[Reading, float]]] = {processes: [] for processes in PROCESSES}
    for number in range(ROUNDS[size]):
        for processes in PROCESSES if number % 2 == 0 else PROCESSES[::-1]:
            with _workers(processes):
                before, reading, after = embeddings(), _read(files), embeddings()
                found[processes].append((reading, statistics.median([*before, *after])))
            print(f"{processes}: {found[processes][-1]}", file=sys.stderr, flush=True)
    best = {processes: min(each, key=lambda one: one[0].seconds) for processes, each in found.items()}
    first, embedding = best[1]
    for processes, (one, beside) in best.items():
        told = f"{processes} process{'es' if processes > 1 else ''}"
        seen = f"{one.passages / one.seconds:.1f} passages; documents of each {sorted(one.seen.values())}"
        yield Figure(f"pages a second, {told}", one.pages / one.seconds, "1/s", beside=seen)
        slower = f"an embedding beside {1000 * beside:.1f} ms, {beside / embedding:.2f} x"
        yield Figure(f"{told} over one", first.seconds / one.seconds, "x", beside=slower)
    twice = sum(one.twice for each in found.values() for one, _ in each)
    yield Figure("documents read twice", twice, "", 0, "at most", f"of {len(files)}, in all readings")
    yield _taken_over(files)


@contextmanager
def _workers(number: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Worker processes that have loaded their encoder. One collection may occupy all of them."""
    own = {"DJANGO_SETTINGS_MODULE": "workbench.settings.dev", "WORKBENCH_INGEST_AT_ONCE": str(number + 1)}
    commands = [[sys.executable, *CELERY.split(), "-n", f"reader-{n}@%h"] for n in range(number)]
    running = [subprocess.Popen(command, cwd=ROOT, env=os.environ | own) for command in commands]
    try:
        cold = {one.pid for one in running}
        while cold:
            if any(one.poll() is not None for one in running):
                raise RuntimeError("a worker ended while it started")
            cold -= _read([(f"{n}.pdf", a_pdf(pages=1, seed=n)) for n in range(number)]).seen.keys()
        yield running
    finally:
        for one in running:
            one.kill()  # nothing is in hand any more, and a warm shutdown takes seconds
            one.wait()


def _read(files: Files, *, meanwhile: Callable[[Any], object] = lambda documents: None) -> Reading:
    """Uploads into a new collection, so that workers hear of all at once, and waits until all are ready."""
    from django.core.files.base import ContentFile
    from django.db import transaction

    from workbench.accounts.models import User
    from workbench.audit.models import AuditEvent
    from workbench.documents import services, tasks
    from workbench.documents.models import WORKING_STATUSES, Document

    # What other measurements left waiting would be read too.
    Document.objects.filter(status__in=WORKING_STATUSES).update(status="failed")
    actor, collection = User.objects.system(), new_corpus().collection
    with transaction.atomic():
        for name, content in files:
            file = ContentFile(content, name=name)
            services.document_upload(actor=actor, collection=collection, file=file, name=name)
    meanwhile(documents := Document.objects.filter(collection=collection))
    owners: set[str] = set()
    while documents.filter(status__in=WORKING_STATUSES).exists():
        owners.update(documents.exclude(lease_owner="").values_list("lease_owner", flat=True))
        time.sleep(LOOK)
        if time.monotonic() % SWEEP < LOOK:
            tasks.sweep()
    rows = list(documents.filter(status="ready"))
    if len(rows) < len(files):
        raise RuntimeError(f"all should be ready, not {len(rows)} of {len(files)}")
    ends = AuditEvent.objects.filter(action="document.ready", collection_id=collection.pk).count()
    ended = [row.finished_at.timestamp() for row in rows]
    pids = [int(owner.split(":")[1]) for owner in owners]
    return Reading(
        pages=sum(row.page_count for row in rows),
        passages=sum(row.passage_count for row in rows),
        seconds=max(ended) - min(end - row.seconds for end, row in zip(ended, rows, strict=True)),
        twice=max(ends, sum(row.attempts for row in rows)) - len(rows),
        seen={pid: pids.count(pid) for pid in pids},
    )


def _taken_over(files: Files) -> Figure:
    """One of two processes is killed with a document in hand: that one is claimed again, and no other."""

    def kill(documents: Any) -> None:
        held = documents.filter(status="embedding", lease_owner__contains=f":{running[0].pid}:")
        eventually(held.exists, what="it has a document in hand")
        running[0].kill()

    with _workers(2) as running:
        one = _read(files, meanwhile=kill)
    return Figure("claimed again as one of two died", one.twice, "", 1, "at most", f"in {one.seconds:.0f} s")
