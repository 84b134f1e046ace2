"""The whole loop on real labels: noisy ones deploy a model, mended ones a better one, spoilt ones none.

A share of ObliQA's development questions by default, asked of four of its documents; all that there are with
``WORKBENCH_FULL_LEARNING=1``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arbitration.evaluation.datasets import load_dataset
from arbitration.evaluation.judge import Judge
from arbitration.evaluation.question_groups import question_hash
from arbitration.evaluation.records import LabelledSet
from arbitration.evaluation.structured import line_maps
from arbitration.pipeline import detect
from arbitration.pool import CandidatePool
from arbitration.settings import EngineSettings
from tests.workbench.rerankers.makers import retrained
from training.fitting import TrainingConfig
from training.labelled_pools import labels_of_pool
from training.labels import LabelSource
from workbench.accounts.models import User
from workbench.documents.embedding import current_embedder
from workbench.documents.ingest import text_hash
from workbench.labeling.models import Label, LabelImport
from workbench.rerankers import examples
from workbench.rerankers.aliases import alias_version
from workbench.rerankers.champion import champion_model, champion_roll_back, loaded_forget
from workbench.rerankers.services import schedule_change
from workbench.rerankers.store import dataset_get
from workbench.runs.evaluation import LoadedSet, dataset_load

#: In the ordinary run the same decisions are taken on made labels (test_trainings.py, tests/training/test_gate.py).
pytestmark = [pytest.mark.data, pytest.mark.long]

FULL = os.environ.get("WORKBENCH_FULL_LEARNING") == "1"
DOCUMENTS = None if FULL else {"19", "34"}
QUESTIONS = 2000 if FULL else 200
GOLD = 500 if FULL else 60
NEGATIVES = 8
NOISE = 0.10
CONFIG = TrainingConfig(members=1) if FULL else TrainingConfig(architectures=("mlp-64-32",), members=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A candidate of a question with its true binary label."""

    question: str
    document: int
    scope: tuple[int, int, int, int]
    text_hash: str
    truth: int


@dataclass
class Annotated:
    """The pairs of training and gold questions, and who labels them."""

    collection: Any
    person: User
    training: list[Pair]
    gold: list[Pair]

    def label(
        self,
        pairs: Sequence[Pair],
        source: LabelSource,
        *,
        wrong: frozenset[int] = frozenset(),
        gold: LabelImport | None = None,
    ) -> None:
        """Labels of the pairs; those at the positions in ``wrong`` the wrong way round."""
        Label.objects.bulk_create(
            self._label(pair, (1 - pair.truth) if number in wrong else pair.truth, source, gold)
            for number, pair in enumerate(pairs)
        )

    def _label(self, pair: Pair, label: int, source: LabelSource, gold: LabelImport | None) -> Label:
        page_start, line_start, page_end, line_end = pair.scope
        by_person = source is LabelSource.ADJUDICATED
        return Label(
            collection=self.collection,
            question=pair.question,
            question_hash=question_hash(pair.question),
            document_id=pair.document,
            page_start=page_start,
            line_start=line_start,
            page_end=page_end,
            line_end=line_end,
            text_hash=pair.text_hash,
            role="primary" if label else "discarded",
            binary_label=label,
            source=source.value,
            weight=source.weight,
            person=self.person if by_person else None,
            judge_name="" if by_person else f"imported {source}",
            blind=gold is not None,
            label_import=gold,
        )


@pytest.fixture
def annotated(
    db: None, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_data: Path
) -> Iterator[Annotated]:
    """ObliQA in a collection, its pools found once, its pairs split into training and gold questions."""
    settings.WORKBENCH_HOME = tmp_path
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path / "files")},
        }
    }
    monkeypatch.setattr("workbench.infra.dispatch.dispatch", lambda *args, **kwargs: True)
    monkeypatch.setattr("workbench.infra.leases.Heartbeat._renew", lambda self: None)
    loaded_forget()
    dataset = _share(load_dataset(shared_data / "obliqa"))
    loaded = dataset_load(dataset=dataset, tell=lambda text: None)
    pools: dict[str, CandidatePool] = {}

    def found_once(**arguments: Any) -> CandidatePool:
        """Detection is the same every time; a test need not wait for it twice."""
        text = arguments["question"]
        if text not in pools:
            pools[text] = detect(**arguments)
        return pools[text]

    monkeypatch.setattr(examples, "detect", found_once)
    pairs = _pairs(dataset, loaded, found_once)
    questions = list(dict.fromkeys(pair.question for pair in pairs))
    held = set(questions[:GOLD])
    yield Annotated(
        collection=next(iter(loaded.collections.values())),
        person=User.objects.system(),
        training=[pair for pair in pairs if pair.question not in held],
        gold=[pair for pair in pairs if pair.question in held],
    )
    loaded_forget()


