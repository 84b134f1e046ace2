"""Answers from the surviving evidence only, every sentence cited to its lines.

Without a language model the answer is extractive: whole sentences of the evidence, said to be so. What was
not found stays not found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from arbitration.answerability import answerability, in_words
from arbitration.contracts import ConflictPair, QuoteCheck, Role
from arbitration.decision import Decision
from arbitration.evidence import LATE_WEIGHT, log_odds
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.sentences import Sentence, is_heading, sentences_of, without_heading
from arbitration.strategies.base import CallRecord, StrategyServices, Verdict
from arbitration.text import TermMatcher, supported_language, word_count

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
        "extractive": "Direct quotes from the evidence:",
        "nearest": "No strong match{why}. The nearest passages, word for word; "
        "a person should decide whether they answer:",
        "conflicts": "The evidence contradicts itself; see the conflicts.",
        "absent": "Not found. Searched for {terms} in {titles} titles and {lines} lines: no hit.",
        "discarded": "Not found. {count} passages checked; none answers this question. A person should confirm.",
        "empty": "Not found. No passage came close enough to be judged; a person should confirm.",
        "undecided": "Answer pending: the evidence needs review.",
    },
    "es": {
        "extractive": "Citas directas de la evidencia:",
        "nearest": "Sin coincidencia clara{why}. Los pasajes más cercanos, palabra por palabra; "
        "una persona debe decidir si responden:",
        "conflicts": "La evidencia se contradice; véanse los conflictos.",
        "absent": "No encontrado. Se buscó {terms} en {titles} títulos y {lines} líneas: ninguna coincidencia.",
        "discarded": "No encontrado. {count} pasajes revisados; ninguno responde a esta pregunta. "
        "Una persona debe confirmarlo.",
        "empty": "No encontrado. Ningún pasaje se acercó lo bastante; conviene que una persona lo confirme.",
        "undecided": "Respuesta pendiente: la evidencia está por revisar.",
    },
}
_Evidence = list[tuple[PoolCandidate, Verdict]]
_FEWEST_WORDS = 4
LIST_FACTOR = 8  # a list needs more sentences than another answer


def write_answer(
    *, pool: CandidatePool, decision: Decision, services: StrategyServices | None = None
) -> Answer:
    """The extractive answer of a decision, in the question's language."""
    language = supported_language(pool.question.language)
    said = _STATEMENTS[language]
    if decision.not_found:
        return Answer(kind="not_found", language=language, statement=_not_found(pool, said))
    evidence = _evidence(pool, decision)
    if not evidence:
        return Answer(kind="undecided", language=language, statement=said["undecided"])
    is_near_only = all(verdict.role is Role.TANGENTIAL for _, verdict in evidence)
    chosen = _chosen(evidence, pool)
    statement = said["extractive"]
    if is_near_only:
        why = _why(pool, evidence, language) if decision.no_strong_match else ""
        statement = said["nearest"].format(why=why)
    if decision.conflicts:
        statement = f"{said['conflicts']} {statement}"
    return Answer(
        kind="extractive",
        language=language,
        statement=statement,
        sentences=tuple(AnswerSentence(text=s.text, citations=(s.citation,)) for s in chosen),
        conflicts=decision.conflicts,
    )


def _why(pool: CandidatePool, evidence: _Evidence, language: str) -> str:
    """What the nearest passages speak of and what none says, after a colon; empty where nothing is known."""
    words = in_words(answerability(pool, [candidate for candidate, _ in evidence]), language)
    return f": {words}" if words else ""


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


def _evidence(pool: CandidatePool, decision: Decision) -> _Evidence:
    """Primary evidence; supporting where there is none; else the nearest passages, as long as no model judged them."""
    for role in (Role.PRIMARY, Role.SUPPORTING, Role.TANGENTIAL):
        verdicts = [v for v in decision.verdicts if v.role is role and _may_be_quoted(v)]
        found = [(c, v) for v in verdicts if (c := pool.candidate(v.candidate_id)) is not None]
        if found:
            return found
    return []


def _may_be_quoted(verdict: Verdict) -> bool:
    is_judged = verdict.decided_by.kind in {"llm", "person"}
    return may_answer(verdict) and not (verdict.role is Role.TANGENTIAL and is_judged)


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    citation: Citation
    weight: float
    order: tuple[int, int]


def _chosen(evidence: _Evidence, pool: CandidatePool) -> list[_Sentence]:
    """The sentences that match the question best, in the order of the evidence; a list takes more of them. Where the
    sentences were compared with the question word by word, the best one of the best evidence comes first."""
    sentences = [
        sentence
        for rank, (candidate, verdict) in enumerate(evidence)
        for sentence in _sentences(candidate, verdict, rank, pool)
    ]
    limit = pool.settings.answer_sentences * (LIST_FACTOR if pool.question.answer_shape == "list" else 1)
    best = sorted(sentences, key=lambda s: -s.weight)[:limit]
    chosen = sorted(best, key=lambda s: s.order)
    if not evidence[0][0].sentence_matches:
        return chosen
    lead = max((s for s in sentences if s.order[0] == 0), key=lambda s: s.weight, default=None)
    return chosen if lead is None else [lead, *(s for s in chosen if s is not lead)][:limit]


def _sentences(candidate: PoolCandidate, verdict: Verdict, rank: int, pool: CandidatePool) -> list[_Sentence]:
    """The sentences of one candidate, with a weight: log-odds from their own match and the candidate's estimate, or
    else their keywords."""
    document = pool.document(candidate.document_id)
    name, language = (document.name, document.language) if document else ("", "en")
    found = sentences_of(candidate.anchor_text)
    if len(candidate.sentence_matches) == len(found):
        estimate = log_odds(verdict.probability or 0.0)
        weights = [LATE_WEIGHT * match + estimate for match in candidate.sentence_matches]
    else:
        weights = _by_keywords(found, pool, language, rank)
    sentences = [
        _Sentence(
            without_heading(sentence.text, candidate.section_title),
            _citation(candidate, name, sentence),
            weight,
            (rank, index),
        )
        for index, (sentence, weight) in enumerate(zip(found, weights, strict=True))
        if word_count(sentence.text) >= _FEWEST_WORDS
    ]
    return [
        s for s in sentences if not is_heading(s.text) and word_count(s.text) >= _FEWEST_WORDS
    ] or sentences


def _by_keywords(sentences: Sequence[Sentence], pool: CandidatePool, language: str, rank: int) -> list[float]:
    """The weight of each sentence's keywords, the best evidence first on ties."""
    weights = {k.term: k.weight for k in pool.question.keywords}
    matcher = TermMatcher(pool.question.terms(), language)
    return [
        sum(weights.get(term, 0.0) for term in matcher.matched(sentence.text)) + 1.0 / (1 + rank)
        for sentence in sentences
    ]


def _citation(candidate: PoolCandidate, name: str, sentence: Sentence) -> Citation:
    """Line numbers of a sentence; an anchor stands on one page unless a single line had to cross."""
    anchor = candidate.anchor
    numbers = candidate.anchor_lines
    return Citation(
        candidate_id=candidate.candidate_id,
        document_id=candidate.document_id,
        document_name=name,
        page_start=anchor.page_start,
        line_start=numbers[sentence.first],
        page_end=anchor.page_end,
        line_end=numbers[sentence.last],
    )
