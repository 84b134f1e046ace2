"""What the vectors of tokens cost: the same ingest and the same questions with them and without, in turn.

Without them the encoder gives a vector of each passage and nothing else, as an endpoint does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arbitration.detection import detect
from arbitration.protocols import Embedder
from arbitration.settings import EngineSettings
from tests.bench.detection import new_corpus
from tests.bench.ingest import a_pdf, ingested
from tests.bench.registry import Figure, Size, measurement

PAGES = {"quick": 20, "full": 100}
ROUNDS = {"quick": 3, "full": 4}
QUESTIONS = {"quick": 40, "full": 120}
_WARM_UP = 4


class PassagesOnly:
    """An encoder without the vectors of tokens."""

    def __init__(self, encoder: Embedder) -> None:
        self._encoder = encoder
        self.space, self.width = encoder.space, encoder.width

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """As the encoder's."""
        return self._encoder.embed(texts)


@measurement("tokens", needs_services=True)
def measure(size: Size) -> Iterator[Figure]:
    """The best of a few rounds of ingest; the median of the questions."""
    from workbench.documents.embedding import active_space, current_embedder

    encoder = current_embedder()
    ways: dict[str, Embedder] = {"with": encoder, "without": PassagesOnly(encoder)}
    collection = new_corpus().collection
    spent: dict[str, list[float]] = {name: [] for name in ways}
    texts: list[str] = []
    for number in range(ROUNDS[size] * len(ways)):
        name = list(ways)[number % len(ways)]
        seconds, texts = _ingest(
            collection, a_pdf(pages=PAGES[size], seed=number), f"tokens-{number}.pdf", ways[name]
        )
        spent[name].append(seconds)
    best = {name: min(seconds) for name, seconds in spent.items()}
    beside = f"with {best['with']:.1f} s, without {best['without']:.1f} s, {len(texts)} passages a document"
    yield Figure(
        "ingest with tokens over ingest without",
        best["without"] / best["with"],
        "x",
        0.85,
        "at least",
        beside,
    )
    yield from _questions(collection, active_space(), ways, _asked(texts, QUESTIONS[size]))


def _ingest(collection: Any, content: bytes, name: str, encoder: Embedder) -> tuple[float, list[str]]:
    from workbench.documents import ingest

    given = ingest.current_embedder
    ingest.current_embedder = lambda: encoder
    try:
        seconds, texts, _ = ingested(collection, content, name)
    finally:
        ingest.current_embedder = given
    return seconds, texts


def _asked(texts: Sequence[str], count: int) -> list[str]:
    """Questions in the words of passages spread over a document."""
    step = max(1, len(texts) // count)
    return [" ".join(text.split()[4:12]) for text in (texts * count)[: step * count : step]]


def _questions(
    collection: Any, space: Any, ways: dict[str, Embedder], questions: Sequence[str]
) -> Iterator[Figure]:
    """Each question is asked all ways, the first one in turn."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    found = []
    for number, text in enumerate(questions):
        order = list(ways) if number % 2 else list(ways)[::-1]
        for name in order:
            seconds, candidates = _detected(collection, space, text, ways[name])
            if number >= _WARM_UP:
                spent[name].append(1000 * seconds)
                found.append(candidates)
    middle = {name: float(np.median(values)) for name, values in spent.items()}
    added = [one - other for one, other in zip(spent["with"], spent["without"], strict=True)]
    beside = (
        f"with {middle['with']:.0f} ms, without {middle['without']:.0f} ms, {np.median(found):.0f} candidates"
    )
    yield Figure("tokens: added to a question", float(np.median(added)), "ms", 10.0, "at most", beside)
    yield Figure("a question with tokens over one without", middle["with"] / middle["without"], "x")


def _detected(collection: Any, space: Any, text: str, encoder: Embedder) -> tuple[float, int]:
    from workbench.documents.store import DatabaseCandidateStore

    started = time.perf_counter()
    store = DatabaseCandidateStore(collection=collection, space=space)
    pool = detect(question=text, store=store, embedder=encoder, settings=EngineSettings())
    return time.perf_counter() - started, len(pool.candidates)
