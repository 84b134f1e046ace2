"""Values that stand in addresses: anybody can write anything there."""

from __future__ import annotations

from .storable import storable

#: A key or an offset has at most this many digits; longer ones overflow the database's integers.
_MOST_DIGITS = 18


def number_in(raw: str | None) -> int | None:
    """The whole number a value holds; None for anything else, and for one that no key can be."""
    if not raw or not raw.isascii() or not raw.isdecimal() or len(raw) > _MOST_DIGITS:
        return None
    return int(raw)


def words_in(raw: str | None) -> str:
    """Words to look for, without what no stored text holds, and without outer blanks."""
    return storable(raw or "").strip()
