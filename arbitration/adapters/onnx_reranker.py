"""A cross-encoder on this machine's processor, from a folder with ``model.onnx`` and ``tokenizer.json``. Implements
``protocols.CrossEncoder``.

What :mod:`.onnx_embedder` says of forks holds here too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding

from arbitration.adapters.onnx_embedder import (
    EmbedderUnavailable,
    available_cores,
    batches,
    checked_sum,
    encodable,
    load_session,
    load_tokenizer,
)
from arbitration.errors import LLMFailure

#: Tokens of question and passage together; the longer of the two is cut first.
MAX_TOKENS = 512
#: Padded tokens per forward pass.
TOKENS_PER_BATCH = 1024
#: Raw scores beyond these are as good as certain, and would overflow.
_FARTHEST = 60.0


class OnnxReranker:
    """Scores of passages for a question, 0 to 1; thread-safe.

    The model gives one raw score a pair, which goes through the logistic function, or two, for "no" and "yes". Raises
    :class:`EmbedderUnavailable` for a folder that holds no such model, ``LLMFailure`` where a pass fails.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        model = folder / "model.onnx"
        self.name = f"{folder.name}@{checked_sum(model, expected=None)[:8]}"
        self._tokenizer = load_tokenizer(folder / "tokenizer.json", max_tokens=MAX_TOKENS)
        self._session = load_session(model, threads=threads or available_cores())
        self._inputs = frozenset(node.name for node in self._session.get_inputs())
        output = self._session.get_outputs()[0]
        if len(output.shape) > 2 or (len(output.shape) == 2 and output.shape[1] not in (1, 2)):
            raise EmbedderUnavailable(
                f"{model} gives no score of a pair, but values of shape {output.shape}; use a cross-encoder"
            )
        self._output = output.name

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """A score for each passage, in their order."""
        pairs = [(encodable(question), encodable(passage)) for passage in passages]
        encodings = self._tokenizer.encode_batch(pairs) if pairs else []
        found = [0.0] * len(pairs)
        for rows in batches([len(encoding.ids) for encoding in encodings], budget=TOKENS_PER_BATCH):
            for row, score in zip(rows, self._pass([encodings[row] for row in rows]), strict=True):
                found[row] = score
        return found

    def _pass(self, encodings: Sequence[Encoding]) -> list[float]:
        length = max(len(encoding.ids) for encoding in encodings)
        feed = {
            "input_ids": _padded([encoding.ids for encoding in encodings], length),
            "attention_mask": _padded([encoding.attention_mask for encoding in encodings], length),
            "token_type_ids": _padded([encoding.type_ids for encoding in encodings], length),
        }
        feed = {name: value for name, value in feed.items() if name in self._inputs}
        try:
            raw = np.asarray(self._session.run([self._output], feed)[0], dtype=np.float64)
        except Exception as error:  # the runtime's own exception types share no base but Exception
            raise LLMFailure("unparseable", f"the cross-encoder {self.name} failed: {error}") from error
        return _probabilities(raw.reshape(len(encodings), -1))


def _padded(rows: Sequence[Sequence[int]], length: int) -> npt.NDArray[np.int64]:
    table = np.zeros((len(rows), length), dtype=np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def _probabilities(raw: npt.NDArray[Any]) -> list[float]:
    """Of one score its logistic function; of two, for "no" and "yes", the share of "yes"."""
    score = raw[:, -1] - (raw[:, 0] if raw.shape[1] == 2 else 0.0)
    found: list[float] = (1.0 / (1.0 + np.exp(-np.clip(score, -_FARTHEST, _FARTHEST)))).tolist()
    return found


_instances: dict[Path, OnnxReranker] = {}
_instances_lock = threading.Lock()


def reranker_of(folder: Path) -> OnnxReranker:
    """The process's cross-encoder of a folder, loaded on first use."""
    key = folder.resolve()
    with _instances_lock:
        if key not in _instances:
            _instances[key] = OnnxReranker(key)
        return _instances[key]


def _forget_instances() -> None:
    """In a forked child; the sessions are kept from being freed by :mod:`.onnx_embedder`, which comes first."""
    global _instances_lock
    _instances_lock = threading.Lock()
    _instances.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_instances)
