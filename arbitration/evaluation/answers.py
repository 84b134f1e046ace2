"""What an answer is worth: against the reference, against its own sources, and for its time.

The judge is another model than the one that answered. A judge that fails leaves its figures of that question out and
is counted; it is never a verdict. Without a judge the figures that need none remain: inclusion of the exact answer,
sentences whose words stand in their source, characters per second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from arbitration.answers import Answer, AnswerSentence
from arbitration.errors import LLMFailure
from arbitration.evaluation.intervals import Bootstrap, Interval
from arbitration.evaluation.records import EvalQuestion
from arbitration.pool import CandidatePool
from arbitration.prompting import fence, load_prompt
from arbitration.protocols import ChatModel
from arbitration.text import normalise

#: At most so many of the passages an answer was written from are shown to the judge.
MOST_CONTEXTS = 12
ANSWER_METRICS = (
    "answer_similarity",
    "retrieval_precision",
    "similarity_x_precision",
    "answer_inclusion",
    "faithfulness",
    "quotes_stand",
    "characters_per_second",
    "judge_failures",
)


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SimilarityVerdict(_Said):
    """The judge's comparison with the reference."""

    reasoning: str
    score: int = Field(ge=0, le=5)


class YesNo(_Said):
    """One verdict; ``yes`` means helps (a passage) or is supported (a sentence)."""

    id: str
    yes: bool


class YesNoVerdicts(_Said):
    """Verdicts by id."""

    verdicts: list[YesNo]


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """The figures of one answer, by metric; NaN where a figure does not apply or the judge failed.
    ``cluster`` is the question they belong to."""

    cluster: str
    values: Mapping[str, float]


class AnswerJudge:
    """Judges the answers of a labelled set; without ``chat``, by what needs no judge."""

    def __init__(self, chat: ChatModel | None = None, *, timeout_s: float = 60.0) -> None:
        self._chat = chat
        self._timeout_s = timeout_s

    def figures(
        self,
        *,
        question: EvalQuestion,
        pool: CandidatePool,
        answer: Answer,
        evidence_ids: Sequence[str],
        seconds: float,
    ) -> AnswerFigures:
        """The figures of one answer. ``evidence_ids`` are the candidates it was written from, best first; ``seconds``
        is the time from question to answer."""
        said = " ".join(sentence.text for sentence in answer.sentences) or answer.statement
        values = dict.fromkeys(ANSWER_METRICS, float("nan"))
        values["characters_per_second"] = len(said) / seconds if seconds > 0 else float("nan")
        if answer.sentences:
            stand = [words_stand(sentence, pool) for sentence in answer.sentences]
            values["quotes_stand"] = float(np.mean(stand))
        if question.answer:
            values["answer_inclusion"] = float(_plain(question.answer) in _plain(said))
        if self._chat is not None:
            values |= self._judged(self._chat, question, pool, answer, said, evidence_ids)
        return AnswerFigures(question.qid, values)

    def _judged(
        self,
        chat: ChatModel,
        question: EvalQuestion,
        pool: CandidatePool,
        answer: Answer,
        said: str,
        evidence_ids: Sequence[str],
    ) -> dict[str, float]:
        values: dict[str, float] = {}
        failures = 0
        asked: dict[str, Callable[[], float]] = {
            "answer_similarity": lambda: self._similarity(chat, question, said),
            "retrieval_precision": lambda: self._precision(chat, question, pool, evidence_ids),
            "faithfulness": lambda: self._faithfulness(chat, question, pool, answer),
        }
        for name, ask in asked.items():
            try:
                values[name] = ask()
            except LLMFailure:
                values[name] = float("nan")
                failures += 1
        values["similarity_x_precision"] = values["answer_similarity"] * values["retrieval_precision"]
        values["judge_failures"] = float(failures > 0)
        return values

    def _similarity(self, chat: ChatModel, question: EvalQuestion, said: str) -> float:
        if not question.answer:
            return float("nan")
        prompt = load_prompt("judge-similarity").render(
            question=fence(question.text, label="question"),
            reference=fence(question.answer, label="reference"),
            answer=fence(said, label="answer"),
        )
        reply = chat.complete(
            prompt.request(schema=SimilarityVerdict, timeout_s=self._timeout_s, retries=1, stage="judge")
        )
        assert isinstance(reply.parsed, SimilarityVerdict)
        return float(reply.parsed.score)

    def _precision(
        self, chat: ChatModel, question: EvalQuestion, pool: CandidatePool, evidence_ids: Sequence[str]
    ) -> float:
        if not evidence_ids:
            return 0.0  # nothing was brought for a question that has an answer
        found = [pool.candidate(identity) for identity in evidence_ids[:MOST_CONTEXTS]]
        texts = {f"c{i}": candidate.context_text for i, candidate in enumerate(found) if candidate}
        prompt = load_prompt("judge-contexts").render(
            question=fence(question.text, label="question"),
            reference=fence(question.answer, label="reference") if question.answer else "",
            contexts=[{"id": key, "text": fence(text, label=key)} for key, text in texts.items()],
        )
        reply = chat.complete(
            prompt.request(schema=YesNoVerdicts, timeout_s=self._timeout_s, retries=1, stage="judge")
        )
        return _share_of_yes(reply.parsed, texts)

    def _faithfulness(
        self, chat: ChatModel, question: EvalQuestion, pool: CandidatePool, answer: Answer
    ) -> float:
        if not answer.sentences:
            return float("nan")
        sentences = {f"s{i}": sentence for i, sentence in enumerate(answer.sentences)}
        prompt = load_prompt("judge-sentences").render(
            question=fence(question.text, label="question"),
            sentences=[
                {
                    "id": key,
                    "text": fence(sentence.text, label=key),
                    "cited": fence("\n".join(_cited(sentence, pool)), label=f"{key}-source"),
                }
                for key, sentence in sentences.items()
            ],
        )
        reply = chat.complete(
            prompt.request(schema=YesNoVerdicts, timeout_s=self._timeout_s, retries=1, stage="judge")
        )
        return _share_of_yes(reply.parsed, sentences)


