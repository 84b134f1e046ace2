"""Dates and versions as documents print them, in English and Spanish, brought to tuples that compare."""

from __future__ import annotations

import re
from collections.abc import Iterator

from arbitration.questions.lexicon import ORDINALS
from arbitration.text import fold

#: Year, month, day; 0 where a part is not said.
Day = tuple[int, int, int]

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan enero ene",
            "february feb febrero",
            "march mar marzo",
            "april apr abril abr",
            "may mayo",
            "june jun junio",
            "july jul julio",
            "august aug agosto ago",
            "september sep sept septiembre setiembre",
            "october oct octubre",
            "november nov noviembre",
            "december dec diciembre dic",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = re.compile(
    rf"(?<!\d)(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?:\s{{1,3}}de"
    rf"|\s{{1,3}}day\s{{1,3}}of)?\s{{1,3}}(?P<m1>{_MONTH})\.?,?(?:\s{{1,3}}de[l]?)?\s{{1,3}}(?P<y1>(?:19|20)\d\d)"
    rf"|\b(?P<m2>{_MONTH})\.?\s{{1,3}}(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s{{1,3}}(?P<y2>(?:19|20)\d\d)"
    rf"|\b(?P<m3>{_MONTH})\.?,?(?:\s{{1,3}}de)?\s{{1,3}}(?P<y3>(?:19|20)\d\d)"
    r"|(?<![\d.-])(?P<y4>(?:19|20)\d\d)-(?P<m4>\d{1,2})-(?P<d4>\d{1,2})(?![\d.-])"
    r"|(?<![\d./])(?P<d5>\d{1,2})[./](?P<m5>\d{1,2})[./](?P<y5>(?:19|20)\d\d)(?!\d)"
)
_YEAR = re.compile(r"(?<![\d.,/])((?:19|20)\d\d)(?![\d,/]|\.\d|-\d)")
_APPLIES = re.compile(
    r"\b(?:effective|in force|into force|takes? effect|applies|applicable|commenc\w+|valid|vigente|vigor|efecto"
    r"|a partir|desde|with effect|on and after|starts?)\b"
)
_ISSUED = re.compile(
    r"\b(?:updated|issued?|approved|adopted|published|dated|revised|actualizad\w+|aprobad\w+|publicad\w+|fecha)\b"
)
_VERSION = re.compile(
    r"\b(?:version|versión|revision|revisión|rev|edition|edición|issue|release)\s{0,3}\.?\s{0,3}(?:no\.?\s{0,3}"
    r"|n\.º\s{0,3})?:?\s{0,3}(\d{1,3}(?:\.\d{1,3}){0,3})"
    r"|\b[vr](\d{1,3}(?:\.\d{1,3}){0,3})\b"
)
_EDITION = re.compile(
    r"\b(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|primera|segunda|tercera|cuarta|quinta"
    r"|\d{1,2}(?:st|nd|rd|th))\s{1,3}(?:edition|version|revision|edición|versión|issue)\b"
)
#: Characters of a text that are read.
MOST_CHARACTERS = 4000
_NEAR = 40  # characters between "effective" and its date


def days_in(text: str) -> Iterator[tuple[int, Day, str]]:
    """The dates of a text: (offset, date, as written)."""
    text = text[:MOST_CHARACTERS]
    lowered = text.lower()
    if len(lowered) != len(text):
        return
    for match in _DAY.finditer(lowered):
        for form in "12345":
            groups = match.groupdict()
            if groups.get(f"y{form}"):
                month = groups[f"m{form}"]
                number = _MONTHS.get(month, 0) or (int(month) if month.isdigit() else 0)
                day = groups.get(f"d{form}") or "0"
                if number <= 12 and int(day) <= 31:
                    yield (
                        match.start(),
                        (int(groups[f"y{form}"]), number, int(day)),
                        " ".join(text[match.start() : match.end()].split()),
                    )
                break


def years_in(text: str) -> list[int]:
    """The years of a text, dates' own included."""
    return [int(year) for year in _YEAR.findall(text[:MOST_CHARACTERS])] + [
        day[0] for _, day, _ in days_in(text)
    ]


def effective_day(text: str) -> tuple[Day, str] | None:
    """The date from which a text says that it applies, and how it is written."""
    return _day_after(_APPLIES, text)


#: Words between "effective" and the date from which a text applies; any other word gives the date another meaning, as
#: in "applies to invoices of 1 May 2024".
_LINKS = frozenset((
    "on", "from", "as", "of", "since", "the", "is", "date", "and", "after", "beginning", "starting", "day",
    "with", "effect", "force", "into", "in", "el", "desde", "del", "de", "día", "la", "fecha", "es", "a",
    "partir", "y", "vigor", "efecto", "efectos",
))  # fmt: skip


def applies_from(text: str) -> str:
    """The date from which a text says in so many words that it applies, as it is written; empty where it does not."""
    lowered = text[:MOST_CHARACTERS].lower()
    for offset, _, written in days_in(text):
        before = lowered[max(0, offset - _NEAR) : offset]
        if any(set(_words(before[word.end() :])) <= _LINKS for word in _APPLIES.finditer(before)):
            return written
    return ""


def _words(text: str) -> list[str]:
    return [word for part in text.split() if (word := part.strip(".,:;()[]|*_–—-"))]


def issued_day(text: str) -> tuple[Day, str] | None:
    """The date on which a text says that it was issued, approved or brought up to date."""
    return _day_after(_ISSUED, text)


def _day_after(word: re.Pattern[str], text: str) -> tuple[Day, str] | None:
    lowered = text[:MOST_CHARACTERS].lower()
    return next(
        (
            (day, written)
            for offset, day, written in days_in(text)
            if word.search(lowered[max(0, offset - _NEAR) : offset])
        ),
        None,
    )


def first_day(text: str) -> tuple[Day, str] | None:
    """The first date of a text."""
    return next(((day, written) for _, day, written in days_in(text)), None)


def version_in(text: str) -> tuple[int, ...] | None:
    """The version, revision or edition that a title or an opening names."""
    lowered = text[:MOST_CHARACTERS].lower()
    match = _VERSION.search(lowered)
    if match:
        return tuple(int(part) for part in (match[1] or match[2]).split("."))
    edition = _EDITION.search(lowered)
    if edition:
        word = fold(edition[1])
        return (ORDINALS.get(word) or int(re.sub(r"\D", "", word) or 0),)
    return None
