"""Roman numerals."""

from __future__ import annotations

_LETTERS = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


def roman(value: int) -> str:
    """The numeral of a number from 1 on, in small letters."""
    numeral = ""
    for size, letters in _LETTERS:
        count, value = divmod(value, size)
        numeral += letters * count
    return numeral


def roman_to_int(numeral: str) -> int | None:
    """The value of a numeral up to the hundreds; None when it is not one in canonical form."""
    values = [_VALUES.get(char, 0) for char in numeral.lower()]
    if not values or 0 in values:
        return None
    total = sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))
    return total if roman(total) == numeral.lower() else None
