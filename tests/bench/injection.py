"""Detection of text that gives orders: how much of it is suspected, and how much of what only looks like it, and how
many passages of ordinary policies, handbooks, contracts and regulations are suspected for nothing. Apart from obedience
being of no use, which ``tests/integration/test_injection.py`` holds. Needs the shared test data; reports nothing
without it.

The patterns were written with one half of the attacks and of the policies at hand (``written``), told apart by the hash
of the text or of the document's name. What counts is the other half (``unseen``), and the sets that nobody looked at.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from arbitration.errors import ParseFailure
from arbitration.injection import injection_reasons
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.registry import parse_here
from tests.bench.registry import Figure, Size, measurement

#: Per cent of passages that may be suspected for nothing.
MOST_FALSE_ALARMS = 0.2
_KINDS = frozenset({".pdf", ".docx", ".md"})
Passages = dict[str, list[str]]  # by document


@measurement("injection")
def measure(size: Size) -> Iterator[Figure]:
    """Recall on two collections of attacks, false alarms on look-alikes, mail, and the passages of real documents."""
    data = Path(os.environ.get("WORKBENCH_TEST_DATA", "../shared/data"))
    if not (data / "injection").is_dir():
        return
    yield from _strings(data / "injection")
    yield from _halves("policies (website)", _policyqa(data / "policyqa"))
    yield from _halves("agreements and policies", _files(data / "documents"))
    yield from _halves("acts and handbooks", _files(data / "h2o_evals"))
    yield _false_alarms("financial regulations, looked at by nobody", _obliqa(data / "obliqa"))
    yield _false_alarms("contracts, looked at by nobody", _contracts(data / "cuad"))


def _strings(folder: Path) -> Iterator[Figure]:
    rows = [json.loads(line) for line in _lines(folder / "bastioncorpus_injections.jsonl")]
    attacks = json.loads((folder / "bipia_text_attack_train.json").read_text(encoding="utf-8"))
    mail = [json.loads(line)["context"] for line in _lines(folder / "bipia_email_contexts_train.jsonl")]
    malicious = [row["text"] for row in rows if row["label"] == "malicious"]
    tasks = [text for texts in attacks.values() for text in texts]
    yield _figure("recall on attacks", malicious)
    yield _figure("recall on attacks, unseen half", [text for text in malicious if _is_unseen(text)])
    yield _figure("recall on foreign tasks in plain words", tasks)
    yield _figure(
        "recall on foreign tasks in plain words, unseen half", [text for text in tasks if _is_unseen(text)]
    )
    benign = [row["text"] for row in rows if row["label"] == "benign"]
    yield _figure("false alarms on look-alikes", benign, most=5.0)
    yield _figure("false alarms on ordinary mail", mail, most=5.0)


def _halves(what: str, passages: Passages) -> Iterator[Figure]:
    written = {name: texts for name, texts in passages.items() if not _is_unseen(name)}
    yield _false_alarms(f"{what}, half the rules were written with", written)
    yield _false_alarms(f"{what}, unseen half", {n: t for n, t in passages.items() if n not in written})


def _false_alarms(what: str, passages: Passages) -> Figure:
    texts = [text for of_document in passages.values() for text in of_document]
    return _figure(f"false alarms on {what}", texts, most=MOST_FALSE_ALARMS, beside="passages")


def _figure(what: str, texts: Sequence[str], *, most: float | None = None, beside: str = "texts") -> Figure:
    """The share of texts that are suspected."""
    suspected = sum(bool(injection_reasons(text)) for text in texts)
    share = 100 * suspected / len(texts) if texts else 0.0
    bound = "at most" if most is not None else None
    return Figure(what, share, "%", most, bound, f"{suspected} of {len(texts)} {beside}")


def _is_unseen(name: str) -> bool:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 1


def _files(folder: Path) -> Passages:
    """The passages of every document below a folder, as ingestion cuts them; what cannot be read is left out."""
    passages: Passages = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in _KINDS and path.name != "SOURCE.md":
            passages[path.name] = passages.get(path.name, []) + _parsed(path)
    return passages


def _contracts(folder: Path) -> Passages:
    return {path.name: _parsed(path) for path in sorted(folder.glob("txt/*.txt"))}


def _parsed(path: Path) -> list[str]:
    try:
        return [p.text for p in parse_here(path, filename=path.name, limits=ParseLimits()).passages]
    except ParseFailure:
        return []


def _policyqa(folder: Path) -> Passages:
    policies = json.loads((folder / "raw_dev.json").read_text(encoding="utf-8"))["data"]
    return {policy["title"]: [part["context"] for part in policy["paragraphs"]] for policy in policies}


def _obliqa(folder: Path) -> Passages:
    return {
        path.name: [text for row in _rows(path) if (text := str(row["Passage"])).strip()]
        for path in sorted(folder.glob("docs/*.json"))
    }


def _rows(path: Path) -> list[Mapping[str, object]]:
    rows: list[Mapping[str, object]] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