def _share_of_yes(said: BaseModel | None, asked: Mapping[str, object]) -> float:
    """Mean over the ids asked about; the first verdict on an id counts, unknown ids are ignored. Raises
    :class:`LLMFailure` when an id has no verdict."""
    assert isinstance(said, YesNoVerdicts)
    first: dict[str, bool] = {}
    for verdict in said.verdicts:
        first.setdefault(verdict.id, verdict.yes)
    missing = [key for key in asked if key not in first]
    if missing:
        raise LLMFailure("wrong_schema", f"the judge left out {', '.join(missing)}")
    return float(np.mean([first[key] for key in asked]))


def words_stand(sentence: AnswerSentence, pool: CandidatePool) -> bool:
    """Whether what a sentence quotes stands in its source; a sentence without quotations is one itself."""
    if sentence.quotes:
        return all(quote.status != "unverified" for quote in sentence.quotes)
    return any(_plain(sentence.text) in _plain(text) for text in _cited(sentence, pool))


def _cited(sentence: AnswerSentence, pool: CandidatePool) -> list[str]:
    found = [pool.candidate(citation.candidate_id) for citation in sentence.citations]
    return list(dict.fromkeys(candidate.context_text for candidate in found if candidate))


def _plain(text: str) -> str:
    return " ".join(normalise(text).casefold().split()).strip(" .")


def answer_metrics(figures: Sequence[AnswerFigures], *, seed: int = 0) -> dict[str, Interval]:
    """Every metric of :data:`ANSWER_METRICS` with its interval over questions."""
    bootstrap = Bootstrap([figure.cluster for figure in figures], seed=seed)
    return {
        name: bootstrap.mean(np.array([figure.values[name] for figure in figures], dtype=np.float64))
        for name in ANSWER_METRICS
    }
