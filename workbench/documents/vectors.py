"""Vectors on their way into the database, in PostgreSQL's binary format for COPY.

Every row has the same size, so that numpy writes them all at once: no number is turned into text and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.infra.copying import copy_into

from .models import EmbeddingSpace

_KEYS = ("passage_id", "space_id", "document_id", "collection_id")
_BEGIN, _END = b"PGCOPY\n\xff\r\n\x00" + bytes(8), b"\xff\xff"
_SQL = f"COPY documents_passagevector ({', '.join(_KEYS)}, embedding) FROM STDIN (FORMAT BINARY)"
_TOKENS_SQL = "COPY documents_passagetokens (passage_id, space_id, document_id, packed) FROM STDIN"


def vectors_write(
    *,
    space: EmbeddingSpace,
    collection_id: int,
    document_ids: int | Sequence[int],
    passage_ids: Sequence[int] | npt.NDArray[np.int64],
    vectors: npt.NDArray[np.float32],
) -> None:
    """Writes the vectors of passages, of one document or each of its own; shape (n, width of the space). None of them
    may have one in the space yet."""
    count, width = vectors.shape
    rows = np.zeros(count, dtype=_row(width))
    rows["columns"] = len(_KEYS) + 1
    for name, keys in zip(_KEYS, (passage_ids, space.pk, document_ids, collection_id), strict=True):
        rows[f"{name} bytes"], rows[name] = 8, keys
    rows["bytes"], rows["width"], rows["vector"] = 4 + 4 * width, width, vectors
    with copy_into(_SQL) as copy:
        copy.write(_BEGIN + rows.tobytes() + _END)


def tokens_write(*, space: EmbeddingSpace, document_id: int, packed: Iterable[tuple[int, bytes]]) -> None:
    """Writes the packed tokens of a document's passages: (passage, tokens). None of them may have any yet."""
    with copy_into(_TOKENS_SQL) as copy:
        for passage_id, tokens in packed:
            copy.write_row((passage_id, space.pk, document_id, tokens))


@lru_cache(maxsize=8)
def _row(width: int) -> np.dtype[np.void]:
    """One row: number of columns, then each with its size in bytes in front; numbers begin with their upper byte."""
    keys = [part for name in _KEYS for part in ((f"{name} bytes", ">i4"), (name, ">i8"))]
    vector = [("bytes", ">i4"), ("width", ">i2"), ("unused", ">i2"), ("vector", ">f4", (width,))]
    return np.dtype([("columns", ">i2"), *keys, *vector])
