"""Answers from the surviving evidence only, every sentence cited to its lines.

Without a language model the answer is extractive: whole sentences of the evidence, said to be so. What was
not found stays not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from arbitration.contracts import ConflictPair, QuoteCheck, Role
from arbitration.decision import Decision
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.strategies.base import CallRecord, StrategyServices, Verdict
from arbitration.text import TermMatcher, word_count

AnswerKind = Literal["extractive", "generated", "not_found", "undecided"]


class AnswerRecord(BaseModel):
    """Base of an answer's parts."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Citation(AnswerRecord):
    """The lines a sentence rests on."""

    candidate_id: str
    document_id: str
    document_name: str
    page_start: int
    line_start: int
    page_end: int
    line_end: int


class AnswerSentence(AnswerRecord):
    """One sentence with what it rests on and the check of its quotations."""

    text: str
    citations: tuple[Citation, ...]
    quotes: tuple[QuoteCheck, ...] = ()


class Answer(AnswerRecord):
    """The answer to a question. ``statement`` says in the question's language what kind of answer this is,
    or what was searched in vain."""

    kind: AnswerKind
    language: str
    statement: str
    sentences: tuple[AnswerSentence, ...] = ()
    conflicts: tuple[ConflictPair, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Statement and sentences as running text."""
        return " ".join([self.statement, *(sentence.text for sentence in self.sentences)])


_STATEMENTS: dict[str, dict[str, str]] = {
    "en": {
        "extractive": "Quoted from the evidence, word for word; no model wrote this:",
        "conflicts": "The evidence contradicts itself; see the conflicts.",
        "absent": "Not found. Searched for {terms} in {titles} titles and {lines} lines: no hit.",
        "discarded": "Not found. {count} passages were judged and none carries the answer; a person should confirm.",
        "empty": "Not found. No passage came close enough to be judged; a person should confirm.",
        "undecided": "Not answered: the evidence is undecided and waits for a person.",
    },
    "es": {
        "extractive": "Citado de la evidencia, palabra por palabra; ningún modelo lo ha redactado:",
        "conflicts": "La evidencia se contradice; véanse los conflictos.",
        "absent": "No encontrado. Se buscó {terms} en {titles} títulos y {lines} líneas: ninguna coincidencia.",
        "discarded": "No encontrado. Se juzgaron {count} pasajes y ninguno contiene la respuesta; "
        "conviene que una persona lo confirme.",
        "empty": "No encontrado. Ningún pasaje se acercó lo bastante; conviene que una persona lo confirme.",
        "undecided": "Sin respuesta: la evidencia está sin decidir y espera a una persona.",
    },
}
_SENTENCE_END = re.compile(r"(?<=[.?!])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9ÁÉÍÓÚÑ¿¡•o])")
_FEWEST_WORDS = 4
LIST_FACTOR = 8  # a list needs more sentences than another answer


def write_answer(
    *, pool: CandidatePool, decision: Decision, services: StrategyServices | None = None
) -> Answer:
    """The extractive answer of a decision, in the question's language."""
    language = "es" if pool.question.language == "es" else "en"
    said = _STATEMENTS[language]
    if decision.not_found:
        return Answer(kind="not_found", language=language, statement=_not_found(pool, said))
    evidence = _evidence(pool, decision)
    if not evidence:
        return Answer(kind="undecided", language=language, statement=said["undecided"])
    chosen = _chosen(evidence, pool)
    statement = said["extractive"]
    if decision.conflicts:
        statement = f"{said['conflicts']} {statement}"
    return Answer(
        kind="extractive",
        language=language,
        statement=statement,
        sentences=tuple(AnswerSentence(text=s.text, citations=(s.citation,)) for s in chosen),
        conflicts=decision.conflicts,
    )


def _not_found(pool: CandidatePool, said: dict[str, str]) -> str:
    if pool.absence.proved:
        terms = ", ".join(f"«{term}»" for term in pool.absence.terms)
        titles, lines = pool.absence.titles_searched, pool.absence.lines_searched
        return said["absent"].format(terms=terms, titles=titles, lines=lines)
    if not pool.candidates:
        return said["empty"]
    return said["discarded"].format(count=len(pool.candidates))


def may_answer(verdict: Verdict) -> bool:
    """Whether an answer may stand on this verdict now. Not where a model decided and a person must look first, nor
    where the passage seems to give orders: whoever wrote it would else write the answer."""
    if verdict.decided_by.kind == "person":
        return True
    return not (verdict.injection_suspected or (verdict.needs_person and verdict.decided_by.kind == "llm"))


def _evidence(pool: CandidatePool, decision: Decision) -> list[PoolCandidate]:
    """Primary evidence; supporting where there is none; nothing weaker ever answers."""
    for role in (Role.PRIMARY, Role.SUPPORTING):
        ids = [v.candidate_id for v in decision.verdicts if v.role is role and may_answer(v)]
        found = [candidate for identity in ids if (candidate := pool.candidate(identity)) is not None]
        if found:
            return found
    return []


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    citation: Citation
    weight: float
    order: tuple[int, int]


def _chosen(evidence: Sequence[PoolCandidate], pool: CandidatePool) -> list[_Sentence]:
    """The sentences with the most keywords, the best evidence first on ties, in the order of the evidence; a
    list takes more of them."""
    weights = {k.term: k.weight for k in pool.question.keywords}
    sentences: list[_Sentence] = []
    for rank, candidate in enumerate(evidence):
        document = pool.document(candidate.document_id)
        matcher = TermMatcher(pool.question.terms(), document.language if document else "en")
        for index, (text, first, last) in enumerate(sentences_with_lines(candidate.anchor_text)):
            if word_count(text) < _FEWEST_WORDS:
                continue
            weight = sum(weights.get(term, 0.0) for term in matcher.matched(text)) + 1.0 / (1 + rank)
            citation = _citation(candidate, document.name if document else "", first, last)
            sentences.append(_Sentence(text, citation, weight, (rank, index)))
    limit = pool.settings.answer_sentences * (LIST_FACTOR if pool.question.answer_shape == "list" else 1)
    best = sorted(sentences, key=lambda s: -s.weight)[:limit]
    return sorted(best, key=lambda s: s.order)


def sentences_with_lines(text: str) -> Iterator[tuple[str, int, int]]:
    """Sentences of a text of several lines: (sentence on one line, first and last line index, 0-based)."""
    flat = " ".join(line.strip() for line in text.split("\n"))
    starts: list[int] = []
    position = 0
    for line in text.split("\n"):
        starts.append(position)
        position += len(line.strip()) + 1
    begin = 0
    cuts = [match.end() for match in _SENTENCE_END.finditer(flat)]
    for end in (*cuts, len(flat)):
        sentence = flat[begin:end].strip()
        if sentence:
            yield sentence, _line_of(begin, starts), _line_of(max(begin, end - 2), starts)
        begin = end


def _line_of(offset: int, starts: Sequence[int]) -> int:
    return max(index for index, start in enumerate(starts) if start <= offset)


def _citation(candidate: PoolCandidate, name: str, first: int, last: int) -> Citation:
    """Line numbers of a sentence; an anchor stands on one page unless a single line had to cross."""
    anchor = candidate.anchor
    numbers = candidate.anchor_lines
    return Citation(
        candidate_id=candidate.candidate_id,
        document_id=candidate.document_id,
        document_name=name,
        page_start=anchor.page_start,
        line_start=numbers[first],
        page_end=anchor.page_end,
        line_end=numbers[last],
    )
