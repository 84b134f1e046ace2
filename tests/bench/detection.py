"""From a question to its result without a language model, as the corpus grows, beside the bare searches below it.

The pipeline runs in one process on the product's own store: parse, detect, aggregate, arbitrate, assemble. In the same
loop, for other questions: pgvector's 50 nearest, tantivy's 50 best, and one embedding, each by itself.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arbitration.pipeline import arbitrate, assemble, detect
from arbitration.protocols import Embedder
from arbitration.settings import EngineSettings
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import get_strategy
from tests.bench.corpora import Corpus
from tests.bench.registry import Figure, Size, measurement

SIZES = {"quick": (2_000, 20_000), "full": (2_000, 20_000, 200_000, 1_000_000)}
QUESTIONS = {"quick": 95, "full": 155}
STRATEGIES = ("offline", "rrf")
TOP = 50
#: Asked of the vector index beforehand. Its pages were pushed out of memory by what was written, and read for the
#: lexical index, and each question walks over other pages: without this the server is measured as in its first minute.
OTHERS = 400
#: The growth of the last run, from which ``python -m tests.bench.growth`` draws.
GROWTH = Path("var/growth.json")


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds at one size: of the pipeline by strategy, and of what it is measured beside."""

    passages: int
    pipeline: dict[str, tuple[float, float]]  # p50, p95
    bare: dict[str, tuple[float, float]]
    recall: float

    @property
    def bare_p50(self) -> float:
        """The sum of the bare searches."""
        return sum(p50 for p50, _ in self.bare.values())


@measurement("detection", needs_services=True)
def measure(size: Size) -> Iterator[Figure]:
    """p50 and p95 at each size, and how they grow."""
    grown: list[Times] = []
    for times in measured(SIZES[size], QUESTIONS[size]):
        grown.append(times)
        GROWTH.parent.mkdir(parents=True, exist_ok=True)
        GROWTH.write_text(json.dumps([asdict(item) for item in grown]) + "\n", encoding="utf-8")
        yield from _figures(times)
    by_size = {times.passages: times.pipeline["offline"] for times in grown}
    if 1_000_000 in by_size:
        ratio = by_size[1_000_000][0] / by_size[20_000][0]
        yield Figure("p50 at 1,000,000 over p50 at 20,000", ratio, "x", 4.0, "at most")


def _figures(times: Times) -> Iterator[Figure]:
    at = f"{times.passages:,} passages"
    beside = ", ".join(f"{name} {p50:.1f} ms" for name, (p50, _) in times.bare.items())
    most = {200_000: 80.0, 1_000_000: 150.0}.get(times.passages)
    for name, (p50, p95) in times.pipeline.items():
        yield Figure(f"{name}, {at}: p50", p50, "ms", beside=beside)
        yield Figure(f"{name}, {at}: p95", p95, "ms", most, "at most" if most else None)
    ratio = times.pipeline["offline"][0] / times.bare_p50
    yield Figure(f"p50 over the bare searches, {at}", ratio, "x", 3.0, "at most", beside)
    yield Figure(f"recall@{TOP} of the vector index, {at}", times.recall, beside="against the exact search")


def measured(sizes: Sequence[int], questions: int) -> Iterator[Times]:
    """The same corpus, grown step by step."""
    corpus = new_corpus()
    for passages in sizes:
        corpus.grow(passages)
        asked = corpus.questions(questions)
        bench = _Bench(corpus, dict(asked))
        started = time.perf_counter()
        bench.pipeline(asked[0][0], "offline")
        print(f"{passages}: lexical index {time.perf_counter() - started:.1f} s", flush=True)
        bench.wake_up(corpus.questions(OTHERS, batch=1))
        yield bench.times([text for text, _ in asked])


def new_corpus() -> Corpus:
    """An empty collection to write to."""
    from workbench.accounts.models import User
    from workbench.documents.embedding import active_space
    from workbench.documents.services import collection_create

    actor = User.objects.system()
    slug = f"bench-{time.time_ns()}"
    return Corpus(collection_create(actor=actor, name=slug, slug=slug), active_space(), actor)


#: What is embedded in the place of a question: made-up words fall into more pieces than those of a real one.
STAND_IN = (
    "Which records of suppliers must be kept under the contract, and when is the annual payment due for them?"
)


class PreparedEmbedder:
    """Does the work of embedding a real question, and gives the vector that belongs to the made-up one."""

    def __init__(self, inner: Embedder, known: dict[str, npt.NDArray[np.float32]]) -> None:
        self._inner, self._known = inner, known
        self.space, self.width = inner.space, inner.width
        self.asked = 0

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """The work of embedding, and the prepared vectors where there are some."""
        self.asked += len(texts)
        made = self._inner.embed([STAND_IN if text in self._known else text for text in texts])
        return np.stack([self._known.get(text, vector) for text, vector in zip(texts, made, strict=True)])


