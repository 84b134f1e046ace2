"""``make bench SIZE=cluster``: a Citus cluster that grows from one to three workers, at two sizes.

The corpus is loaded once onto a coordinator and one worker; a second and a third worker join by ``manage.py distribute
--rebalance``. Before each, the same questions are measured: the search of vectors, BM25, and the whole question with
``offline``. All nodes share this machine: more of them have no more processors, memory or disks.

What the product does otherwise: texts, sections and vectors are written by COPY in batches, neither parsed nor
embedded; there are no pages and no token vectors; the vectors' index is built after the load, as for a new encoder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from tests.bench.__main__ import report, table
from tests.bench.registry import Figure
from tests.cluster.nodes import Cluster, engine_here

ROOT = Path(__file__).resolve().parent.parent.parent
SIZES, WORKERS = (200_000, 1_000_000), 3
#: Six shards lie evenly on one, two and three workers.
SHARDS = 6
#: As for servers of their own, but for their memory, which is one machine's. Without a session kept for each shard, a
#: statement opens new ones: 25 instead of 4 ms.
SETTINGS = f"""
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_preload_libraries = 'citus,pg_textsearch'
wal_level = logical
max_connections = 150
max_prepared_transactions = 150
dynamic_shared_memory_type = mmap
shared_buffers = 2GB
effective_cache_size = 8GB
maintenance_work_mem = 512MB
max_parallel_maintenance_workers = 0
max_wal_size = 8GB
checkpoint_timeout = 30min
citus.shard_count = {SHARDS}
citus.max_cached_conns_per_worker = {SHARDS}
citus.local_hostname = '127.0.0.1'
"""
#: Real passages that the corpus is made of, those that answer so many questions first; questions asked each way.
TEXTS, ANSWERED, QUESTIONS, WARM_UP, TOP = 2_000, 450, 100, 15, 50
WAYS = ("vectors", "bm25", "question")
#: Measured between them, as nodes do not change it: how busy the machine is.
BESIDE = "embedding"
#: Processes that write words, as workers do.
WRITERS = 2
Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Stage:
    """Milliseconds with so many workers: p50 and p95 by way; and what was found, compared with one worker."""

    workers: int
    passages: int
    times: dict[str, tuple[float, float]]
    shards: list[int]
    overlap: dict[str, float]
    rebalance_seconds: float
    load: float


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when all was measured, or when there is nothing to build the engine from."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.cluster", description=__doc__)
    parser.add_argument("passages", nargs="*", type=int, default=SIZES, help="default: 200000 1000000")
    parser.add_argument(
        "--json", type=Path, default=Path("var/bench-cluster.json"), help="where the report goes"
    )
    options = parser.parse_args(arguments)
    programs = engine_here(ROOT)
    if programs is None:
        return 0
    if len(options.passages) > 1:  # Django knows one database for the life of a process
        for size in options.passages:
            target = options.json.with_stem(f"{options.json.stem}-{size}")
            command = [sys.executable, "-m", "tests.bench.cluster", str(size), "--json", str(target)]
            subprocess.run(command, cwd=ROOT, check=True)
        return 0
    with tempfile.TemporaryDirectory(prefix="workbench-cluster-") as scratch:
        cluster = Cluster.make(programs, Path(scratch) / "nodes", workers=1, settings=SETTINGS)
        try:
            figures: list[Figure] = []
            for figure in _measured(cluster, Path(scratch) / "home", options.passages[0]):
                figures.append(figure)  # what was measured is not lost with what follows
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps(report({"cluster": figures}, [], "full"), indent=2) + "\n")
        finally:
            cluster.stop()
    print(table({"cluster": figures}))
    print(f"\nwritten to {options.json}")
    return 0


def _measured(cluster: Cluster, home: Path, passages: int) -> Iterator[Figure]:
    owner = cluster.prepare(ROOT, home)
    os.environ |= owner | {"TEST_DATABASE_URL": owner["DATABASE_URL"], "SEARCH_BACKEND": "database"}
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.test")
    import django

    django.setup()
    from django.db import connections

    for each in connections.settings.values():
        each["CONN_MAX_AGE"] = 60  # as in production

    questions, texts = _obliqa()
    bench = _Bench(questions)
    yield from bench.load(texts, passages)
    first: Stage | None = None
    for workers in range(1, WORKERS + 1):
        seconds = _grow(cluster) if workers > 1 else 0.0
        stage = bench.stage(workers, seconds)
        print(json.dumps(asdict(stage)), flush=True)
        first = first or stage
        yield from _figures(stage, first)


def _grow(cluster: Cluster) -> float:
    cluster.add()
    started = time.perf_counter()
    subprocess.run([sys.executable, "manage.py", "distribute", "--rebalance"], cwd=ROOT, check=True)
    return time.perf_counter() - started


def _figures(stage: Stage, first: Stage) -> Iterator[Figure]:
    at = f"{stage.passages:,} passages, {stage.workers} worker{'s' if stage.workers > 1 else ''}"
    for way, (p50, p95) in stage.times.items():
        yield Figure(f"{way}, {at}: p50", p50, "ms")
        yield Figure(f"{way}, {at}: p95", p95, "ms")
        if stage is not first:
            ratio = p50 / first.times[way][0]
            yield Figure(f"{way}, {at}: p50 over one worker", ratio, "x", beside=_beside(stage, first))
    for way, share in stage.overlap.items():
        least = 0.95 if way == "vectors" and stage is not first else None
        beside = "of what one worker found" if stage is not first else "of the exact nearest"
        yield Figure(f"{way}, {at}: found", share, "", least, "at least" if least else None, beside)
    if stage is not first:
        yield Figure(f"rebalance, {at}", stage.rebalance_seconds, "s", beside=f"shards {stage.shards}")


def _beside(stage: Stage, first: Stage) -> str:
    slower = stage.times[BESIDE][0] / first.times[BESIDE][0]
    return f"an embedding {slower:.2f} x; load {first.load:.1f}, now {stage.load:.1f}"


def _obliqa() -> tuple[list[str], list[str]]:
    """Questions, and passages: first those that answer them."""
    from tests.bench.recombined import SHORTEST, words_of

    folder = Path(os.environ.get("WORKBENCH_TEST_DATA", ROOT.parent / "shared" / "data")) / "obliqa"
    every = {
        (int(row["DocumentID"]), row["PassageID"]): row["Passage"]
        for path in sorted((folder / "docs").glob("*.json"))
        for row in json.loads(path.read_text())
        if len(words_of(row["Passage"])) >= SHORTEST
    }
    labels = [json.loads(line) for line in (folder / "labels.jsonl").open()][:ANSWERED]
    answers = [(item["document_id"], item["passage_id"]) for label in labels for item in label["evidence"]]
    chosen = dict.fromkeys(key for key in answers if key in every)
    rng = np.random.default_rng(5)
    keys = list(every)
    chosen |= dict.fromkeys(keys[place] for place in rng.permutation(len(keys)))
    questions = [label["question"] for label in labels][: len(WAYS) * (QUESTIONS + WARM_UP)]
    return questions, [every[key] for key in list(chosen)[:TEXTS]]


class _Bench:
    def __init__(self, questions: Sequence[str]) -> None:
        from workbench.accounts.models import MemberRole, Membership, User
        from workbench.documents.embedding import active_space, current_embedder
        from workbench.documents.models import Collection

        self._person = User.objects.create(email="bench@example.org", name="Bench")
        self._collection = Collection.objects.create(slug="bench", name="Bench")
        for role in (MemberRole.ADMIN, MemberRole.ANALYST):
            Membership.objects.create(user=self._person, collection=self._collection, role=role)
        self._space, self._encoder = active_space(), current_embedder()
        # Each question is asked one way only: what came second would find its pages in memory.
        self._asked = {way: list(questions[place::3]) for place, way in enumerate(WAYS)}
        self._vectors = dict(
            zip(self._asked["vectors"], self._encoder.embed(self._asked["vectors"]), strict=True)
        )
        self._found: dict[tuple[str, str], set[int]] = {}

    def load(self, texts: Sequence[str], passages: int) -> Iterator[Figure]:
        """Writes the corpus and its indexes."""
        from django.db import connections

        from tests.bench.recombined import RealLanguage, RecombinedCorpus
        from workbench.documents.bm25_indexes import indexes_drop
        from workbench.documents.lexical_database import document_write, documents_lacking
        from workbench.documents.search_moving import indexes_ensure

        corpus = RecombinedCorpus(
            self._collection, self._space, self._person,
            language=RealLanguage(texts=texts), vectors=self._embedded(texts),
        )  # fmt: skip
        corpus.grow(passages)
        self.passages = passages
        indexes_drop()
        started = time.perf_counter()
        lacking = documents_lacking()
        connections.close_all()
        with ProcessPoolExecutor(WRITERS, multiprocessing.get_context("fork")) as writers:
            if not all(writers.map(document_write, lacking, chunksize=10)):
                raise RuntimeError("the words of a document were not written")
        corpus.seconds["words"] = time.perf_counter() - started
        started = time.perf_counter()
        indexes_ensure()
        corpus.seconds["BM25 index"] = time.perf_counter() - started
        for name, seconds in corpus.seconds.items():
            if name.endswith("index"):
                yield Figure(f"{name} of {passages:,} passages", seconds, "s")
            else:
                yield Figure(f"{name} of {passages:,} passages written", passages / seconds, "a second")
            print(f"{name}: {seconds:.1f} s", flush=True)

    def _embedded(self, texts: Sequence[str]) -> Vector:
        """Kept from one size to the next: a minute or two of the encoder."""
        key = hashlib.sha256("\n".join([self._space.name, *texts]).encode()).hexdigest()[:12]
        kept = ROOT / "var" / f"bench-texts-{key}.npy"
        if not kept.is_file():
            vectors = np.concatenate(
                [self._encoder.embed(texts[n : n + 32]) for n in range(0, len(texts), 32)]
            )
            kept.parent.mkdir(exist_ok=True)
            np.save(kept, vectors)
        return np.asarray(np.load(kept))

    def stage(self, workers: int, rebalance_seconds: float) -> Stage:
        """The questions in turn, so that the machine's other work falls on all ways alike."""
        from django.db import connection

        from workbench.documents import lexical_database
        from workbench.documents.distribution import SPREAD, nodes

        with connection.cursor() as cursor:
            for name in SPREAD:  # as autovacuum does within minutes
                cursor.execute(f"VACUUM ANALYZE {name}")
        lexical_database._indexes.clear()  # each number of workers counts its words anew
        works: dict[str, Callable[[str], set[int]]] = {
            "vectors": self._nearest, "bm25": self._words, "question": self._question
        }  # fmt: skip
        spent: dict[str, list[float]] = {way: [] for way in (*WAYS, BESIDE)}
        shares: dict[str, list[float]] = {"vectors": [], "bm25": []}
        with patch("workbench.infra.dispatch.dispatch", lambda *args, **kwargs: True):
            for number, asked in enumerate(zip(*self._asked.values(), strict=True)):
                started = time.perf_counter()
                self._encoder.embed([asked[0]])
                spent[BESIDE].append(1000 * (time.perf_counter() - started))
                for way, text in zip(WAYS, asked, strict=True):
                    started = time.perf_counter()
                    found = works[way](text)
                    if number < WARM_UP:
                        continue
                    spent[way].append(1000 * (time.perf_counter() - started))
                    if way in shares:
                        before = self._found.setdefault((way, text), found)
                        shares[way].append(len(found & before) / len(before))
        overlap = {way: sum(values) / len(values) for way, values in shares.items()}
        if workers == 1:
            overlap = {"vectors": self._recall()}
        points = {
            way: (float(np.quantile(each, 0.5)), float(np.quantile(each, 0.95)))
            for way, each in spent.items()
        }
        return Stage(
            workers, self.passages, points, sorted(node.shards for node in nodes()), overlap,
            rebalance_seconds, os.getloadavg()[0],
        )  # fmt: skip

    def _store(self) -> Any:
        from workbench.documents.store import DatabaseCandidateStore

        return DatabaseCandidateStore(collection=self._collection, space=self._space)

    def _nearest(self, text: str) -> set[int]:
        return {row.passage_id for row in self._store().vector([self._vectors[text]], limit=TOP)}

    def _words(self, text: str) -> set[int]:
        from arbitration.text import exact_codes

        return {row.passage_id for row in self._store().lexical(text, exact=exact_codes(text), limit=TOP)}

    def _question(self, text: str) -> set[int]:
        from workbench.runs.execution import run_answer, run_arbitrate, run_detect
        from workbench.runs.models import RunStatus
        from workbench.runs.services import question_ask

        run = question_ask(
            actor=self._person, collection=self._collection, text=text, strategy="offline", use_cache=False
        ).run
        for stage in (run_detect, run_arbitrate, run_answer):
            stage(run_id=run.pk)
        run.refresh_from_db()
        if run.status != RunStatus.DONE:
            raise RuntimeError(f"{text}: {run.status} {run.failure_reason}")
        return set()

    def _recall(self, sample: int = 10) -> float:
        """Share of the exact nearest that the index found."""
        shares = []
        for text in self._asked["vectors"][WARM_UP : WARM_UP + sample]:
            exact = {
                row.passage_id for row in self._store()._nearest(self._vectors[text], limit=TOP, exact=True)
            }
            shares.append(len(exact & self._found["vectors", text]) / len(exact))
        return sum(shares) / len(shares)


if __name__ == "__main__":
    sys.exit(main())
