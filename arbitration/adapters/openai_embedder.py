"""Embeddings from any OpenAI-compatible endpoint. Implements ``protocols.Embedder``."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any, Unpack
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

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

Vectors = npt.NDArray[np.float32]

#: Limits of one call: texts, and characters of all of them (OpenAI: 2,048 texts and 300,000 tokens).
BATCH_TEXTS = 256
BATCH_CHARACTERS = 300_000
#: A text's characters that are sent at most: about 8,000 tokens, what such models read.
TEXT_CHARACTERS = 24_000


class OpenAIEmbedder:
    """Unit vectors by ``/embeddings``. Thread-safe; create it after a fork and close it when done.

    ``dimensions`` asks the model for shorter vectors. Without it the width is learnt from the first answer,
    which :attr:`space` and :attr:`width` ask for if need be. Raises ``LLMFailure`` like a chat call; guard
    and ledger see each batch as a request of stage ``embed``.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        dimensions: int | None = None,
        timeout_s: float = 30.0,
        retries: int = 2,
        **options: Unpack[CallerOptions],
    ) -> None:
        self.endpoint = endpoint
        self._dimensions = dimensions
        self._timeout_s = timeout_s
        self._retries = retries
        self._width = dimensions
        self._width_lock = threading.Lock()
        self._caller = EndpointCaller(endpoint, **options)

    @property
    def space(self) -> str:
        """Model, host and width: one embedding space."""
        return f"{self.endpoint.model}@{urlsplit(self.endpoint.base_url).netloc}/{self.width}"

    @property
    def width(self) -> int:
        """Length of a vector."""
        if self._width is None:
            self.embed(["width"])
        if self._width is None:
            raise LLMFailure("wrong_schema", f"endpoint {self.endpoint.name} returned vectors of no length")
        return self._width

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (len(texts), width), in the order of ``texts``."""
        if not texts:
            return np.zeros((0, self.width), dtype=np.float32)
        return np.vstack([self._embed_batch(batch) for batch in _batches(texts)])

    def _embed_batch(self, texts: list[str]) -> Vectors:
        body: dict[str, Any] = {"model": self.endpoint.model, "input": texts, "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        call = call_of_texts(
            self.endpoint,
            "/embeddings",
            body,
            prompt_name="embedding",
            stage="embed",
            texts=texts,
            timeout_s=self._timeout_s,
            retries=self._retries,
            parameters={"texts": len(texts), "dimensions": self._dimensions},
        )
        done = self._caller.call(
            call, read=lambda text: _read(text, count=len(texts), endpoint=self.endpoint)
        )
        self._check_width(done.value.shape[1])
        return done.value

    def _check_width(self, width: int) -> None:
        """All vectors of one embedder have the width of the first."""
        with self._width_lock:
            if self._width is None:
                self._width = width
        if width != self._width:
            raise LLMFailure(
                "wrong_schema",
                f"endpoint {self.endpoint.name} returned vectors of {width}, not {self._width} numbers",
            )


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Texts in order, cut to what the model reads, in groups within one call's limits."""
    batch: list[str] = []
    size = 0
    for text in texts:
        sent = sendable(text, TEXT_CHARACTERS)
        if batch and (len(batch) == BATCH_TEXTS or size + len(sent) > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(sent)
        size += len(sent)
    yield batch


def _read(body: str, *, count: int, endpoint: Endpoint) -> Reading[Vectors]:
    """The vectors of an answer, in the order of the texts."""
    try:
        envelope = bounded_json.loads(body)
        rows = sorted(envelope["data"], key=lambda row: row["index"])
        vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
        used = (envelope.get("usage") or {}).get("prompt_tokens", 0)
        usage = Usage(input_tokens=used if isinstance(used, int) else 0)
        in_order = [row["index"] for row in rows] == list(range(count))
    except (ValueError, KeyError, TypeError, AttributeError):
        failure = LLMFailure("unparseable", f"endpoint {endpoint.name} sent something else than embeddings")
        return Reading(Usage(), "", failure=failure)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True) if vectors.ndim == 2 else np.zeros(1)
    if vectors.ndim != 2 or not in_order or not np.isfinite(norms).all() or not (norms > 0).all():
        message = f"endpoint {endpoint.name} did not send one proper vector for each of {count} texts"
        return Reading(usage, "", failure=LLMFailure("wrong_schema", message))
    return Reading(usage, "stop", value=vectors / norms)
