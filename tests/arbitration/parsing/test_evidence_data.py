"""Quoted evidence of the questions in people's own words is found again, whole, in the passages of its document."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from pathlib import Path

import pytest

from arbitration.evaluation.datasets import load_dataset
from arbitration.evaluation.judge import QUOTED_CHARACTERS
from arbitration.evaluation.records import TextEvidence
from arbitration.evaluation.wordforms import plain
from arbitration.parsing.drafts import FinishedDraft
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.registry import parse_here

#: Of 203 quotations: two run over a heading, one over what looks like a list; two stand in forms without drawn cells.
MOST_CUT, MOST_MISREAD = 3, 2


@pytest.mark.data
def test_evidence_is_neither_cut_in_two_nor_misread(shared_data: Path) -> None:
    dataset = load_dataset(shared_data / "natural")
    read = {document.document_id: document.path for document in dataset.documents if document.path}
    quotes: dict[str, list[str]] = {document_id: [] for document_id in read}
    for question in dataset.questions:
        for unit in question.evidence:
            assert isinstance(unit, TextEvidence)
            quotes[unit.document_id].append(plain(unit.text)[:QUOTED_CHARACTERS])

    found: Counter[str] = Counter()
    for document_id, path in read.items():
        finished = parse_here(path, filename=path.name, limits=ParseLimits())
        passages = _texts(finished)
        whole = plain("\n".join(line.text for line in finished.draft.lines if line.is_body))
        for quote in quotes[document_id]:
            is_held = any(quote in passage for passage in passages)
            found["whole" if is_held else "cut" if quote in whole else "misread"] += 1

    assert found.total() == sum(map(len, quotes.values())) > 200
    assert found["cut"] <= MOST_CUT, found
    assert found["misread"] <= MOST_MISREAD, found


def _texts(finished: FinishedDraft) -> list[str]:
    """Each passage's own lines, as a candidate shows them."""
    held: list[list[str]] = [[] for _ in finished.passages]
    ends = [(passage.page_end, passage.line_end) for passage in finished.passages]
    for line in finished.draft.lines:
        place = bisect_left(ends, (line.page_num, line.line_num))
        if line.is_body and line.text.strip():
            held[place].append(line.text)
    return [plain("\n".join(texts)) for texts in held]
