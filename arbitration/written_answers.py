"""Answers written by a language model from the surviving evidence, and checked before anyone reads them.

A sentence is kept only when a passage it names exists and the words it quotes stand in that passage; what fails is
left out, and the record says so. Where nothing stands, the extractive answer takes its place. Under ``consensus`` the
final predictor writes the answer, from all that was kept, in the order its options ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from arbitration.answers import Answer, AnswerSentence, Citation, may_answer, write_answer
from arbitration.contracts import QuoteCheck, Role
from arbitration.decision import Decision
from arbitration.errors import LLMFailure
from arbitration.grounding import check_quotes
from arbitration.phrases import phrases
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import RenderedPrompt, fence, load_prompt
from arbitration.protocols import ChatRequest
from arbitration.strategies import consensus
from arbitration.strategies.base import Calls, StrategyServices
from arbitration.strategies.shortlist import read_options

PROMPT = "answer"
MOST_PASSAGES = 12


class DraftSentence(BaseModel):
    """One sentence as the model wrote it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    candidate_ids: list[str]
    quote: str


class AnswerDraft(BaseModel):
    """The model's answer; no sentences when the evidence does not answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sentences: list[DraftSentence]


def answer_with_model(*, pool: CandidatePool, decision: Decision, services: StrategyServices) -> Answer:
    """The written answer of a decision, in the question's language.

    Not-found and undecided results are never written about by a model: their statement is the extractive one. A
    model that fails, or of whose sentences none stands, leaves the extractive answer with a note.
    """
    extractive = write_answer(pool=pool, decision=decision, services=services)
    is_consensus = decision.strategy == consensus.NAME
    evidence = _kept(pool, decision, services) if is_consensus else _evidence(pool, decision)
    if services.chat is None or extractive.kind != "extractive" or not evidence:
        return extractive
    calls = Calls(services.chat)
    try:
        reply = calls.complete((_final_request if is_consensus else _request)(pool, evidence))
    except LLMFailure as failure:
        return _instead(extractive, calls, f"no written answer: {failure.outcome}")
    assert isinstance(reply.parsed, AnswerDraft)
    checked = [_checked(sentence, evidence, pool) for sentence in reply.parsed.sentences]
    kept = tuple(item for item in checked if isinstance(item, AnswerSentence))
    notes = tuple(item for item in checked if isinstance(item, str))
    if not kept:
        return _instead(extractive, calls, "no written answer: no sentence stood up to the check", *notes)
    return extractive.model_copy(
        update={
            "kind": "generated",
            "statement": phrases("answers", extractive.language)["written"],
            "sentences": kept,
            "calls": calls.records,
            "notes": notes,
        }
    )


def _instead(extractive: Answer, calls: Calls, *notes: str) -> Answer:
    return extractive.model_copy(update={"calls": calls.records, "notes": (*extractive.notes, *notes)})


@dataclass(frozen=True, slots=True)
class _Passage:
    candidate: PoolCandidate
    role: Role


def _all_evidence(pool: CandidatePool, decision: Decision) -> dict[str, _Passage]:
    """Primary and supporting passages in the order of the decision."""
    found: dict[str, _Passage] = {}
    for verdict in decision.verdicts:
        candidate = pool.candidate(verdict.candidate_id)
        if candidate is None or not may_answer(verdict):
            continue
        if verdict.role in (Role.PRIMARY, Role.SUPPORTING):
            found[verdict.candidate_id] = _Passage(candidate, verdict.role)
    return found


def _evidence(pool: CandidatePool, decision: Decision) -> dict[str, _Passage]:
    return dict(list(_all_evidence(pool, decision).items())[:MOST_PASSAGES])


def _kept(pool: CandidatePool, decision: Decision, services: StrategyServices) -> dict[str, _Passage]:
    """What the final predictor reads: all that was kept, in the order that the strategy's options ask for."""
    options = read_options(consensus.ConsensusOptions, services)
    kept = _all_evidence(pool, decision)
    return {identity: kept[identity] for identity in consensus.arranged(list(kept)[: options.k], options)}


