"""Whether the nearest passages may answer at all: how likely, and in words what they speak of and what none says.

Two measures carry over between sets of questions: the best cosine, and the best match of a single sentence, which for
a question that asks for a value must be a sentence that holds one. Weights and bar: ``python -m tests.bench
answerability``; docs/adr/0015 says how they were chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arbitration.expected_values import ValueKind, expected_kinds, values_in
from arbitration.phrases import phrases
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.questions.same_words import Term, new_terms
from arbitration.sentences import sentences_of
from arbitration.text import WORD, fold, is_stop_word, quoted

#: Log-odds that the documents answer, with as many questions that they answer as not: intercept, per unit of the
#: sentence's match, per unit of the cosine. And the probability below which there is no strong match.
INTERCEPT, SENTENCE_WEIGHT, COSINE_WEIGHT = -2.758, 4.338, 1.589
WEAK_BELOW = 0.341
#: Of the candidates nearest by their tokens, so many are looked at for a value that is asked for.
VALUES_SOUGHT_IN = 15
#: Of the nearest, so many are what "the passages" speak of.
SPOKEN_OF_BY = 3
#: From this cosine on a word of the question is spoken of; below it the nearest word is another one.
SPOKEN_OF_FROM = 0.6
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Answerability:
    """``probability`` that the documents answer, in [0, 1]; ``None`` without vectors of tokens. ``speaks_of`` and
    ``unsaid`` are words of the question that the nearest passages hold or mean, or do not; ``asks_for`` the kinds of
    value that it asks for where no sentence near it holds one."""

    is_weak: bool
    probability: float | None = None
    speaks_of: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()
    asks_for: frozenset[ValueKind] = frozenset()


@dataclass(frozen=True, slots=True)
class Nearness:
    """The two measures, both cosines: ``sentence`` is 0 where a value is asked for and no sentence holds one."""

    sentence: float
    cosine: float
    lacks_value: bool = False

    @property
    def probability(self) -> float:
        """That the documents answer."""
        return 1.0 / (1.0 + math.exp(-self.log_odds))

    @property
    def log_odds(self) -> float:
        """The weighted sum."""
        return INTERCEPT + SENTENCE_WEIGHT * self.sentence + COSINE_WEIGHT * self.cosine


def nearness(pool: CandidatePool) -> Nearness | None:
    """How near the best of a pool comes; ``None`` without vectors of tokens."""
    measured = [c for c in pool.candidates if c.signals.late is not None]
    if not measured:
        return None
    cosine = max(c.signals.semantic or 0.0 for c in measured)
    kinds = expected_kinds(pool.question.normalised)
    if not kinds:
        return Nearness(max(map(_best_sentence, measured)), cosine)
    nearest = sorted(measured, key=lambda c: -(c.signals.late or 0.0))[:VALUES_SOUGHT_IN]
    with_value = max((_best_sentence_with(c, kinds) for c in nearest), default=0.0)
    return Nearness(with_value, cosine, lacks_value=with_value == 0.0)


def _best_sentence(candidate: PoolCandidate) -> float:
    return max(candidate.sentence_matches, default=candidate.signals.late or 0.0)


def _best_sentence_with(candidate: PoolCandidate, kinds: frozenset[ValueKind]) -> float:
    pairs = zip(sentences_of(candidate.anchor_text), candidate.sentence_matches, strict=False)
    # Best first: most texts are not read to the end.
    for match, text in sorted(((match, sentence.text) for sentence, match in pairs), reverse=True):
        if match > 0.0 and any(value.kind in kinds for value in values_in(text)):
            return match
    return 0.0


def answerability(pool: CandidatePool, nearest: Sequence[PoolCandidate] = ()) -> Answerability:
    """Whether the match is weak, and what there is to say about it; ``nearest`` are the candidates, best first.

    Without vectors of tokens a match is weak where no word of the question stands anywhere."""
    found = nearness(pool)
    if found is None:
        return Answerability(is_weak=pool.absence.by_words)
    if found.probability >= WEAK_BELOW:
        return Answerability(is_weak=False, probability=found.probability)
    speaks_of, unsaid = _words(pool, nearest[:SPOKEN_OF_BY])
    asks_for = expected_kinds(pool.question.normalised) if found.lacks_value else frozenset()
    return Answerability(True, found.probability, speaks_of, unsaid, asks_for)


def _words(pool: CandidatePool, nearest: Sequence[PoolCandidate]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The question's words that the nearest passages hold or mean, and those that they do not, each in its order."""
    met = {
        fold(word.asked)
        for candidate in nearest
        for word in candidate.matched_words
        if word.cosine >= SPOKEN_OF_FROM or fold(word.asked) == fold(word.met)
    }
    question = pool.question
    asked = [
        Term(match[0], question.language)
        for match in WORD.finditer(question.retrieval_text)
        if not is_stop_word(match[0], question.language)
    ]
    speaks_of = new_terms(term for term in asked if fold(term.text) in met)
    unsaid = new_terms(asked, speaks_of) if _is_in_language(pool, nearest) else ()
    return tuple(term.text for term in speaks_of), tuple(term.text for term in unsaid)


def _is_in_language(pool: CandidatePool, nearest: Sequence[PoolCandidate]) -> bool:
    """Whether a passage is in the question's language: one in another language lacks its words whatever it says."""
    documents = [pool.document(candidate.document_id) for candidate in nearest]
    return not documents or any(d is None or d.language == pool.question.language for d in documents)


def in_words(found: Answerability, language: str) -> str:
    """Why the match is weak: what the passages speak of and what none says; empty where nothing is known."""
    said, values = phrases("weak_match", language), phrases("weak_match_values", language)
    clauses = []
    if found.speaks_of:
        clauses.append(said["speaks"].format(speaks=_listed(_quoted(found.speaks_of, language), said["and"])))
    if found.asks_for:
        missing = [values[kind] for kind in sorted(found.asks_for)]
        clauses.append(said["states"].format(value=_listed(missing, said["or"])))
    elif found.unsaid:
        clauses.append(said["unsaid"].format(unsaid=_listed(_quoted(found.unsaid, language), said["or"])))
    return said["but"].join(clauses)


def _quoted(words: Sequence[str], language: str) -> list[str]:
    return [quoted(word, language) for word in words[:_NAMED]]


def _listed(words: Sequence[str], last: str) -> str:
    return words[0] if len(words) < 2 else ", ".join(words[:-1]) + last + words[-1]
