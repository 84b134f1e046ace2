from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from arbitration.decision import arbitrate
from arbitration.detection import detect
from arbitration.interaction import _word_at
from arbitration.pool import CandidatePool
from arbitration.protocols import TokenVectors
from arbitration.strategies.registry import get_strategy
from tests.arbitration.engine.makers import HashEmbedder, SectionText, make_document, make_store

#: Words that an encoder would take for each other.
MEANINGS = {"laptops": "equipment", "lose": "misplaced", "loses": "misplaced"}
DOCUMENT = make_document(
    SectionText("1 Equipment", ("Staff who have misplaced equipment must tell the desk", "within one day.")),
    SectionText("2 Travel", ("People who travel pay for their own meals and people report them.",)),
)


class ByMeaning(HashEmbedder):
    """Each word has a vector of its own, synonyms the same."""

    gives_tokens = True

    def embed_tokens(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], list[TokenVectors]]:
        return self.embed(texts), [self._tokens(text) for text in texts]

    def _tokens(self, text: str) -> TokenVectors:
        found = list(re.finditer(r"\w+", text))
        meant = [MEANINGS.get(word[0].lower(), word[0].lower()) for word in found]
        return TokenVectors(
            ids=np.array([hash_of(word[0].lower()) for word in found], dtype=np.int32),
            vectors=np.stack([direction(word, self.width) for word in meant]),
            offsets=np.array([word.span() for word in found], dtype=np.int32),
        )


def direction(word: str, width: int) -> npt.NDArray[np.float32]:
    """A unit vector of its own for each word, along no dimension."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=width)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def hash_of(word: str) -> int:
    return int.from_bytes(word.encode()[:2].ljust(2, b"_"), "big")


def pool(question: str, embedder: HashEmbedder) -> CandidatePool:
    return detect(question=question, store=make_store(DOCUMENT, embedder=embedder), embedder=embedder)


def test_words_that_meet_by_meaning_are_measured_and_named() -> None:
    found = pool("What if people lose laptops?", ByMeaning())

    right = next(c for c in found.candidates if "misplaced" in c.anchor_text)
    other = next(c for c in found.candidates if "travel" in c.anchor_text)
    assert right.signals.late is not None
    assert other.signals.late is not None
    assert right.signals.late > other.signals.late
    met = {match.asked: match.met for match in right.matched_words}
    assert met["lose"] == "misplaced"
    assert met["laptops"].lower() == "equipment"


def test_the_baseline_ranks_by_it_where_words_alone_mislead() -> None:
    found = pool("What if people lose laptops?", ByMeaning())

    for name in ("late-interaction", "late-interaction+words"):
        decision = arbitrate(pool=found, strategy=get_strategy(name))
        first = found.candidate(decision.verdicts[0].candidate_id)
        assert first is not None
        assert "misplaced" in first.anchor_text


def test_an_encoder_without_tokens_leaves_the_measure_out() -> None:
    found = pool("What if people lose laptops?", HashEmbedder())

    assert found.candidates
    assert {c.signals.late for c in found.candidates} == {None}
    decision = arbitrate(pool=found, strategy=get_strategy("late-interaction"))
    assert decision.not_found


def test_the_gloss_is_no_measure_for_the_questions_own_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words are few, so that each counts more, and an encoder may know one of them."""
    monkeypatch.setitem(MEANINGS, "portátil", "equipment")
    spanish = make_document(SectionText("1 Salida", ("Cada equipo sale con su dueño.",)), language="es")
    embedder = ByMeaning()
    found = detect(
        question="Whom do people tell about laptops?",
        store=make_store(DOCUMENT, spanish, embedder=embedder),
        embedder=embedder,
    )
    assert found.question.gloss is not None
    asked = {c.document_id: {match.asked for match in c.matched_words} for c in found.candidates}
    assert "laptops" in asked["d1"]


@pytest.mark.parametrize(
    ("line", "offset", "word"),
    [("  the desk", 4, "desk"), ("the desk", 3, ""), ("", 0, ""), ("a" * 500, 300, "a" * 128)],
)
def test_the_word_at_a_character(line: str, offset: int, word: str) -> None:
    assert _word_at(line, offset) == word


def test_a_function_word_meets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEANINGS, "supplier", "for")
    document = make_document(SectionText("1 Exit", ("For six months the help goes on.",)))
    embedder = ByMeaning()
    found = detect(
        question="Which supplier helps?", store=make_store(document, embedder=embedder), embedder=embedder
    )
    assert "supplier" not in {match.asked for match in found.candidates[0].matched_words}