class _Bench:
    def __init__(self, corpus: Corpus, vectors: dict[str, npt.NDArray[np.float32]]) -> None:
        from workbench.documents.embedding import current_embedder

        self._corpus, self._vectors = corpus, vectors
        self._encoder = current_embedder()
        self._embedder = PreparedEmbedder(self._encoder, vectors)
        self._services = StrategyServices()

    def times(self, questions: Sequence[str]) -> Times:
        """Some questions to warm up, then all ways in turn, so that the machine's other work falls on all alike."""
        from workbench.celery import set_aside_what_stays

        set_aside_what_stays()  # as in a worker
        works = self._works()
        for text in questions[:5]:
            for work in works.values():
                work(text)
        # Each question is asked one way only: what came second would find its pages in memory.
        ways = [["offline"], ["pgvector", "tantivy", "embedding"], ["rrf"]]
        spent: dict[str, list[float]] = {name: [] for name in works}
        for number, text in enumerate(questions[5:]):
            for name in ways[number % len(ways)]:
                started = time.perf_counter()
                works[name](text)
                spent[name].append(1000 * (time.perf_counter() - started))
        points = {name: _points(values) for name, values in spent.items()}
        return Times(
            passages=self._corpus.passages,
            pipeline={name: points[name] for name in STRATEGIES},
            bare={name: point for name, point in points.items() if name not in STRATEGIES},
            recall=self._recall(questions),
        )

    def wake_up(self, others: Sequence[tuple[str, npt.NDArray[np.float32]]]) -> None:
        """Looks for the neighbours of other questions, and says how the first and the last of them went."""
        self._vectors.update(others)
        spent = []
        for text, _ in others:
            started = time.perf_counter()
            self._nearest(text)
            spent.append(1000 * (time.perf_counter() - started))
        tenth = len(spent) // 10
        first, last = np.median(spent[:tenth]), np.median(spent[-tenth:])
        print(
            f"{self._corpus.passages}: pgvector, the first {tenth} {first:.1f} ms, the last {last:.1f} ms",
            flush=True,
        )

    def _works(self) -> dict[str, Callable[[str], object]]:
        return {
            "offline": lambda text: self.pipeline(text, "offline"),
            "pgvector": lambda text: self._nearest(text),
            "tantivy": self._words,
            "embedding": lambda text: self._encoder.embed([STAND_IN]),
            "rrf": lambda text: self.pipeline(text, "rrf"),
        }

    def pipeline(self, text: str, strategy: str) -> object:
        """A question to its RetrievalResult, with a store of its own as every run has."""
        from workbench.documents.store import DatabaseCandidateStore

        store = DatabaseCandidateStore(collection=self._corpus.collection, space=self._corpus.space)
        pool = detect(question=text, store=store, embedder=self._embedder, settings=EngineSettings())
        decision = arbitrate(pool=pool, strategy=get_strategy(strategy), services=self._services)
        return assemble(pool=pool, decision=decision)

    def _nearest(self, text: str, *, exact: bool = False) -> list[int]:
        """pgvector by itself: the keys of the nearest passages."""
        from django.db import connection
        from pgvector import HalfVector

        from workbench.documents.store import IN_SIGHT

        with connection.cursor() as cursor:
            cursor.execute(f"SET hnsw.ef_search = {IN_SIGHT}")
            if exact:
                cursor.execute("SET enable_indexscan = off")
            cursor.execute(
                "SELECT passage_id FROM documents_passagevector"
                f" WHERE space_id = {self._corpus.space.pk}"
                f" ORDER BY embedding::halfvec(384) <=> %s::halfvec(384) LIMIT {TOP}",
                [HalfVector(self._vectors[text]).to_text()],
            )
            found = [row[0] for row in cursor.fetchall()]
            if exact:
                cursor.execute("RESET enable_indexscan")
            return found

    def _words(self, text: str) -> Any:
        """tantivy by itself: the addresses of the best passages."""
        import tantivy

        from workbench.documents.lexical import lexical_index
        from workbench.documents.term_queries import WORDS, index_words
        from workbench.documents.text_index import PASSAGE

        index = self._index = getattr(self, "_index", None) or lexical_index(self._corpus.collection)
        terms = [
            tantivy.Query.term_query(index._schema, WORDS, word)
            for word in dict.fromkeys(index_words(text, "en"))
        ]
        query = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        return index._searcher(PASSAGE).search(query, limit=TOP, count=False).hits

    def _recall(self, questions: Sequence[str], sample: int = 10) -> float:
        """Share of the exact nearest that the index finds too."""
        shares = []
        for text in questions[:sample]:
            exact = self._nearest(text, exact=True)
            shares.append(len(set(exact) & set(self._nearest(text))) / len(exact))
        return sum(shares) / len(shares)


def _points(values: Sequence[float]) -> tuple[float, float]:
    return float(np.quantile(values, 0.5)), float(np.quantile(values, 0.95))
