"""Features and the reranker's probability for 100 candidates, beside the ARF library's fifteen features and MLP.

Every round has texts that were never seen before, in words that were: a worker meets nearly all words of a language in
its first minutes, and each is stemmed once. Without the library (``pip install advanced-rag-framework``) its own
figures stand in for it, and the line says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arbitration.features import (
    FEATURE_NAMES,
    FEATURE_VERSION,
    FeatureInput,
    QuestionFacts,
    candidate_features,
)
from arbitration.protocols import Scorer
from arbitration.vocabulary import vocabulary_of
from tests.bench.corpora import Language
from tests.bench.registry import Figure, Size, measurement

CANDIDATES = 100
WORDS = 85
ROUNDS = {"quick": 60, "full": 300}
TARGET_MS = 1.5
#: Seen on a machine of this kind: features and MLP.
LIBRARY_MS = (6.0, 0.25)


@measurement("features")
def measure(size: Size) -> Iterator[Figure]:
    """Medians of rounds that take turns."""
    scorer = _network()
    vocabulary_of("en").read([" ".join(_LANGUAGE.words)])
    rounds = [_texts(seed) for seed in range(ROUNDS[size])]
    library = _library()
    spent: dict[str, list[float]] = {"features": [], "probabilities": [], "library": []}
    for question, texts in rounds:
        facts, inputs = QuestionFacts(question), [_input(text) for text in texts]
        rows = _timed(spent["features"], lambda: candidate_features(facts, inputs))  # noqa: B023
        _timed(spent["probabilities"], lambda: scorer.probabilities(rows))  # noqa: B023
        if library is not None:
            _timed(spent["library"], lambda: library(question, texts))  # noqa: B023
    ours = _median(spent["features"]), _median(spent["probabilities"])
    theirs = _median(spent["library"]) if library is not None else sum(LIBRARY_MS)
    source = "measured beside it" if library is not None else "as seen before: the library is not installed"
    beside = f"ARF {theirs:.2f} ms, {source}"
    yield Figure("features of 100 candidates", ours[0], "ms", beside="texts never seen before, words seen")
    yield Figure("probabilities of 100 candidates", ours[1], "ms")
    yield Figure("features and MLP", sum(ours), "ms", TARGET_MS, "at most", beside)
    yield Figure("features and MLP over the library's", sum(ours) / theirs, "x", 0.25, "at most", beside)


def _texts(seed: int) -> tuple[str, list[str]]:
    rng = np.random.default_rng(seed)
    texts = [_LANGUAGE.text(_LANGUAGE.drawn(rng, WORDS)) for _ in range(CANDIDATES)]
    words = texts[0].split()
    return f"Which {' '.join(words[:8])} must be kept, and when is {words[9]} due?", texts


_LANGUAGE = Language()


def _input(text: str) -> FeatureInput:
    words = text.split()
    return FeatureInput(
        text=text,
        document_id=words[0],
        title=" ".join(words[5:8]),
        breadcrumb=" ".join(words[2:8]),
        semantic=len(words[3]) / 20,
        late=len(words[6]) / 20,
        late_plain=len(words[7]) / 20,
        estimate=len(words[3]) / 20,
        lexical=float(len(text)) / 100,
        ranks={"bm25": len(words[1]), "embedding": len(words[2])},
        rrf=len(words[4]) / 100,
        keyword_match=True,
        section_depth=2,
    )


def _network() -> Scorer:
    """The larger of the networks that may serve, trained on noise: what it says does not matter here."""
    from training.fitting import TrainingConfig
    from training.run import train_model
    from training.snapshot import Dataset, Snapshot

    rng = np.random.default_rng(0)
    rows = 2_000
    names = tuple(str(row // 10) for row in range(rows))
    data = Dataset(
        features=rng.normal(size=(rows, len(FEATURE_NAMES))),
        labels=(rng.random(rows) < 0.2).astype(np.int64),
        weights=np.ones(rows),
        groups=names,
        questions=names,
        collections=names,
        lists=names,
        label_ids=tuple(map(str, range(rows))),
    )
    config = TrainingConfig(architectures=("mlp-128-64-32",), epochs=1, steps=1)
    return train_model(Snapshot(data, FEATURE_VERSION, 0, 0), config=config).scorer


def _library() -> Callable[[str, Sequence[str]], object] | None:
    """The library's features and an MLP of the size it trains, or None where it is not installed."""
    try:
        from arf.trainer import train_reranker
    except ImportError:
        return None
    from tests.bench.reranker import library_features

    rng = np.random.default_rng(0)
    bundle = train_reranker(rng.normal(size=(2_000, 15)), (rng.random(2_000) < 0.2).astype(int))

    def scored(question: str, texts: Sequence[str]) -> npt.NDArray[Any]:
        rows = library_features(question, [(text, text[:30], 0.5) for text in texts])
        return np.asarray(bundle["model"].predict_proba(bundle["scaler"].transform(rows)))

    return scored


def _timed(spent: list[float], work: Callable[[], Any]) -> Any:
    started = time.perf_counter()
    done = work()
    spent.append(1000 * (time.perf_counter() - started))
    return done


def _median(values: Sequence[float]) -> float:
    """Of all but the first few, in which tables of words are filled."""
    return float(np.median(values[5:]))
