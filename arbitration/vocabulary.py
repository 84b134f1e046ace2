"""Words as numbers: a process-wide table of word stems that makes counting words cheap.

A hundred texts are read as one array of bytes: where words begin and end, their first 24 bytes as three numbers, and
what the table holds for these. Only a word that the table does not hold is looked at by the interpreter. Such are
words seen for the first time, longer ones, and those whose place in the table another word has.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from arbitration.text import fold, is_stop_word, stem, supported_language, words

Ids = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]
_Numbers = npt.NDArray[np.uint64]

_CAPACITY = 1_000_000  # stems; beyond it unknown words share one id, which no question word has
_SPACE = ord(" ")
_SEPARATORS = bytes(
    byte if byte >= 128 or chr(byte).isalnum() or byte == ord("'") else _SPACE for byte in range(256)
)
_WORD_BYTES = 24
_PLACES = 1 << 18
#: What the three numbers of a word are multiplied by, so that the sum's upper bits are its place: odd, and no more to
#: it. A place that another word has taken leads to the next: other bits of the same sum.
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
_SHIFTS = np.array([46, 36, 28], np.uint64)
_UNKNOWN = -1


def _masks() -> list[_Numbers]:
    """For each of the three numbers, which of its bytes belong to a word of 0 to 24 bytes, and to a longer one."""
    kept = [[min(8, max(0, length - 8 * part)) for length in range(_WORD_BYTES + 1)] for part in range(3)]
    return [np.array([(1 << (8 * count)) - 1 for count in counts], np.uint64) for counts in kept]


_MASKS = _masks()


@dataclass(frozen=True, slots=True)
class WordsRead:
    """The stem ids of the words of several texts, one text after another, and how many words each has."""

    ids: Ids
    lengths: Places


class Vocabulary:
    """Ids of the stems of one language; id 0 is no word. Thread-safe, grows as texts are read."""

    def __init__(self, language: str) -> None:
        self._language = supported_language(language)
        self._lock = threading.Lock()
        self._id_of_stem: dict[str, int] = {}
        self._id_of_word: dict[bytes, int] = {}
        self._stops = np.zeros(1024, dtype=np.bool_)
        #: Rows of the three numbers of a word and its id; the first number of an empty row is 0.
        self._places = np.zeros((_PLACES, 4), np.uint64)

    def __len__(self) -> int:
        return len(self._id_of_stem) + 1

    def stop_table(self) -> npt.NDArray[np.bool_]:
        """Whether each id is a function word; shape (len(self),). Shared: do not write to it."""
        return self._stops[: len(self)]

    def read(self, texts: Sequence[str]) -> WordsRead:
        """The words of all texts, in order."""
        plain = [(text if text.isascii() else fold(text)).encode() for text in texts]
        # A space in front and many behind: every word has an edge on both sides, and 24 bytes after its first.
        data = b" ".join([b"", *plain, b" " * _WORD_BYTES]).lower().translate(_SEPARATORS)
        is_word = np.frombuffer(data, np.uint8) != _SPACE
        edges = np.flatnonzero(is_word[1:] != is_word[:-1]) + 1
        starts, ends = edges[::2], edges[1::2]
        ids = self._looked_up(data, starts, ends)
        begins = np.fromiter(
            accumulate((len(text) + 1 for text in plain), initial=1), np.intp, len(plain) + 1
        )
        bounds = np.searchsorted(starts, begins)
        is_none = ids == 0
        if is_none.any():
            bounds -= np.concatenate(([0], np.cumsum(is_none)))[bounds]
            ids = ids[~is_none]
        return WordsRead(ids, np.diff(bounds))

    def _looked_up(self, data: bytes, starts: Places, ends: Places) -> Ids:
        """The id of each word, from the table where it is there."""
        windows: _Numbers = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
        lengths = ends - starts
        shown = np.minimum(lengths, _WORD_BYTES)
        parts = [windows.take(starts) & _MASKS[0].take(shown)]
        for at, mask in enumerate(_MASKS[1:], start=1):
            # Most words end within the first number.
            longer = np.flatnonzero(shown > 8 * at)
            part = np.zeros(len(starts), np.uint64)
            part[longer] = windows.take(starts[longer] + 8 * at) & mask.take(shown[longer])
            parts.append(part)
        mixed = parts[0] * _FACTORS[0] + parts[1] * _FACTORS[1] + parts[2] * _FACTORS[2]
        ids = self._found(mixed, parts, _SHIFTS[0])
        ids[lengths > _WORD_BYTES] = _UNKNOWN
        for shift in _SHIFTS[1:]:
            others = np.flatnonzero(ids == _UNKNOWN)
            others = others[lengths[others] <= _WORD_BYTES]
            ids[others] = self._found(mixed[others], [part[others] for part in parts], shift)
        for index in np.flatnonzero(ids == _UNKNOWN).tolist():
            raw = data[starts[index] : ends[index]]
            ids[index] = number = self._id(raw)
            if len(raw) <= _WORD_BYTES:
                self._place(mixed[index], [part[index] for part in parts], number)
        return ids

    def _found(self, mixed: _Numbers, parts: Sequence[_Numbers], shift: np.uint64) -> Ids:
        """What stands in the places of some words, where it is these words; else :data:`_UNKNOWN`."""
        places = (mixed >> shift).astype(np.intp) & _PLACES - 1
        with self._lock:  # nobody writes a row while it is read
            rows = self._places.take(places, axis=0)
        same = (rows[:, 0] == parts[0]) & (rows[:, 1] == parts[1]) & (rows[:, 2] == parts[2])
        return np.where(same, rows[:, 3].astype(np.int64), _UNKNOWN)

    def _id(self, raw: bytes) -> int:
        """The id of a word as it stands in a text; a word seen for the first time is stemmed once."""
        number = self._id_of_word.get(raw)
        if number is None:
            number = self._new_word(raw)
            if len(self._id_of_word) < 2 * _CAPACITY:
                self._id_of_word[raw] = number
        return number

    def _new_word(self, raw: bytes) -> int:
        found = words(raw.decode(errors="replace"))
        if not found:
            return 0
        word = found[0]
        with self._lock:
            known = self._id_of_stem
            word_stem = stem(word, self._language)
            if word_stem not in known and len(known) < _CAPACITY:
                known[word_stem] = len(known) + 1
            number = known.get(word_stem, 0)
            if number >= len(self._stops):
                self._stops = np.concatenate([self._stops, np.zeros_like(self._stops)])
            if is_stop_word(word, self._language):
                self._stops[number] = True
            return number

    def _place(self, mixed: np.uint64, parts: Sequence[np.uint64], number: int) -> None:
        """Puts a word into the first of its places that is free; where none is, it is looked up the long way."""
        with self._lock:
            for shift in _SHIFTS:
                row = self._places[int(mixed >> shift) & _PLACES - 1]
                if row[0] == 0 or (row[:3] == parts).all():
                    row[:] = [*parts, number]
                    return


@cache
def vocabulary_of(language: str) -> Vocabulary:
    """The process's table for a language."""
    return Vocabulary(language)
