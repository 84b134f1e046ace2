"""Answers from the surviving evidence only, every sentence cited to its lines.

Without a language model the answer is extractive: whole sentences of the evidence, said to be so. What was
not found stays not found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict

from arbitration.answerability import answerability, in_words
from arbitration.contracts import ConflictPair, QuoteCheck, Role
from arbitration.decision import Decision
from arbitration.differences import SaidBy, difference_in_words, headline, is_same_matter
from arbitration.evidence import LATE_WEIGHT, log_odds
from arbitration.expected_values import ValueKind, expected_kinds, gives_value
from arbitration.leading import Weighed, giving_the_value
from arbitration.phrases import phrases
from arbitration.pool import CandidatePool, PoolCandidate, Precedence, PrecedenceKind
from arbitration.precedence.settle import precedence_of
from arbitration.sentences import (
    Sentence,
    is_whole,
    joined_sentences,
    sentences_of,
    without_heading,
    without_mark,
    without_next_heading,
)
from arbitration.strategies.base import CallRecord, StrategyServices, Verdict
from arbitration.tables import table_in_words
from arbitration.text import TermMatcher, quoted, supported_language, word_count

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


class TextDifference(AnswerRecord):
    """Two texts of the evidence of which one replaces the other: how they stand to each other, what each says in
    words, and the two sentences. ``in_force`` is ``None`` where that text is not known or may not be quoted."""

    kind: PrecedenceKind
    headline: str
    statement: str
    in_force: AnswerSentence | None = None
    replaced: AnswerSentence | None = None


class Answer(AnswerRecord):
    """The answer to a question. ``statement`` says in the question's language what kind of answer this is,
    or what was searched in vain."""

    kind: AnswerKind
    language: str
    statement: str
    sentences: tuple[AnswerSentence, ...] = ()
    differences: tuple[TextDifference, ...] = ()
    conflicts: tuple[ConflictPair, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Statement and sentences as running text."""
        return " ".join([self.statement, *(sentence.text for sentence in self.sentences)])


_Evidence = list[tuple[PoolCandidate, Verdict]]
_FEWEST_WORDS = 4
LIST_FACTOR = 8  # a list needs more sentences than another answer
_MOST_DIFFERENCES = 2
#: The figure that follows a number in words on the next line: "seven" and "(7) days".
_FIGURE_OF = re.compile(r"\(\d{1,4}\) ?[a-z]")
#: Words of the text around a passage that its last sentence is completed with, at most.
_MOST_ADDED = 60


def write_answer(
    *, pool: CandidatePool, decision: Decision, services: StrategyServices | None = None
) -> Answer:
    """The extractive answer of a decision, in the question's language."""
    language = supported_language(pool.question.language)
    said = phrases("answers", language)
    if decision.not_found:
        return Answer(kind="not_found", language=language, statement=_not_found(pool, said))
    evidence = _evidence(pool, decision)
    if not evidence:
        judged = _judged_near(decision)
        statement = said["judged" if judged else "undecided"].format(count=judged)
        return Answer(kind="not_found" if judged else "undecided", language=language, statement=statement)
    is_near_only = all(verdict.role is Role.TANGENTIAL for _, verdict in evidence)
    used = precedence_of(decision.artefacts)
    evidence = _in_force_first(evidence, used)
    chosen = _chosen(evidence, pool, _further(evidence, pool, decision))
    differences = _differences(chosen, evidence, used, decision, pool)
    told = {
        cite.candidate_id
        for one in differences
        if one.in_force and one.replaced
        for cite in one.replaced.citations
    }
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
        sentences=tuple(s.quoted for s in chosen if s.citation.candidate_id not in told),
        differences=differences,
        conflicts=decision.conflicts,
    )


def _judged_near(decision: Decision) -> int:
    """How many passages people judged tangential, where nothing else is left or waits for a person."""
    kept = [verdict for verdict in decision.verdicts if verdict.role is not Role.DISCARDED]
    is_judged = all(v.role is Role.TANGENTIAL and v.decided_by.kind == "person" for v in kept)
    return len(kept) if is_judged else 0


def _why(pool: CandidatePool, evidence: _Evidence, language: str) -> str:
    """What the nearest passages speak of and what none says, after a colon; empty where nothing is known."""
    words = in_words(answerability(pool, [candidate for candidate, _ in evidence]), language)
    return f": {words}" if words else ""


