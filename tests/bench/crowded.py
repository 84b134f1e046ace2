"""Whether one HNSW index over all collections is good enough for a collection beside a larger one of the same topics.

Of each question the product's own search should find the exact nearest fifty of the small collection: first alone,
then in one table and one index with a collection ten times its size. Both are recombined from the same real passages,
so that the nearest of all are mostly strangers. Each time the index is built after the load, as for a new encoder.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.bench.cluster import _obliqa
from tests.bench.registry import Figure, Size, measurement

#: Passages of the small collection: more than are searched one by one. The other one has so many times as many.
PASSAGES, TIMES = {"quick": 6_000, "full": 50_000}, 10
#: Real passages that both are made of.
TEXTS = {"quick": 400, "full": 2_000}
#: Measured questions; and others before them, as each walks over pages that were pushed out of memory by the load.
QUESTIONS, OTHERS, TOP = 50, 200, 50
LEAST_FOUND = 0.95
Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Search:
    """The share of the exact nearest that was found; milliseconds of the search and of an embedding, p50 and p95."""

    found: float
    search: tuple[float, float]
    embedding: tuple[float, float]
    strangers: int


@measurement("crowded", needs_services=True)
def measure(size: Size) -> Iterator[Figure]:
    """Found, p50 and p95, alone and crowded."""
    data = Path(os.environ.get("WORKBENCH_TEST_DATA", "../shared/data"))
    if not (data / "obliqa").is_dir():
        print(f"crowded: no shared test data at {data}; set WORKBENCH_TEST_DATA", file=sys.stderr)
        return
    passages = PASSAGES[size]
    bench = _Bench(TEXTS[size])
    bench.small.grow(passages)
    alone = bench.search()
    bench.large.grow(TIMES * passages)
    crowded = bench.search()
    yield from figures(alone, crowded, passages=passages)


def figures(alone: Search, crowded: Search, *, passages: int) -> Iterator[Figure]:
    """The figures of both."""
    for name, one in (("alone", alone), ("crowded", crowded)):
        told = f"{passages:,} passages, {name}"
        beside = f"beside {one.strangers:,} of other collections"
        least = LEAST_FOUND if one is crowded else None
        yield Figure(
            f"{told}: found", one.found, "", least, "at least" if least else None, f"of the exact {TOP}, {beside}"
        )  # fmt: skip
        yield Figure(f"{told}: p50", one.search[0], "ms", beside=f"an embedding {one.embedding[0]:.1f} ms")
        yield Figure(f"{told}: p95", one.search[1], "ms", beside=f"an embedding {one.embedding[1]:.1f} ms")
    slower = crowded.embedding[0] / alone.embedding[0]
    yield Figure(
        "p50 crowded over alone",
        crowded.search[0] / alone.search[0],
        "x",
        beside=f"an embedding {slower:.2f} x",
    )


class _Bench:
    """Two collections, and questions of the small one."""

    def __init__(self, texts: int) -> None:
        from tests.bench.detection import new_corpus
        from tests.bench.recombined import RealLanguage, RecombinedCorpus
        from workbench.documents.embedding import active_space, current_embedder

        self._encoder, self._space = current_embedder(), active_space()
        questions, passages = _obliqa()
        questions, passages = questions[: QUESTIONS + OTHERS], passages[:texts]
        vectors, self._vectors = self._embedded(passages), self._embedded(questions)
        self._questions, language = questions, RealLanguage(texts=passages)
        plain = [new_corpus() for _ in range(2)]
        self.small, self.large = (
            RecombinedCorpus(
                one.collection, one.space, one.actor, seed=seed, language=language, vectors=vectors
            )
            for seed, one in enumerate(plain, start=11)
        )

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        return np.concatenate([self._encoder.embed(texts[n : n + 32]) for n in range(0, len(texts), 32)])

    def search(self) -> Search:
        """The other questions first; then each question once, with an embedding of its text before it."""
        from workbench.documents.models import PassageVector

        store = self._store()
        for vector in self._vectors[QUESTIONS:]:
            store.vector([vector], limit=TOP)
        searches, embeddings, found = [], [], []
        for text, vector in zip(self._questions[:QUESTIONS], self._vectors[:QUESTIONS], strict=True):
            started = time.perf_counter()
            self._encoder.embed([text])
            embedded = time.perf_counter()
            rows = store.vector([vector], limit=TOP)
            searches.append(1000 * (time.perf_counter() - embedded))
            embeddings.append(1000 * (embedded - started))
            found.append({row.passage_id for row in rows})
        shares = [
            len(self._exact(store, vector) & rows) / TOP
            for vector, rows in zip(self._vectors[:QUESTIONS], found, strict=True)
        ]
        every = PassageVector.objects.filter(space=self._space).count()
        return Search(
            found=sum(shares) / len(shares),
            search=_points(searches),
            embedding=_points(embeddings),
            strangers=every - self.small.passages,
        )

    def _store(self) -> Any:
        from workbench.documents.store import DatabaseCandidateStore

        return DatabaseCandidateStore(collection=self.small.collection, space=self._space)

    def _exact(self, store: Any, vector: Vectors) -> set[int]:
        return {row.passage_id for row in store._nearest(vector, limit=TOP, exact=True)}


def _points(values: Sequence[float]) -> tuple[float, float]:
    return float(np.quantile(values, 0.5)), float(np.quantile(values, 0.95))
