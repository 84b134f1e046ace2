"""Twenty-four questions of our own on real documents: whether the first sentence of the answer answers, and whether
every reason quotes its passage. Questions and answers were written down before the first run (docs/questions.md)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from arbitration import Arbiter
from arbitration.results import Finding
from tests.bench.registry import Figure, Size, measurement

QUESTIONS = Path(__file__).with_name("questions.json")
_QUOTE = re.compile(r"[“«](?:… )?([^”»]+?)(?: …)?[”»]")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what came of it. ``first``: the first sentence of the answer, or the not-found's statement."""

    row: dict[str, Any]
    finding: Finding

    @property
    def first(self) -> str:
        """What a reader reads first."""
        answer = self.finding.answer
        return answer.sentences[0].text if answer.sentences else answer.statement

    @property
    def is_answered(self) -> bool:
        """Whether that answers; of a question that the document does not answer, whether nothing is claimed."""
        if self.row["answers"] is None:
            return self.finding.not_found or self.finding.no_strong_match
        return re.search(self.row["answers"], self.first) is not None

    @property
    def bare_reasons(self) -> list[str]:
        """Reasons that quote nothing of their passage."""
        return [
            row.reason
            for row in self.finding.candidates
            if _plain(max(_QUOTE.findall(row.reason), key=len, default="?")) not in _plain(row.context)
        ]


def ask_all() -> Iterator[Asked]:
    """Every question, asked with ``offline`` of its document alone."""
    for row in json.loads(QUESTIONS.read_text(encoding="utf-8")):
        yield Asked(row, _arbiter(row["document"]).ask(row["question"], strategy="offline"))


@cache
def _arbiter(document: str) -> Arbiter:
    data = Path(os.environ.get("WORKBENCH_TEST_DATA", "../shared/data"))
    return Arbiter.from_files(data / "documents" / document)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"\W+", " ", text.casefold()).split())


@measurement("questions")
def measure(size: Size) -> Iterator[Figure]:
    """How many of them the first sentence answers, and how many reasons quote their passage."""
    asked = list(ask_all())
    reasons = sum(len(one.finding.candidates) for one in asked)
    bare = sum(len(one.bare_reasons) for one in asked)
    answered = sum(one.is_answered for one in asked)
    yield Figure("the first sentence answers", answered, f"of {len(asked)}", 18, "at least")
    yield Figure("reasons that quote nothing of their passage", bare, f"of {reasons}", 0, "at most")