def _not_found(pool: CandidatePool, said: Mapping[str, str]) -> str:
    if pool.absence.proved:
        language = supported_language(pool.question.language)
        terms = ", ".join(quoted(term, language) for term in pool.absence.terms)
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


def _further(evidence: _Evidence, pool: CandidatePool, decision: Decision) -> _Evidence:
    """Supporting passages behind primary ones, of a question that asks for a value: theirs may be the one asked for."""
    if not expected_kinds(pool.question.normalised) or evidence[0][1].role is not Role.PRIMARY:
        return []
    verdicts = [v for v in decision.verdicts if v.role is Role.SUPPORTING and _may_be_quoted(v)]
    return [(c, v) for v in verdicts if (c := pool.candidate(v.candidate_id)) is not None]


def _in_force_first(evidence: _Evidence, used: tuple[Precedence, ...]) -> _Evidence:
    """The evidence with the texts that others of it replace behind these."""
    quoted = {verdict.candidate_id for _, verdict in evidence}
    replaced = {one.replaced_id for one in used if one.in_force_id is None or one.in_force_id in quoted}
    return sorted(evidence, key=lambda pair: pair[1].candidate_id in replaced)


def _differences(
    chosen: list[_Sentence],
    evidence: _Evidence,
    used: tuple[Precedence, ...],
    decision: Decision,
    pool: CandidatePool,
) -> tuple[TextDifference, ...]:
    """What the texts that the chosen sentences replace say, and which chosen sentences are replaced themselves."""
    language = supported_language(pool.question.language)
    verdicts = {verdict.candidate_id: verdict for verdict in decision.verdicts}
    found = []
    for one in used:
        made = None
        if one.in_force_id in {s.citation.candidate_id for s in chosen}:
            under, verdict = pool.candidate(one.replaced_id), verdicts.get(one.replaced_id)
            if one.kind != "exception" and under and verdict and _is_kept(verdict):
                made = _difference(
                    one, chosen, _sentences(under, verdict, len(evidence), pool), pool, language
                )
        else:
            own = [s for s in chosen if s.citation.candidate_id == one.replaced_id]
            if own and one.kind != "exception":
                made = _over(one, own[0], pool, language)
        if made is not None:
            found.append(made)
    return tuple(found[:_MOST_DIFFERENCES])


def _is_kept(verdict: Verdict) -> bool:
    return verdict.role in (Role.PRIMARY, Role.SUPPORTING) and may_answer(verdict)


def _difference(
    one: Precedence, chosen: list[_Sentence], others: list[_Sentence], pool: CandidatePool, language: str
) -> TextDifference | None:
    """The first sentence of the text in force on whose matter the replaced text says something else."""
    for new in (s for s in chosen if s.citation.candidate_id == one.in_force_id):
        for old in sorted(others, key=lambda s: -s.weight):
            if is_same_matter(new.text, old.text, new.language):
                return TextDifference(
                    kind=one.kind,
                    headline=headline(one, pool, language),
                    statement=difference_in_words(one, new.said_by, old.said_by, language),
                    in_force=new.quoted,
                    replaced=old.quoted,
                )
    return None


