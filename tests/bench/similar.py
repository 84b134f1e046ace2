"""How often "asked before in other words" is wrong: each question of ObliQA against all others of the set.

A link is a false hit when the two questions have no gold passage in common. The share of questions that are linked
to a rewording of themselves shows what the threshold costs. Needs the shared test data; reports nothing without it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.registry import Figure, Size, measurement

QUESTIONS = {"quick": 600, "full": 3000}
THRESHOLDS = (0.80, 0.85, 0.90, 0.93, 0.95, 0.97)
#: Rewordings in our own words that leave the question what it is.
REWORDINGS = ("Please tell me: {}", "I would like to know: {}", "{} Answer from the rules.")


@measurement("similar", needs_services=True)
def measure(size: Size) -> Iterator[Figure]:
    """False hits among links and among all questions, and found rewordings, by threshold."""
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA", "../shared/data")) / "obliqa"
    if not folder.is_dir():
        return
    from arbitration.adapters.onnx_embedder import default_embedder
    from arbitration.triage import SAME_IN_OTHER_WORDS

    texts, gold = _questions(folder, QUESTIONS[size])
    embedder = default_embedder()
    vectors = embedder.embed(texts)
    reworded = embedder.embed([REWORDINGS[n % 3].format(text) for n, text in enumerate(texts)])
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1.0)
    nearest = cosines.argmax(axis=1)
    best = cosines.max(axis=1)
    is_false = np.array([not gold[n] & gold[int(other)] for n, other in enumerate(nearest)])
    same = (vectors * reworded).sum(axis=1)
    for bar in THRESHOLDS:
        linked = best >= bar
        chosen = bar == SAME_IN_OTHER_WORDS
        note = f"{int(linked.sum())} links of {len(texts)} questions"
        share = 100 * float((linked & is_false).mean())
        limit = (1.0, "at most") if chosen else (None, None)
        yield Figure(f"false hits of all questions at {bar}", share, "%", limit[0], limit[1], note)
        yield Figure(f"rewordings found at {bar}", 100 * float((same >= bar).mean()), "%")


def _questions(folder: Path, limit: int) -> tuple[list[str], list[set[str]]]:
    """Distinct questions with the ids of their gold passages."""
    gold: dict[str, set[str]] = {}
    for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        gold.setdefault(row["question"], set()).update(_ids(row))
        if len(gold) >= limit:
            break
    return list(gold), list(gold.values())


def _ids(row: dict[str, Any]) -> set[str]:
    return {f"{item['document_id']} {item['passage_id']}" for item in row["evidence"]}
