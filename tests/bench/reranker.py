"""Training the reranker, and how it ranks, beside the ARF library's own MLP on the same candidates.

ObliQA's questions are asked of its regulations by the product; each candidate is described by our features and by the
library's fifteen; both models are trained on one half of the questions and rank the candidates of the other. The
times are of the same rows and columns: the library's. Needs the shared test data and the benchmark extra
(``pip install advanced-rag-framework``); reports nothing without them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arbitration.evaluation.question_groups import cross_fit_folds
from arbitration.features import FEATURE_NAMES, pool_features
from arbitration.pool import CandidatePool
from tests.bench.registry import Figure, Size, measurement
from training.fitting import TrainingConfig
from training.metrics import ranked_judgements
from training.run import LabelledPool, pools_snapshot
from training.snapshot import Dataset
from training.trainer import train

Floats = npt.NDArray[np.float64]

#: Regulations and questions of the quick run; the full one asks all 2,788 questions of all forty.
DOCUMENTS = {"quick": {"19", "34"}, "full": None}
QUESTIONS = {"quick": 300, "full": 3000}
#: Of the target (docs: training on 139,400 rows): fewer pairs are repeated up to so many, for the times only.
TIMED_ROWS = {"quick": 20_000, "full": 139_400}
#: For the times: one configuration with calibration, without the comparison of architectures. What ranks is trained as
#: the product trains, by comparing them.
ONE = TrainingConfig(architectures=("mlp-64-32",))


@dataclass(frozen=True, slots=True)
class Described:
    """One question's candidates, described twice. ``library`` has a row of fifteen for each."""

    pool: LabelledPool
    library: Floats


@measurement("reranker", needs_services=True)
def measure(size: Size) -> Iterator[Figure]:
    """MRR of both on the half they have not seen, and the times of both trainings."""
    try:
        import arf.trainer  # noqa: F401
    except ImportError:
        return
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA", "../shared/data")) / "obliqa"
    if folder.is_dir():
        yield from compared(described(folder, size), rows=TIMED_ROWS[size])


def compared(questions: Sequence[Described], *, rows: int) -> Iterator[Figure]:
    """The figures, from described questions; times on at least ``rows`` rows."""
    folds = cross_fit_folds([item.pool.question for item in questions], folds=2, seed=0)
    trained = [item for item, fold in zip(questions, folds, strict=True) if fold == 0]
    tested = [item for item, fold in zip(questions, folds, strict=True) if fold == 1]
    ours = _ours(_rows(trained), TrainingConfig())
    theirs = _theirs(_rows(trained, of_library=True))
    test, test15 = _rows(tested), _rows(tested, of_library=True)
    semantic = test.features[:, FEATURE_NAMES.index("embedding_cosine_similarity")]
    library_mrr = _mrr(test, theirs(test15.features))
    semantic_mrr = _mrr(test, semantic)
    mrr = _mrr(test, ours(test.features))
    beside = f"{len(tested)} questions, {len(test)} candidates; those whose candidates hold an answer"
    yield Figure("MRR of the reranker", mrr, "", library_mrr, "at least", f"the library's {library_mrr:.3f}")
    yield Figure("MRR of the ARF library's MLP", library_mrr, beside=beside)
    yield Figure("MRR of semantic alone", semantic_mrr, beside=beside)
    yield Figure("lift over semantic alone", 100 * (mrr / semantic_mrr - 1), "%", 35.0, "at least", beside)
    yield from _times(_repeated(_rows(trained, of_library=True), rows), test15)


def _times(timed: Dataset, test: Dataset) -> Iterator[Figure]:
    """Both trainings on the library's features, one after the other, on all cores."""
    theirs, their_seconds = _timed(lambda: _theirs(timed))
    ours, our_seconds = _timed(lambda: _ours(timed, ONE))
    beside = f"{len(timed)} rows x {timed.features.shape[1]}: {our_seconds:.1f} s and {their_seconds:.1f} s"
    yield Figure(
        "training time over the library's", our_seconds / their_seconds, "x", 1 / 3, "at most", beside
    )
    library = _mrr(test, theirs(test.features))
    yield Figure(
        "MRR on the library's own features",
        _mrr(test, ours(test.features)),
        "",
        library,
        "at least",
        f"the library's {library:.3f}",
    )


