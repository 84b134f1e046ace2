"""Late interaction over the candidates of one question: what it measures of each, and which words met which."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arbitration.aggregation import Unit
from arbitration.detectors.base import DetectorContext
from arbitration.detectors.embedding import question_vectors
from arbitration.late_interaction import (
    CandidateTokens,
    Interaction,
    Parts,
    PassageTokens,
    gives_tokens,
    interact,
)
from arbitration.pool import WordMatch
from arbitration.protocols import TokenVectors
from arbitration.questions.model import ParsedQuestion
from arbitration.sentences import SentenceMap
from arbitration.text import WORD, is_stop_word, supported_language

#: A word that is met by meaning is put on record from this cosine on; below it the nearest token says little.
RECORDED_FROM = 0.45
#: Characters that are read before and behind the one asked for.
_WORD_REACH = 64


@dataclass(frozen=True, slots=True)
class LateSignals:
    """What late interaction measures of a candidate; ``None`` without tokens of passage or question.

    ``weighted`` is the idf-weighted best match, ``plain`` the mean of the best matches, both cosines; ``words`` the
    matches of the question's content words, in its order; ``sentences`` the idf-weighted best match of each sentence
    of the anchor, in the order of :func:`arbitration.sentences.sentences_of`.
    """

    weighted: float | None = None
    plain: float | None = None
    words: tuple[WordMatch, ...] = ()
    sentences: tuple[float, ...] = ()


def late_signals(units: Sequence[Unit], context: DetectorContext) -> list[LateSignals]:
    """One :class:`LateSignals` per unit; of several wordings of the question the best counts."""
    embedder = context.embedder
    if not units or not gives_tokens(embedder):
        return [LateSignals()] * len(units)
    wordings = question_vectors(context.question, context.session, embedder)
    packed = context.session.tokens_of_spans([unit.span for unit in units])
    tokens = _candidate_tokens(units, packed)
    if not any(tokens):
        return [LateSignals()] * len(units)
    parts = [
        None if of_unit is None else _sentences_of_tokens(of_unit, unit)
        for unit, of_unit in zip(units, tokens, strict=True)
    ]
    found = [interact(asked, tokens, parts=parts) for asked in wordings.tokens]
    compared = _compared(wordings.texts, units, context)
    scores = np.where(compared, np.stack([interaction.scores() for interaction in found]), -np.inf)
    plain = np.where(compared, np.stack([interaction.plain() for interaction in found]), -np.inf).max(axis=0)
    readers = [
        _WordReader(text, asked, interaction, _language_of(text, context.question))
        for text, asked, interaction in zip(wordings.texts, wordings.tokens, found, strict=True)
    ]
    signals = []
    for row, (unit, of_unit) in enumerate(zip(units, tokens, strict=True)):
        if of_unit is None:
            signals.append(LateSignals())
            continue
        best = int(scores[:, row].argmax())
        signals.append(
            LateSignals(
                weighted=float(scores[best, row]),
                plain=float(plain[row]),
                words=readers[best].matches(row, of_unit, unit),
                sentences=tuple((found[best].parts[row] @ found[best].weights).tolist()),
            )
        )
    return signals


def _compared(texts: Sequence[str], units: Sequence[Unit], context: DetectorContext) -> npt.NDArray[np.bool_]:
    """Which wording (rows) is compared with which candidate (columns). The gloss has fewer words than the question, so
    that each counts more: beside documents in the question's own language it would win by its length."""
    question = context.question
    own = np.array(
        [supported_language(context.languages[unit.span.document_id]) == question.language for unit in units]
    )
    glosses = np.array([question.gloss is not None and text == question.gloss.text for text in texts])
    return np.asarray(~(glosses[:, None] & own[None, :]))


def _sentences_of_tokens(tokens: CandidateTokens, unit: Unit) -> Parts:
    """In which sentence of the unit's text each token stands; -1 for those of the headings. Shape (n,)."""
    sentences = SentenceMap.of(unit.text)
    numbers = {(line.page_num, line.line_num): index for index, line in enumerate(unit.lines)}
    begins = np.array([sentences.lines[numbers[line]] if line in numbers else -1 for line in tokens.lines])
    begins = begins[tokens.at]
    standing = np.searchsorted(sentences.begins, begins + tokens.offsets, side="right") - 1
    return np.where(begins < 0, -1, np.maximum(standing, 0))


def _candidate_tokens(
    units: Sequence[Unit], packed: Sequence[Sequence[bytes]]
) -> list[CandidateTokens | None]:
    known: dict[bytes, PassageTokens] = {}
    for data in {data for of_unit in packed for data in of_unit}:
        # Kept by an earlier version: as if there were none, until the documents are read anew.
        with suppress(ValueError):
            known[data] = PassageTokens.unpacked(data)
    return [
        CandidateTokens.of(
            [known[data] for data in of_unit if data in known],
            {(line.page_num, line.line_num) for line in unit.lines},
        )
        for unit, of_unit in zip(units, packed, strict=True)
    ]


class _WordReader:
    """Which word of a candidate each content word of one wording met."""

    def __init__(self, text: str, asked: TokenVectors, interaction: Interaction, language: str) -> None:
        self._interaction = interaction
        begins, ends = asked.offsets[:, 0], asked.offsets[:, 1]
        self._words = [
            (word[0], np.flatnonzero((begins >= word.start()) & (ends <= word.end())))
            for word in WORD.finditer(text)
            if not is_stop_word(word[0], language)
        ]

    def matches(self, row: int, tokens: CandidateTokens, unit: Unit) -> tuple[WordMatch, ...]:
        """The words met, exact or by meaning; a word of several tokens is met where its weightiest is. A function word
        meets nothing."""
        lines = {(line.page_num, line.line_num): line.text for line in unit.lines}
        found: dict[str, WordMatch] = {}
        for word, places in self._words:
            if not len(places):
                continue
            best, weights = self._interaction.best[row, places], self._interaction.weights[places]
            cosine = float(best.mean())
            is_exact = bool(self._interaction.held[row, places].all())
            if not is_exact and cosine < RECORDED_FROM:
                continue
            line, offset = tokens.place(self._interaction.where[row, places[weights.argmax()]])
            met = _word_at(lines.get(line, ""), offset)
            if met and (is_exact or not _only_joins(met)):
                match = WordMatch(asked=word, met=met, cosine=min(1.0, cosine), weight=float(weights.sum()))
                found.setdefault(word.casefold(), match)
        return tuple(found.values())


def _language_of(wording: str, question: ParsedQuestion) -> str:
    gloss = question.gloss
    return gloss.language if gloss and wording == gloss.text else question.language


def _only_joins(word: str) -> bool:
    """A function word, which means what it joins: nothing is said by it, however near it comes."""
    return is_stop_word(word, "en") or is_stop_word(word, "es")


def _word_at(line: str, offset: int) -> str:
    """The word of a line that stands at a character; leading white space was not counted. Of a very long word the
    part around the character."""
    offset += len(line) - len(line.lstrip())
    begin = max(0, offset - _WORD_REACH)
    near = line[begin : offset + _WORD_REACH]
    here = offset - begin
    return next((word[0] for word in WORD.finditer(near) if word.start() <= here < word.end()), "")