def _final_request(pool: CandidatePool, evidence: dict[str, _Passage]) -> ChatRequest:
    prompt = load_prompt(consensus.ANSWER).render(
        question=fence(pool.question.text, label="question"),
        language=_language(pool),
        shape=pool.question.answer_shape,
        negative_cues="; ".join(pool.question.negative_cues),
        passages=[
            {"candidate_id": identity, "text": fence(passage.candidate.anchor_text, label=identity)}
            for identity, passage in evidence.items()
        ],
    )
    return _drafted(prompt, pool, temperature=0.0)


def _request(pool: CandidatePool, evidence: dict[str, _Passage]) -> ChatRequest:
    prompt = load_prompt(PROMPT).render(
        question=fence(pool.question.text, label="question"),
        language=_language(pool),
        shape=pool.question.answer_shape,
        negative_cues="; ".join(pool.question.negative_cues),
        evidence=[
            {
                "candidate_id": identity,
                "role": passage.role.value,
                "where": _where(passage.candidate),
                "text": fence(passage.candidate.context_text, label=identity),
            }
            for identity, passage in evidence.items()
        ],
    )
    return _drafted(prompt, pool, temperature=pool.settings.temperature)


def _language(pool: CandidatePool) -> str:
    return "Spanish" if pool.question.language == "es" else "English"


def _drafted(prompt: RenderedPrompt, pool: CandidatePool, *, temperature: float) -> ChatRequest:
    return prompt.request(
        schema=AnswerDraft,
        max_output_tokens=pool.settings.output_tokens(2048),
        temperature=temperature,
        timeout_s=pool.settings.timeout_s,
        retries=1,
        stage="answer",
    )


def _where(candidate: PoolCandidate) -> str:
    """Titles are text of the document, too."""
    if not candidate.breadcrumb:
        return f"page {candidate.anchor.page_start}"
    return fence(candidate.breadcrumb, label="where")


def _checked(
    sentence: DraftSentence, evidence: dict[str, _Passage], pool: CandidatePool
) -> AnswerSentence | str:
    """The sentence with its citations and the check of its quote; or why it was left out."""
    named = [evidence[identity].candidate for identity in sentence.candidate_ids if identity in evidence]
    text = " ".join(sentence.text.split())
    if not text or not named:
        return "a sentence was left out: it names no passage of the evidence"
    quote = _quote(sentence.quote, [candidate.context_text for candidate in named])
    if quote is None or quote.status == "unverified":
        return "a sentence was left out: its quotation is not in the passage it names"
    # Quotes inside the sentence itself must stand as well.
    inner = check_quotes(text, [candidate.context_text for candidate in named])
    if not inner.all_stand:
        return "a sentence was left out: it quotes words that are not in the passage it names"
    citations = tuple(_citation(candidate, quote.quote, pool) for candidate in named)
    return AnswerSentence(text=inner.text, citations=citations, quotes=(quote, *inner.quotes))


def _quote(words: str, sources: Sequence[str]) -> QuoteCheck | None:
    """The check of the carrying words; None when there are too few to mean anything."""
    plain = " ".join(words.replace("“", "").replace("”", "").split())
    checks = check_quotes(f"“{plain}”", sources).quotes
    return checks[0] if checks else None


def _citation(candidate: PoolCandidate, quote: str, pool: CandidatePool) -> Citation:
    """The anchor's lines that hold the quote; the whole anchor when it stands in the context around it."""
    document = pool.document(candidate.document_id)
    first, last = _lines_holding(quote, candidate.anchor_text.split("\n"))
    numbers = candidate.anchor_lines
    anchor = candidate.anchor
    return Citation(
        candidate_id=candidate.candidate_id,
        document_id=candidate.document_id,
        document_name=document.name if document else "",
        page_start=anchor.page_start,
        line_start=numbers[first] if first is not None else anchor.line_start,
        page_end=anchor.page_end,
        line_end=numbers[last] if last is not None else anchor.line_end,
    )


def _lines_holding(quote: str, lines: Sequence[str]) -> tuple[int | None, int | None]:
    """First and last index of the shortest run of lines that holds the quote; (None, None) when none does."""
    wanted = quote.casefold()
    for length in range(1, len(lines) + 1):
        for start in range(len(lines) - length + 1):
            run = " ".join(" ".join(line.split()) for line in lines[start : start + length])
            if wanted in run.casefold():
                return start, start + length - 1
    return None, None
