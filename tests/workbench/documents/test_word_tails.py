from __future__ import annotations

import pytest

from arbitration.text import stem
from workbench.documents.word_tails import may_end


@pytest.mark.parametrize(
    "word",
    [
        "responsibilities", "vulnerabilities", "organizationally", "committed", "nationalization", "consistencies",
        "hopefulness", "operators", "accountability", "relational", "policies", "sensitivities", "administrators",
        "communicated", "characterizing", "effectiveness", "differently", "enforceable", "traditional", "meetings",
    ],
)  # fmt: skip
def test_no_ending_that_stemming_takes_away_is_passed_over(word: str) -> None:
    beginning = stem(word)[:-1]
    assert word.startswith(beginning)
    assert may_end(word[len(beginning) :])


@pytest.mark.parametrize("tail", ["ework", "security", "board", "lack", "oncrete"])
def test_what_no_ending_is_made_of_needs_no_stemming(tail: str) -> None:
    assert not may_end(tail)
