"""Reading a question with a language model, on top of the deterministic parser (engines.md, "Question parsing").

The model adds; it never takes away. What it calls the question's own keywords must stand in the question, else they
count as rewordings, and rewordings never take part in the proof of absence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field

from arbitration.prompting import fence, load_prompt
from arbitration.protocols import ChatRequest
from arbitration.questions.model import Intent, Keyword, KeywordGroup, ParsedQuestion
from arbitration.questions.parser import PRIMARY_WEIGHT, SECONDARY_WEIGHT, without_exclusions
from arbitration.text import TermMatcher, normalise, words

PROMPT = "question"
MOST_EXTRACTED, MOST_REWRITTEN, MOST_PARTS = 3, 5, 4
_LONGEST_TERM = 8  # words; a longer "keyword" is a sentence


class QuestionReading(BaseModel):
    """What the model says of a question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    corrected_question: str
    extracted_keywords: list[str]
    rewritten_keywords: list[str]
    intent: Intent
    sub_questions: list[str]
    hints: list[str]
    clarification: str | None


class QuestionEdits(BaseModel):
    """A person's own keywords for a re-run; they replace the parser's. Each list at most 40 terms."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    primary: tuple[str, ...] = Field(default=(), max_length=40)
    secondary: tuple[str, ...] = Field(default=(), max_length=40)


def reading_request(question: ParsedQuestion, *, documents: Sequence[str], timeout_s: float) -> ChatRequest:
    """The one structured call."""
    prompt = load_prompt(PROMPT).render(
        question=fence(question.text, label="question"),
        documents=", ".join(documents) or "unknown",
        language=question.language,
    )
    return prompt.request(
        schema=QuestionReading, max_output_tokens=1024, timeout_s=timeout_s, retries=1, stage="parse"
    )


def with_reading(question: ParsedQuestion, reading: QuestionReading) -> ParsedQuestion:
    """The parsed question with what the model added; the parser's own findings stay."""
    corrected = normalise(reading.corrected_question)
    own, foreign = _split(
        reading.extracted_keywords[:MOST_EXTRACTED], question, without_exclusions(corrected)
    )
    rewritten = [*foreign, *_wanted(_terms(reading.rewritten_keywords), question)[:MOST_REWRITTEN]]
    added = [
        *(Keyword(term=term, source="question", weight=PRIMARY_WEIGHT, group="primary") for term in own),
        *(Keyword(term=t, source="rewrite", weight=SECONDARY_WEIGHT, group="secondary") for t in rewritten),
    ]
    parts = [normalise(part) for part in reading.sub_questions[:MOST_PARTS] if part.strip()]
    searched = [without_exclusions(part) for part in parts]
    is_corrected = bool(corrected) and corrected.casefold() != question.normalised.casefold()
    wordings = [without_exclusions(corrected)] if is_corrected else []
    if rewritten:
        wordings.append(" ".join(rewritten))
    return question.model_copy(
        update={
            "keywords": _distinct([*question.keywords, *added]),
            "rewrites": tuple(dict.fromkeys([*question.rewrites, *wordings, *searched])),
            "intent": reading.intent if question.intent == "qa" else question.intent,
            "corrected": corrected if is_corrected else None,
            "sub_questions": tuple(parts),
            "hints": tuple(hint.strip() for hint in reading.hints if hint.strip())[:MOST_PARTS],
            "clarification": (reading.clarification or "").strip() or None,
        }
    )


def with_edits(question: ParsedQuestion, edits: QuestionEdits) -> ParsedQuestion:
    """The parsed question with a person's keywords in place of all others."""
    keywords = [
        *_edited(edits.primary, "primary", PRIMARY_WEIGHT),
        *_edited(edits.secondary, "secondary", SECONDARY_WEIGHT),
    ]
    if not keywords:
        return question
    return question.model_copy(update={"keywords": _distinct(keywords)})


def _edited(terms: Iterable[str], group: KeywordGroup, weight: float) -> list[Keyword]:
    return [Keyword(term=term, source="question", weight=weight, group=group) for term in _terms(terms)]


def _split(terms: Sequence[str], question: ParsedQuestion, corrected: str) -> tuple[list[str], list[str]]:
    """Terms that stand in the question or its corrected form, and the others."""
    candidates = _wanted(_terms(terms), question)
    matcher = TermMatcher(candidates, question.language)
    standing = {*matcher.matched(question.retrieval_text), *matcher.matched(corrected)}
    # A corrected word may enter only where the question has a word like it, not a new subject.
    allowed = len(words(corrected)) <= len(words(question.retrieval_text)) + 2
    own = [term for term in candidates if term in standing and allowed]
    return own, [term for term in candidates if term not in own]


def _wanted(terms: Sequence[str], question: ParsedQuestion) -> list[str]:
    """The terms without those that the question rules out: they stand there and nowhere else in it."""
    matcher = TermMatcher(terms, question.language)
    ruled_out = {term for cue in question.negative_cues for term in matcher.matched(cue)}
    return [
        term for term in terms if term not in ruled_out or term in matcher.matched(question.retrieval_text)
    ]


def _terms(given: Iterable[str]) -> list[str]:
    plain = (normalise(term).strip(" .,;:\"'") for term in given)
    return list(
        dict.fromkeys(term for term in plain if term and len(words(term)) in range(1, _LONGEST_TERM + 1))
    )


def _distinct(keywords: Iterable[Keyword]) -> tuple[Keyword, ...]:
    """Each term once; the first naming wins."""
    kept: dict[str, Keyword] = {}
    for keyword in keywords:
        kept.setdefault(keyword.term.lower(), keyword)
    return tuple(kept.values())
