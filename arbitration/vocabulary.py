"""Words as numbers: a process-wide table of word stems that makes counting words cheap.

Splitting and looking up are done by the interpreter's own byte operations, so that the hundred texts of a
candidate list take about a millisecond the first time and next to nothing when they come again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from arbitration.text import fold, is_stop_word, stem, supported_language, words

Ids = npt.NDArray[np.int32]

_CAPACITY = 1_000_000  # stems; beyond it unknown words share one id, which no question word has
_TEXTS_KEPT = 8192
_SEPARATORS = bytes(
    byte if byte >= 128 or chr(byte).isalnum() or byte == ord("'") else ord(" ") for byte in range(256)
)

#: Stands between texts that are read together: a byte that no text in UTF-8 has, and its id.
_END_OF_TEXT, _END = b"\xff", -1
_BETWEEN = b" " + _END_OF_TEXT + b" "


class Vocabulary:
    """Ids of the stems of one language; id 0 is no word. Thread-safe, grows as texts are read."""

    def __init__(self, language: str) -> None:
        self._language = supported_language(language)
        self._lock = threading.Lock()
        self._id_of_stem: dict[str, int] = {}
        self._id_of_word = _WordIds(self)
        self._stop_ids: set[int] = set()
        self._kept: dict[str, Ids] = {}

    def __len__(self) -> int:
        return len(self._id_of_stem) + 1

    def ids(self, text: str) -> Ids:
        """Stem ids of the words of a text, in order. The array is shared: do not write to it."""
        return self.ids_of_each([text])[0]

    def ids_of_each(self, texts: Sequence[str]) -> list[Ids]:
        """:meth:`ids` of every text; those not seen lately are read in one go."""
        found = {text: ids for text in texts if (ids := self._kept.get(text)) is not None}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            if len(self._kept) + len(new) > _TEXTS_KEPT:
                self._kept.clear()
            read = dict(zip(new, self._read(new), strict=True))
            self._kept.update(read)
            found |= read
        return [found[text] for text in texts]

    def stop_table(self) -> npt.NDArray[np.bool_]:
        """Whether each id is a function word; shape (len(self),)."""
        table = np.zeros(len(self), dtype=np.bool_)
        table[list(self._stop_ids)] = True
        return table

    def _read(self, texts: Sequence[str]) -> list[Ids]:
        plain = [(text if text.isascii() else fold(text)).encode() for text in texts]
        words_of_all = _BETWEEN.join(plain).lower().translate(_SEPARATORS).split()
        ids = np.fromiter(map(self._id_of_word.__getitem__, words_of_all), np.int32, len(words_of_all))
        ids = ids[ids != 0]
        ends = np.flatnonzero(ids == _END)
        ids.flags.writeable = False
        return [ids[start:end] for start, end in zip([0, *(ends + 1)], [*ends, len(ids)], strict=True)]

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
            if is_stop_word(word, self._language):
                self._stop_ids.add(number)
            return number


class _WordIds(dict[bytes, int]):
    """Words to ids; a word seen for the first time is stemmed once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__({_END_OF_TEXT: _END})
        self._vocabulary = vocabulary

    def __missing__(self, raw: bytes) -> int:
        number = self._vocabulary._new_word(raw)
        if len(self) < 2 * _CAPACITY:
            self[raw] = number
        return number


@cache
def vocabulary_of(language: str) -> Vocabulary:
    """The process's table for a language."""
    return Vocabulary(language)