def _share(whole: LabelledSet) -> LabelledSet:
    if DOCUMENTS is None:
        return whole.limited(QUESTIONS)
    documents = tuple(d for d in whole.documents if d.document_id in DOCUMENTS)
    questions = [q for q in whole.questions if {e.document_id for e in q.evidence} <= DOCUMENTS]
    return replace(whole, documents=documents, questions=tuple(questions[:QUESTIONS]))


def _pairs(dataset: LabelledSet, loaded: LoadedSet, found_once: Any) -> list[Pair]:
    judge, rng = Judge(line_maps(dataset)), np.random.default_rng(3)
    pairs: list[Pair] = []
    for question in dataset.questions:
        pool = found_once(
            question=question.text,
            store=loaded.store(question),
            embedder=current_embedder(),
            settings=EngineSettings(concurrent=False),
        )
        labels = labels_of_pool(
            pool, question, judge=judge, dataset_ids=loaded.dataset_ids(question.collection)
        )
        negatives = rng.permutation([n for n, label in enumerate(labels) if not label])[:NEGATIVES]
        for place in sorted([*(n for n, label in enumerate(labels) if label), *map(int, negatives)]):
            candidate = pool.candidates[place]
            anchor = candidate.anchor
            pairs.append(
                Pair(
                    question=question.text,
                    document=int(candidate.document_id.removeprefix("d")),
                    scope=(anchor.page_start, anchor.line_start, anchor.page_end, anchor.line_end),
                    text_hash=text_hash(candidate.anchor_text),
                    truth=int(labels[place]),
                )
            )
    return pairs


def _some(count: int, share: float, *, seed: int) -> frozenset[int]:
    return frozenset(int(n) for n in np.random.default_rng(seed).permutation(count)[: int(count * share)])


def test_noise_mended_spoilt_and_rolled_back(annotated: Annotated) -> None:
    system, pairs = User.objects.system(), annotated.training
    digest = hashlib.sha256(b"gold").hexdigest()
    load = LabelImport.objects.create(
        collection=annotated.collection,
        file_name="gold.jsonl",
        sha256=digest,
        source="annotator",
        is_gold=True,
        rows_read=len(annotated.gold),
        labels_made=len(annotated.gold),
        imported_by=system,
    )
    annotated.label(annotated.gold, LabelSource.ANNOTATOR, gold=load)
    few = pairs[: len(pairs) // 6]
    annotated.label(few, LabelSource.ANNOTATOR, wrong=_some(len(few), NOISE, seed=1))
    annotated.label(pairs, LabelSource.LLM, wrong=_some(len(pairs), NOISE, seed=2))

    first = retrained(system, CONFIG)
    assert first.decision.outcome == "deployed", first.decision.reasons
    gold = dataset_get(first.decision.gold_hash)
    former = champion_model().probabilities(gold.features)
    trained = set(first.snapshot.labels.values_list("label__question", flat=True))
    assert trained.isdisjoint(pair.question for pair in annotated.gold)

    tie = retrained(system, CONFIG)
    assert tie.decision.outcome == "kept"
    assert "tie" in tie.decision.reasons[0]

    annotated.label(pairs, LabelSource.ADJUDICATED)
    better = retrained(system, CONFIG)
    before, after = (
        side["metrics"]["f1"] for side in (better.decision.champion_report, better.decision.challenger_report)
    )
    assert (better.decision.outcome == "deployed") == (after > before), better.decision.reasons
    assert better.decision.outcome == "deployed", better.decision.reasons
    assert better.decision.champion_report["rows_hash"] == better.decision.challenger_report["rows_hash"]

    shuffled = _some(len(pairs), 0.5, seed=4)
    annotated.label(pairs, LabelSource.ADJUDICATED, wrong=shuffled)
    worse = retrained(system, CONFIG)
    assert worse.decision.outcome == "kept", worse.decision.reasons
    assert alias_version() == better.challenger

    schedule_change(actor=system, min_questions=100_000)
    crossed = retrained(system, CONFIG)
    assert crossed.decision.way == "cross_validation", "the holdout is smaller than that"
    assert crossed.decision.outcome == "kept", crossed.decision.reasons

    champion_roll_back(actor=system, version=first.challenger, reason="The former one was steadier.")
    loaded_forget()
    assert np.array_equal(champion_model().probabilities(gold.features), former)