Probabilities = Callable[[Floats], Floats]


def _ours(data: Dataset, config: TrainingConfig) -> Probabilities:
    from training.reranker import Reranker

    return Reranker(train(data, config).chosen.model).probabilities


def _theirs(data: Dataset) -> Probabilities:
    from arf.trainer import train_reranker

    bundle = train_reranker(data.features, data.labels)
    return lambda features: np.asarray(
        bundle["model"].predict_proba(bundle["scaler"].transform(features))[:, 1], dtype=np.float64
    )


def _timed(work: Callable[[], Probabilities]) -> tuple[Probabilities, float]:
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def _mrr(data: Dataset, scores: Floats) -> float:
    """Over the questions whose candidates hold an answer: what ranking can change."""
    judged = ranked_judgements(data.labels, scores, data.lists)
    return float(np.mean([1.0 / (judgement.first_hit or np.inf) for judgement in judged]))


def _rows(questions: Sequence[Described], *, of_library: bool = False) -> Dataset:
    pools = [replace(item.pool, features=item.library) if of_library else item.pool for item in questions]
    return pools_snapshot(pools).training


def _repeated(data: Dataset, rows: int) -> Dataset:
    """The rows over and over with a little noise, until there are enough to time."""
    times = -(-rows // len(data))
    rng = np.random.default_rng(0)
    features = np.tile(data.features, (times, 1))
    features += rng.normal(0.0, 1e-6, features.shape)
    return Dataset(
        features=features[:rows],
        labels=np.tile(data.labels, times)[:rows],
        weights=np.tile(data.weights, times)[:rows],
        **{
            name: (getattr(data, name) * times)[:rows]
            for name in ("groups", "questions", "collections", "lists", "label_ids")
        },
    )


# --- describing -------------------------------------------------------------------------------------------------


def described(folder: Path, size: Size) -> list[Described]:
    """ObliQA's answerable questions with their candidates, found by the product."""
    from arbitration.evaluation.datasets import load_dataset
    from arbitration.evaluation.judge import Judge
    from arbitration.evaluation.structured import line_maps
    from training.labelled_pools import labels_of_pool
    from workbench.runs.evaluation import QuestionRunner, dataset_load

    dataset = (
        load_dataset(folder).limited(QUESTIONS[size]) if size == "full" else _share(load_dataset(folder))
    )
    loaded = dataset_load(dataset=dataset, tell=lambda text: None)
    runner, judge = QuestionRunner(loaded=loaded, strategies=[]), Judge(line_maps(dataset))
    found = []
    for question in dataset.questions:
        if not question.is_ranked:
            continue
        pool = runner.pool(question)
        labels = labels_of_pool(
            pool, question, judge=judge, dataset_ids=loaded.dataset_ids(question.collection)
        )
        found.append(Described(LabelledPool(question.text, pool_features(pool), labels), library_rows(pool)))
    return found


def _share(whole: Any) -> Any:
    wanted = DOCUMENTS["quick"] or set()
    questions = [q for q in whole.questions if {e.document_id for e in q.evidence} <= wanted]
    documents = tuple(d for d in whole.documents if d.document_id in wanted)
    return replace(whole, documents=documents, questions=tuple(questions[: QUESTIONS["quick"]]))


def library_rows(pool: CandidatePool) -> Floats:
    """The library's fifteen features of each candidate: its text, the title of its section, its cosine."""
    return library_features(
        pool.question.text,
        [(c.anchor_text, c.section_title or "", c.signals.semantic or 0.0) for c in pool.candidates],
    )


def library_features(question: str, candidates: Sequence[tuple[str, str, float]]) -> Floats:
    """Rows of (text, title, cosine). Vectors are not at hand where features are made; two of length one with that very
    cosine stand in for them."""
    from arf.features import FeatureExtractor

    extractor = FeatureExtractor()
    top = max((cosine for _, _, cosine in candidates), default=0.0)
    return np.array(
        [
            extractor.to_vector(
                extractor.extract_features(
                    question,
                    {"title": title, "text": text},
                    cosine,
                    query_embedding=[1.0, 0.0],
                    doc_embedding=[cosine, float(np.sqrt(max(0.0, 1 - cosine * cosine)))],
                    top_score=top,
                )
            )
            for text, title, cosine in candidates
        ]
    )
