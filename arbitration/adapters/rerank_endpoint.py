"""A cross-encoder behind a rerank API. Implements ``protocols.CrossEncoder``.

Two shapes are in use: that of Cohere, which Jina, vLLM, LiteLLM and llama.cpp share, and that of Hugging Face's Text
Embeddings Inference (TEI). A call passes guard, ledger and breaker like a chat call, as a request of stage ``rerank``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Unpack

from arbitration import bounded_json
from arbitration.adapters.endpoint_calls import (
    CallerOptions,
    EndpointCaller,
    Reading,
    call_of_texts,
    sendable,
)
from arbitration.adapters.endpoints import Endpoint, Usage
from arbitration.errors import LLMFailure

Dialect = Literal["cohere", "tei"]

#: Texts of one call: TEI's own limit is 32 a batch unless its operator raises it, Cohere's is 1,000.
BATCH_TEXTS = {"cohere": 100, "tei": 32}
#: A passage's characters that are sent at most: such models read 512 tokens, newer ones 8,000.
TEXT_CHARACTERS = 8_000


class EndpointReranker:
    """Scores of passages for a question, 0 to 1. Thread-safe; create it after a fork and close it when done.

    Raises ``LLMFailure`` like a chat call. A server that gives raw scores instead of probabilities is understood: what
    lies outside [0, 1] goes through the logistic function.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        dialect: Dialect = "cohere",
        timeout_s: float = 20.0,
        retries: int = 1,
        **options: Unpack[CallerOptions],
    ) -> None:
        self.endpoint = endpoint
        self._dialect = dialect
        self._timeout_s = timeout_s
        self._retries = retries
        self._caller = EndpointCaller(endpoint, **options)

    @property
    def name(self) -> str:
        """Model name, as recorded with each verdict."""
        return self.endpoint.model

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """A score for each passage, in their order."""
        size = BATCH_TEXTS[self._dialect]
        sent = [sendable(text, TEXT_CHARACTERS) for text in passages]
        raw = [
            score
            for start in range(0, len(sent), size)
            for score in self._batch(question, sent[start : start + size])
        ]
        if all(0.0 <= score <= 1.0 for score in raw):
            return raw
        return [_logistic(score) for score in raw]

    def _batch(self, question: str, passages: list[str]) -> list[float]:
        call = call_of_texts(
            self.endpoint,
            "/rerank",
            self._body(sendable(question, TEXT_CHARACTERS), passages),
            prompt_name="rerank",
            stage="rerank",
            texts=[question, *passages],
            timeout_s=self._timeout_s,
            retries=self._retries,
            parameters={"texts": len(passages), "dialect": self._dialect},
        )
        done = self._caller.call(
            call, read=lambda text: _read(text, count=len(passages), endpoint=self.endpoint)
        )
        return done.value

    def _body(self, question: str, passages: list[str]) -> dict[str, Any]:
        if self._dialect == "tei":
            return {"query": question, "texts": passages, "raw_scores": False, "truncate": True}
        return {
            "model": self.endpoint.model,
            "query": question,
            "documents": passages,
            "top_n": len(passages),
            "return_documents": False,
        }


def _logistic(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, score))))


def _read(body: str, *, count: int, endpoint: Endpoint) -> Reading[list[float]]:
    """The scores in the order of the texts; either shape is understood whichever was asked for."""
    try:
        answer = bounded_json.loads(body)
        rows = answer if isinstance(answer, list) else answer["results"]
        found = {
            int(row["index"]): float(row["relevance_score"] if "relevance_score" in row else row["score"])
            for row in rows
        }
        usage = _usage({} if isinstance(answer, list) else answer)
    except (ValueError, KeyError, TypeError, AttributeError):
        failure = LLMFailure("unparseable", f"endpoint {endpoint.name} sent something else than scores")
        return Reading(Usage(), "", failure=failure)
    is_whole = sorted(found) == list(range(count)) and len(rows) == count
    if not is_whole or not all(math.isfinite(score) for score in found.values()):
        message = f"endpoint {endpoint.name} did not send one score for each of {count} passages"
        return Reading(usage, "", failure=LLMFailure("wrong_schema", message))
    return Reading(usage, "stop", value=[found[place] for place in range(count)])


def _usage(answer: dict[str, Any]) -> Usage:
    """Tokens as Jina and vLLM (``usage``) or Cohere (``meta.tokens``) state them; 0 where nobody does."""
    stated = answer.get("usage") or {}
    tokens = (answer.get("meta") or {}).get("tokens") or {}
    for used in (stated.get("total_tokens"), stated.get("prompt_tokens"), tokens.get("input_tokens")):
        if isinstance(used, int | float):
            return Usage(input_tokens=int(used))
    return Usage()
