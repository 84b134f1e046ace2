"""Numbers and marks at the head of a line: clauses, articles, list items."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Named divisions from the outermost to the innermost; English and Spanish.
_DIVISIONS: dict[str, int] = {
    name: rank
    for rank, names in enumerate(
        (
            "volume book libro",
            "part parte title título titulo",
            "division appendix annex annexe schedule exhibit attachment anexo apéndice apendice",
            "chapter capítulo capitulo",
            "article artículo articulo",
            "section sección seccion item",
            "rule regulation clause cláusula clausula regla",
        )
    )
    for name in names.split()
}
_DIVISION = re.compile(
    rf"^(?P<name>{'|'.join(sorted(_DIVISIONS, key=len, reverse=True))})\s+"
    r"(?P<number>[IVXLCDM]+|\d+(?:\.\d+)*[A-Za-z]?|[A-Z](?:-\d+)?)\b(?P<stop>[.:)–—-]?)",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"^(?:§+\s*)?(?P<number>\d{1,3}(?:\.\d{1,3}){0,5})(?:[.)]?(?=\s+\S)|[.)](?=[^\W\d_]))")
_LETTER = re.compile(r"^(?P<number>[A-Z]|[IVXLC]+)(?:\.\d{1,3})*[.)](?=\s+\S)")
_ITEM = re.compile(
    r"^(?:[•●○◦▪■□–—*·➢✓]|-(?=\s)|o(?=\s)|\(?(?:\d{1,3}|[a-zA-Z]|[ivxlc]{1,6})[.)]|\d{1,3}(?:\.\d{1,3}){1,5}\.?(?=\s)|§)"
    r"\s*\S"
)

_DECIMAL_RANK = 10
_LETTER_RANK = 9


@dataclass(frozen=True, slots=True)
class HeadingNumber:
    """The number at the head of a heading.

    ``rank`` orders kinds from the outermost (0); ``depth`` counts the parts of a decimal number (3.2.1 has 3);
    ``is_named`` is true for "Article 5" and its like.
    """

    rank: int
    depth: int
    text: str
    is_named: bool


def heading_number(text: str) -> HeadingNumber | None:
    """The number that ``text`` begins with, or None."""
    match = _DIVISION.match(text)
    if match is not None:
        number = match.group("number")
        return HeadingNumber(
            _DIVISIONS[match.group("name").casefold()], 1 + number.count("."), match.group(0), True
        )
    match = _DECIMAL.match(text)
    if match is not None:
        number = re.sub(r"(?:\.0)+$", "", match.group("number"))  # "2.0" is chapter 2
        return HeadingNumber(_DECIMAL_RANK, 1 + number.count("."), match.group(0), False)
    match = _LETTER.match(text)
    if match is not None:
        return HeadingNumber(_LETTER_RANK, 1 + match.group(0).rstrip(".)").count("."), match.group(0), False)
    return None


def is_list_item(text: str) -> bool:
    """Whether a line begins with a bullet, a letter or a number of a list."""
    return _ITEM.match(text) is not None


def is_upper_case(text: str) -> bool:
    """Whether nearly all letters are capitals; needs at least four letters and one word of three."""
    letters = [c for c in text if c.isalpha()]
    if len(letters) < 4 or not any(len(word) >= 3 for word in re.findall(r"[^\W\d_]+", text)):
        return False
    return sum(c.isupper() for c in letters) >= 0.9 * len(letters)
