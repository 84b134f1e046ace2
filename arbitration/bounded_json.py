"""JSON from outside, read to a bounded depth: two hundred thousand opening brackets are a bad file, not an accident.

Python's reader goes down the stack with every bracket, and so does whatever handles the value afterwards. The depth is
therefore measured before anything is built, in time linear in the text.
"""

from __future__ import annotations

import json
import re
from typing import Any

#: Objects and lists inside one another. Nothing that people or models send on purpose comes near it.
MAX_DEPTH = 64

_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_STRUCTURE = frozenset(b'"[]{}')
_REST = bytes(sorted(set(range(256)) - _STRUCTURE))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class TooDeep(ValueError):
    """The text nests deeper than is read. A ``ValueError``, as for any other text that is no JSON we take."""


def loads(text: str | bytes, *, max_depth: int = MAX_DEPTH, **options: Any) -> Any:
    """``json.loads`` for text of strangers; ``options`` are its own.

    Raises :class:`TooDeep` beyond ``max_depth`` levels, and ``ValueError`` as ``json.loads`` does. Never
    ``RecursionError``.
    """
    check_depth(text, max_depth=max_depth)
    return json.loads(text, **options)


def check_depth(text: str | bytes, *, max_depth: int = MAX_DEPTH) -> None:
    """Raises :class:`TooDeep` when brackets outside of strings open more than ``max_depth`` levels."""
    if isinstance(text, bytes):
        encoding = json.detect_encoding(text)
        raw = (
            text
            if encoding.startswith("utf-8")
            else text.decode(encoding, "replace").encode("utf-8", "replace")
        )
    else:
        raw = text.encode("utf-8", "replace")
    if raw.count(b"[") + raw.count(b"{") <= max_depth:
        return
    depth = 0
    for bracket in _brackets(raw):
        depth += _STEP.get(bracket, 0)
        if depth > max_depth:
            raise TooDeep(f"the JSON nests deeper than {max_depth} levels")


def _brackets(raw: bytes) -> bytes:
    """The brackets that open and close, in their order: those inside strings are text."""
    if b"\\" in raw:
        raw = _ESCAPED.sub(b"", raw)
    return b"".join(raw.translate(None, _REST).split(b'"')[::2])
