"""Late interaction: a passage is scored by its best match for each token of the question.

ColBERT's MaxSim (Khattab and Zaharia 2020, section 3.2) over the token vectors of the encoder that gives the
passage's vector, each token of the question weighted by its inverse document frequency among the candidates:

    w_t = ln(1 + (N - df_t + .5) / (df_t + .5)), normalised to sum 1     s(q, p) = sum_t w_t max_j cos(q_t, p_j)
"""

from __future__ import annotations

import struct
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeGuard, runtime_checkable

import numpy as np
import numpy.typing as npt

from arbitration.protocols import Embedder, TokenVectors, Vector

Codes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Parts = npt.NDArray[np.intp]
Place = tuple[int, int]

#: Each dimension of a token's vector is kept in two bits: four steps of the size at which a normal variable of the
#: dimension's spread, 1 / sqrt(width), loses least (Max 1960, "Quantizing for minimum distortion", table I).
_PER_BYTE = 4
_LEVELS = np.array([-1.5, -0.5, 0.5, 1.5], dtype=np.float32)
_SHIFTS = np.array([0, 2, 4, 6], dtype=np.uint8)
#: The four levels that each byte stands for; shape (256, 4).
_DECODED = _LEVELS[(np.arange(256, dtype=np.uint8)[:, None] >> _SHIFTS) & 3]
#: Tokens decoded at once: their levels stay in the processor's cache, which halves the time.
_BLOCK = 1024
_HEAD = struct.Struct("<BHHH")  # layout, tokens, bytes a token, lines
_LINE = np.dtype([("page", "<u4"), ("line", "<u4")])
_LAYOUT = 2
#: Where the headings above a passage stand: in none of its lines.
HEADING: Place = (0, 0)
#: What a match in the headings counts beside one in the passage itself (found on questions in people's own words).
HEADING_SHARE = 0.9
_MOST_LINES = 256