def _over(one: Precedence, old: _Sentence, pool: CandidatePool, language: str) -> TextDifference:
    """A quoted sentence of a text that is over, where what follows it is not known or may not be quoted."""
    return TextDifference(
        kind=one.kind, headline=headline(one, pool, language), statement=one.reason, replaced=old.quoted
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence(Weighed):
    citation: Citation
    candidate: PoolCandidate
    first: int
    is_whole: bool

    @property
    def quoted(self) -> AnswerSentence:
        return AnswerSentence(text=self.text, citations=(self.citation,))

    @property
    def said_by(self) -> SaidBy:
        return SaidBy(self.text, self.candidate, self.first)


def _chosen(evidence: _Evidence, pool: CandidatePool, further: _Evidence) -> list[_Sentence]:
    """The sentences that match the question best, in the order of the evidence; a list takes more of them. Where the
    sentences were compared with the question word by word, the best one of the best evidence comes first, or the one
    that gives the value asked for."""
    everything = [
        sentence
        for rank, (candidate, verdict) in enumerate([*evidence, *further])
        for sentence in _sentences(candidate, verdict, rank, pool)
    ]
    everything = [s for s in everything if s.is_whole] or everything
    sentences = [s for s in everything if s.order[0] < len(evidence)] or everything
    limit = pool.settings.answer_sentences * (LIST_FACTOR if pool.question.answer_shape == "list" else 1)
    best = sorted(sentences, key=lambda s: -s.weight)[:limit]
    chosen = sorted(best, key=lambda s: s.order)
    if not evidence[0][0].sentence_matches:
        return chosen
    lead = max((s for s in sentences if s.order[0] == 0), key=lambda s: s.weight, default=None)
    if lead is None:
        return chosen
    lead = giving_the_value(lead, everything, pool.question)
    return [lead, *(s for s in chosen if s is not lead)][:limit]


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
    wanted = TermMatcher(pool.question.terms(), language)
    kinds = expected_kinds(pool.question.normalised)
    return [
        made
        for index, (sentence, weight) in enumerate(joined_sentences(found, weights))
        if word_count(
            (made := _made(sentence, weight, (rank, index), candidate, name, wanted, language, kinds)).text
        )
        >= _FEWEST_WORDS
    ]


def _made(
    sentence: Sentence,
    weight: float,
    order: tuple[int, int],
    candidate: PoolCandidate,
    name: str,
    wanted: TermMatcher,
    language: str,
    kinds: frozenset[ValueKind],
) -> _Sentence:
    """A sentence as an answer quotes it: without the headings around it, a table's row in words. An introduction is no
    sentence by itself, unless it gives a value of the ``kinds`` asked for."""
    sentence = replace(sentence, text=without_mark(sentence.text))
    text = without_heading(sentence.text, candidate.section_title)
    opening = candidate.anchor_text.split("\n")[sentence.first].strip()
    if text[:1].islower() and len(opening) > len(sentence.text) - len(text):
        text = sentence.text  # its title's words begin the sentence
    text = without_next_heading(text)
    if sentence.first == 0 and text == sentence.text and (text[:1].islower() or _FIGURE_OF.match(text)):
        text = f"{_begun_before(candidate)} {text}".strip()
    lines = candidate.anchor_text.split("\n")[sentence.first : sentence.last + 1]
    in_table = table_in_words(lines, wanted, before=_lines_before(candidate, sentence.first))
    is_last = sentence.last + 1 == len(candidate.anchor_lines)
    follows = _behind(candidate) if is_last else ""
    if follows:
        text = f"{text} {_ended_behind(text, follows)}".strip()
    return _Sentence(
        text=without_heading(in_table, candidate.section_title) if in_table else text,
        citation=_citation(candidate, name, sentence),
        weight=weight,
        order=order,
        candidate=candidate,
        first=sentence.first,
        language=language,
        is_whole=bool(in_table)
        or is_whole(text, title=candidate.section_title, follows=follows)
        or (text.endswith(":") and gives_value(text, kinds)),
    )


def _begun_before(candidate: PoolCandidate) -> str:
    """The beginning of a sentence that the candidate holds the end of, from the text around it."""
    before, found, _ = _parted(candidate)
    begun = sentences_of(before)[-1:] if found else []
    return next((s.text for s in begun if not s.text.endswith((".", "?", "!", ";", ":"))), "")


def _ended_behind(text: str, follows: str) -> str:
    """The end of a sentence that the candidate holds the beginning of; empty where it is whole, or the rest is long."""
    is_open = text[-1:].isalnum() or text.endswith((",", ";"))
    runs_over = follows[:1].islower() or _FIGURE_OF.match(follows)
    if not (is_open and runs_over):
        return ""
    rest = sentences_of(follows)[0].text
    return rest if word_count(rest) <= _MOST_ADDED and rest.endswith((".", "?", "!", "”", ")")) else ""


def _behind(candidate: PoolCandidate) -> str:
    """What follows the candidate in the text around it."""
    return _parted(candidate)[2].strip()


def _lines_before(candidate: PoolCandidate, first: int) -> Sequence[str]:
    """The lines before one of the candidate's, as they are set: its own, and those of the text around it."""
    before, found, _ = candidate.context_text.partition(candidate.anchor_text)
    around = before.rstrip("\n").split("\n") if found and before else []
    return [*around, *candidate.anchor_text.split("\n")[:first]]


def _parted(candidate: PoolCandidate) -> tuple[str, str, str]:
    """The text around the candidate: before it, its own (empty where that is not found), and behind it."""
    around, own = (" ".join(text.split()) for text in (candidate.context_text, candidate.anchor_text))
    return around.partition(own)


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
