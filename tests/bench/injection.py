"""Detection of text that gives orders: how much of it is suspected, and how much of what only looks like it. Apart
from obedience being of no use, which ``tests/integration/test_injection.py`` holds. Needs the shared test data;
reports nothing without it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from arbitration.injection import injection_reasons
from tests.bench.registry import Figure, Size, measurement


@measurement("injection")
def measure(size: Size) -> Iterator[Figure]:
    """Recall on two collections of attacks, false alarms on benign look-alikes and on ordinary mail, in per cent."""
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA", "../shared/data")) / "injection"
    if not folder.is_dir():
        return
    rows = [json.loads(line) for line in _lines(folder / "bastioncorpus_injections.jsonl")]
    attacks = json.loads((folder / "bipia_text_attack_train.json").read_text(encoding="utf-8"))
    mail = [json.loads(line)["context"] for line in _lines(folder / "bipia_email_contexts_train.jsonl")]
    malicious = [row["text"] for row in rows if row["label"] == "malicious"]
    benign = [row["text"] for row in rows if row["label"] == "benign"]
    tasks = [text for texts in attacks.values() for text in texts]
    yield _figure("recall on attacks", malicious)
    yield _figure("recall on foreign tasks in plain words", tasks)
    yield _figure("false alarms on look-alikes", benign, most=5.0)
    yield _figure("false alarms on ordinary mail", mail, most=5.0)


def _figure(what: str, texts: Sequence[str], *, most: float | None = None) -> Figure:
    """The share of texts that are suspected."""
    share = 100 * sum(bool(injection_reasons(text)) for text in texts) / len(texts)
    return Figure(what, share, "%", most, "at most" if most is not None else None, f"{len(texts)} texts")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