def encode(vectors: Vector) -> Codes:
    """Unit vectors (n, width) in two bits a dimension; shape (n, width / 4), rounded up."""
    count, width = vectors.shape
    steps = np.clip(np.floor(vectors * np.sqrt(width)), -2, 1).astype(np.int8) + 2
    padded = np.zeros((count, -(-width // _PER_BYTE) * _PER_BYTE), dtype=np.uint8)
    padded[:, :width] = steps
    return np.asarray(
        np.bitwise_or.reduce(padded.reshape(count, -1, _PER_BYTE) << _SHIFTS, axis=2), dtype=np.uint8
    )


def cosines(codes: Codes, vectors: Vector) -> Vector:
    """Cosines of kept vectors with whole unit vectors (m, width); shape (n, m)."""
    found = np.empty((len(codes), len(vectors)), dtype=np.float32)
    for begin in range(0, len(codes), _BLOCK):
        block = codes[begin : begin + _BLOCK]
        # A width that fills no byte leaves steps that stand for nothing.
        levels = _DECODED.take(block, axis=0).reshape(len(block), -1)[:, : vectors.shape[1]]
        lengths = np.sqrt(np.einsum("ij,ij->i", levels, levels))
        found[begin : begin + _BLOCK] = (levels @ vectors.T) / lengths[:, None]
    return found


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An encoder that gives the vectors of tokens in the pass that gives the sentence's."""

    @property
    def gives_tokens(self) -> bool:
        """Whether it does: a model may give a ready vector of the text and nothing else."""

    def embed_tokens(self, texts: Sequence[str]) -> tuple[Vector, list[TokenVectors]]:
        """As :meth:`Embedder.embed`, and the tokens of each text."""


def gives_tokens(embedder: Embedder | None) -> TypeGuard[TokenEmbedder]:
    """Whether an encoder gives the vectors of tokens too."""
    return isinstance(embedder, TokenEmbedder) and embedder.gives_tokens


@dataclass(frozen=True, slots=True)
class PassageTokens:
    """The tokens of a passage as they are kept: vocabulary numbers ``ids`` (n,), ``codes`` (n, k), and where each
    begins: character ``offsets`` (n,) of the line ``at`` (n,) among ``lines`` (page, line), 1-based. The tokens of the
    headings above it come first, in a line of their own, :data:`HEADING`."""

    ids: npt.NDArray[np.uint16]
    codes: Codes
    at: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.uint16]
    lines: tuple[Place, ...]

    def packed(self) -> bytes:
        """As bytes: a head, the lines, then ids, offsets, line indexes and codes."""
        lines = np.array(list(self.lines), dtype=_LINE) if self.lines else np.zeros(0, dtype=_LINE)
        head = _HEAD.pack(_LAYOUT, len(self.ids), self.codes.shape[1] if len(self.ids) else 0, len(lines))
        numbers = (self.ids.astype("<u2"), self.offsets.astype("<u2"), self.at, self.codes)
        return b"".join((head, lines.tobytes(), *(column.tobytes() for column in numbers)))

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        """From :meth:`packed`. Raises ``ValueError`` for bytes of another layout or length."""
        if len(data) < _HEAD.size:
            raise ValueError("too short for the tokens of a passage")
        layout, count, width, line_count = _HEAD.unpack_from(data)
        if layout != _LAYOUT or len(data) != _HEAD.size + line_count * _LINE.itemsize + count * (5 + width):
            raise ValueError("not the tokens of a passage in the layout that this version writes")
        place = _HEAD.size
        lines = np.frombuffer(data, _LINE, line_count, place)
        place += lines.nbytes
        ids = np.frombuffer(data, "<u2", count, place)
        offsets = np.frombuffer(data, "<u2", count, place + 2 * count)
        at = np.frombuffer(data, np.uint8, count, place + 4 * count)
        codes = np.frombuffer(data, np.uint8, count * width, place + 5 * count).reshape(count, width)
        places = zip(lines["page"].tolist(), lines["line"].tolist(), strict=True)
        return cls(ids, codes, at, offsets, tuple(places))


def passage_tokens(
    tokens: TokenVectors,
    *,
    text: str,
    lines: Sequence[tuple[Place, str]],
    heading: TokenVectors | None = None,
) -> PassageTokens:
    """The tokens of a passage with the place where each stands. ``text`` joins the ``lines``, whose words may have
    been put together at their ends; ``heading`` are the tokens of the headings above it."""
    lines = lines[: _MOST_LINES - 1]
    starts = line_starts(text, [line for _, line in lines])
    begins = tokens.offsets[:, 0]
    at = np.clip(np.searchsorted(starts, begins, side="right") - 1, 0, max(0, len(lines) - 1))
    into = begins - starts[at] if len(lines) else begins
    own = PassageTokens(
        ids=tokens.ids.astype(np.uint16),
        codes=encode(tokens.vectors),
        at=(at + 1).astype(np.uint8),
        offsets=np.clip(into, 0, np.iinfo(np.uint16).max).astype(np.uint16),
        lines=(HEADING, *(place for place, _ in lines)),
    )
    return own if heading is None else _headed(own, heading)


def _headed(own: PassageTokens, heading: TokenVectors) -> PassageTokens:
    begins = np.clip(heading.offsets[:, 0], 0, np.iinfo(np.uint16).max).astype(np.uint16)
    return PassageTokens(
        ids=np.concatenate([heading.ids.astype(np.uint16), own.ids]),
        codes=np.concatenate([encode(heading.vectors), own.codes]),
        at=np.concatenate([np.zeros(len(begins), dtype=np.uint8), own.at]),
        offsets=np.concatenate([begins, own.offsets]),
        lines=own.lines,
    )


def line_starts(text: str, lines: Sequence[str]) -> npt.NDArray[np.intp]:
    """Where in ``text`` each line begins; white space and a hyphen at a line's end may be missing there."""
    ends = np.cumsum([0, *(sum(map(_stays, line)) for line in lines)])[:-1]
    places = np.flatnonzero([_stays(char) for char in text])
    if not len(places):
        return np.zeros(len(lines), dtype=np.intp)
    return np.asarray(places[np.minimum(ends, len(places) - 1)])


def _stays(char: str) -> bool:
    """Whether no joining of lines takes a character away."""
    return not (char.isspace() or char in "-\u2010")


@dataclass(frozen=True, slots=True)
class CandidateTokens:
    """The tokens that stand in a candidate's own lines and in the headings above them: ``ids`` (n,), ``codes``
    (n, k), and where each begins: character ``offsets`` (n,) of the line ``at`` (n,) among ``lines``."""

    ids: npt.NDArray[np.uint16]
    codes: Codes
    at: npt.NDArray[np.intp]
    offsets: npt.NDArray[np.uint16]
    lines: Sequence[Place]

    @classmethod
    def of(cls, passages: Sequence[PassageTokens], lines: Container[Place]) -> Self | None:
        """Those of the passages that stand in the lines, with the first passage's headings; ``None`` where no token
        does."""
        kept = [_inside(passage, lines) for passage in passages]
        if not any(map(np.any, kept)):
            return None
        first = next(place for place, inside in enumerate(kept) if inside.any())
        kept[first] = kept[first] | (passages[first].at == 0)
        pairs = list(zip(passages, kept, strict=True))
        before = np.cumsum([0, *(len(passage.lines) for passage in passages)])
        return cls(
            ids=np.concatenate([p.ids[inside] for p, inside in pairs]),
            codes=np.concatenate([p.codes[inside] for p, inside in pairs]),
            at=np.concatenate(
                [
                    p.at[inside].astype(np.intp) + first
                    for (p, inside), first in zip(pairs, before, strict=False)
                ]
            ),
            offsets=np.concatenate([p.offsets[inside] for p, inside in pairs]),
            lines=[line for passage in passages for line in passage.lines],
        )

    def place(self, token: int) -> tuple[Place, int]:
        """The line and the character in it where a token begins."""
        return self.lines[self.at[token]], int(self.offsets[token])

    def shares(self) -> npt.NDArray[np.float32]:
        """What a match of each token counts; shape (n,)."""
        of_lines = [HEADING_SHARE if line == HEADING else 1.0 for line in self.lines]
        return np.array(of_lines, dtype=np.float32)[self.at]


def _inside(passage: PassageTokens, lines: Container[Place]) -> npt.NDArray[np.bool_]:
    held = np.array([line in lines for line in passage.lines], dtype=bool)
    return held[passage.at] if len(held) else np.zeros(len(passage.ids), dtype=bool)


@dataclass(frozen=True, slots=True)
class Interaction:
    """Of n candidates and m tokens of the question: ``best`` (n, m) cosines, ``where`` (n, m) the index of the token
    that gives it, ``held`` (n, m) whether the candidate has the token itself; ``weights`` (m,) of sum 1. Rows of
    candidates without tokens are not ``known`` (n,). ``parts`` holds for each candidate the ``best`` of each of its
    parts (p, m), such as its sentences."""

    best: Floats
    where: npt.NDArray[np.intp]
    held: npt.NDArray[np.bool_]
    known: npt.NDArray[np.bool_]
    weights: Floats
    parts: Sequence[Floats]

    def scores(self) -> Floats:
        """The weighted best matches of each candidate; shape (n,)."""
        return np.asarray(self.best @ self.weights)

    def plain(self) -> Floats:
        """The mean of the best matches of each candidate, every token alike; shape (n,)."""
        return np.asarray(self.best.mean(axis=1)) if self.best.shape[1] else np.zeros(len(self.best))


def interact(
    question: TokenVectors,
    candidates: Sequence[CandidateTokens | None],
    *,
    parts: Sequence[Parts | None] | None = None,
) -> Interaction:
    """The question's tokens against those of every candidate; one matrix product. ``parts`` says for each token of
    each candidate in which part it stands, from 0; -1 is none."""
    shape = (len(candidates), len(question.ids))
    of_parts = [np.zeros((0, shape[1]))] * shape[0]
    best, where = np.zeros(shape), np.zeros(shape, dtype=np.intp)
    held, known = np.zeros(shape, dtype=bool), np.zeros(shape[0], dtype=bool)
    filled = [(row, tokens) for row, tokens in enumerate(candidates) if tokens is not None]
    if filled and shape[1]:
        asked_ids = question.ids.astype(np.uint16)
        codes = np.concatenate([tokens.codes for _, tokens in filled])
        found = cosines(codes, question.vectors)
        begin = 0
        for row, tokens in filled:
            own = found[begin : begin + len(tokens.ids)] * tokens.shares()[:, None]
            begin += len(own)
            best[row], where[row] = own.max(axis=0), own.argmax(axis=0)
            if parts is not None and (standing := parts[row]) is not None:
                of_parts[row] = _best_of_parts(own, standing)
            # Vocabularies of more than 65,536 entries wrap around, on both sides alike.
            inside = tokens.ids[tokens.shares() == 1.0]
            held[row], known[row] = (asked_ids[:, None] == inside).any(axis=1), True
    return Interaction(best, where, held, known, _weights(held[known]), of_parts)


def _best_of_parts(own: Vector, standing: Parts) -> Floats:
    """The best match in each part; parts without a token match nothing."""
    best = np.zeros((int(standing.max(initial=-1)) + 1, own.shape[1]))
    order = np.argsort(standing, kind="stable")
    order = order[np.searchsorted(standing[order], 0) :]
    if len(order):
        parts, begins = np.unique(standing[order], return_index=True)
        best[parts] = np.maximum.reduceat(own[order], begins, axis=0)
    return best


def _weights(held: npt.NDArray[np.bool_]) -> Floats:
    """Inverse document frequency of each token among the candidates, of sum 1."""
    frequency = held.sum(axis=0)
    weights = np.log1p((len(held) - frequency + 0.5) / (frequency + 0.5))
    return np.asarray(weights / max(float(weights.sum()), 1e-12), dtype=np.float64)


def packed_layout() -> bytes:
    """The byte that :meth:`PassageTokens.packed` begins with; tokens with another one are of another version."""
    return bytes([_LAYOUT])
