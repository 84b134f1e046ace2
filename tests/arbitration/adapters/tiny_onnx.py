"""A cross-encoder of a few bytes that tests write themselves: each token of a pair has a weight, and their sum is the
raw score. The fields are those of onnx.proto; nothing else is needed to write one."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

_INT64, _FLOAT = 7, 1


def write_cross_encoder(folder: Path, weights: Mapping[str, float], *, outputs: int = 1) -> Path:
    """A folder with model and tokenizer; the second of two outputs is the score, the first 0."""
    folder.mkdir(parents=True, exist_ok=True)
    words = {"[PAD]": 0.0, "[UNK]": 0.0, **weights}
    vocabulary = {word: place for place, word in enumerate(words)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    table = [value for weight in words.values() for value in [0.0] * (outputs - 1) + [weight]]
    (folder / "model.onnx").write_bytes(_model(table, rows=len(words), width=outputs))
    return folder


def _model(table: list[float], *, rows: int, width: int) -> bytes:
    """``Gather`` of each token's row, then ``ReduceSum`` over the tokens."""
    weights = b"".join(
        [_number(1, rows), _number(1, width), _number(2, _FLOAT), _text(8, "weights")]
    ) + _bytes(9, struct.pack(f"<{len(table)}f", *table))
    gather = _text(1, "weights") + _text(1, "input_ids") + _text(2, "each") + _text(4, "Gather")
    axes = _text(1, "axes") + _number(8, 1) + _number(20, 7)
    keep = _text(1, "keepdims") + _number(3, 0) + _number(20, 2)
    total = _text(1, "each") + _text(2, "logits") + _text(4, "ReduceSum") + _bytes(5, axes) + _bytes(5, keep)
    graph = b"".join(
        [
            _bytes(1, gather),
            _bytes(1, total),
            _text(2, "tiny"),
            _bytes(5, weights),
            _bytes(11, _value("input_ids", _INT64, ("batch", "tokens"))),
            _bytes(12, _value("logits", _FLOAT, ("batch", width))),
        ]
    )
    return _number(1, 7) + _bytes(7, graph) + _bytes(8, _number(2, 11))


def _value(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    sizes = b"".join(
        _bytes(1, _text(2, size) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, sizes)))


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])
