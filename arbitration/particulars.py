"""What a document says of itself in its opening: who the parties are, what kind of paper it is, from when it applies.

Read by patterns, in English and Spanish, and shown as read: a person's own entry always comes first. Nothing is guessed
from the body, so a document that does not say so in its opening gives nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from arbitration.documents import Line
from arbitration.precedence.dates import days_in

ParticularName = Literal["party", "document_type", "effective_date"]
#: Body lines and characters that are read, and parties that are kept.
MOST_LINES, MOST_CHARACTERS, MOST_PARTIES = 60, 4000, 8
_TITLE_LINES, _LONGEST_TITLE = 6, 120
_TYPES = (
    ("amendment", r"amendment|addendum|enmienda|adenda|modificaci[oó]n"),
    ("statement of work", r"statement of work|work order|orden de trabajo"),
    ("contract", r"agreement|contract|contrato|acuerdo|convenio"),
    ("policy", r"polic(?:y|ies)|pol[ií]tica"),
    ("handbook", r"handbook|manual"),
    ("invoice", r"invoice|factura"),
    ("procedure", r"procedure|procedimiento"),
    ("code of conduct", r"code of (?:conduct|ethics)|c[oó]digo de (?:conducta|[eé]tica)"),
    ("regulation", r"regulation|reglamento|act|ley"),
    ("standard", r"standard|norma"),
    ("guideline", r"guidelines?|guidance|directrices|gu[ií]a"),
)
_TYPE = tuple((name, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for name, words in _TYPES)
_BETWEEN = re.compile(r"\b(?:by and between|by and among|between|among|entre)\b:?\s{0,3}", re.IGNORECASE)
#: What ends the list of parties: the recitals, a list of contents, the first section, or a sentence of its own.
_END = re.compile(
    r"\b(?:WHEREAS|RECITALS?|NOW,? THEREFORE|W I T N E S S E T H|WITNESSETH|BACKGROUND|EXPONEN|TABLE OF CONTENTS)\b"
    r"|\.{5}|\b1\.\s(?=[A-Z])"
    r"|(?<!Corp)(?<=[a-z)”\"]{3})\.\s(?!\()"
)
_REACH = 900  # characters after "between"
_SMALL = r"of|the|and|de|del|la|las|los|y|&"
_WORD = r"[A-ZÁÉÍÓÚÑÜ0-9][\w&.'’/-]{0,40}"
_FORM = (
    r",?\s(?:(?:Inc|L\.L\.C|Ltd|Corp|Co|L\.P|N\.V|B\.V|S\.A\.U|S\.A|S\.L\.U|S\.L|Pte\.? Ltd)\b\.?"
    r"|(?:LLC|Limited|LLP|LP|PLC|plc|GmbH|AG|SL|SA)\b)"
)
#: A name ends with its legal form, before a mark, or before a word in lower case that is no part of names.
_NAME = re.compile(
    rf"(?P<name>{_WORD}(?:\s(?:(?:{_SMALL})\s)?{_WORD}){{0,7}}?"
    rf"(?:(?:{_FORM}){{1,2}}(?![\w&])|(?:{_FORM}){{0,2}}"
    rf"(?=\s?[,;(“\"]|\s(?:and|y|e)\s|\s[-–—]|\.|$|\s(?!(?:{_SMALL})\s)[a-z]{{2}})))"
)
#: What stands before a name in a list: a conjunction or a semicolon, a colon, a number, an article.
_BEFORE = r":?\s{0,3}(?:\(?\w{1,3}\)\s{0,3})?(?:the\s)?"
_JOINT = re.compile(rf"(?:\band\b|\by\b|\be\b|;){_BEFORE}", re.IGNORECASE)
_FIRST = re.compile(rf"(?:the following parties)?{_BEFORE}", re.IGNORECASE)
#: A number between words: of a section or a page, not of a name.
_NUMBERED = re.compile(r"\s\d+(?:\.\d+)*\b")
#: A form to be filled in leaves room for a name.
_BLANK = re.compile(r"_{3}|\[[^\]]|\.{5}|…")
_LABELLED = re.compile(
    r"^\s{0,4}(?:party [a-d1-4]|client|customer|supplier|vendor|provider|licensor|licensee|lessor|lessee|landlord"
    r"|tenant|employer|contractor|consultant|disclosing party|receiving party|cliente|proveedor|arrendador|arrendatario"
    r"|licenciante|licenciatario|contratista)\s{0,2}:\s{1,4}(?P<name>[A-ZÁÉÍÓÚÑ][^\n;:]{2,90})$",
    re.IGNORECASE,
)
_NOT_NAMES = frozenset((
    "agreement", "contract", "parties", "party", "company", "client", "the", "this", "it", "both", "section", "article",
    "effective", "date", "contrato", "whereas", "and", "wales", "seller", "buyer", "customer", "supplier", "product",
))  # fmt: skip
_DATED = re.compile(
    r"\b(?:effective|in force|into force|takes? effect|dated?|entered into|made|as of|on|vigente|vigor|efecto|fecha"
    r"|a partir)\b",
    re.IGNORECASE,
)
_NEAR = 60  # characters between such a word and its date


@dataclass(frozen=True, slots=True)
class Particular:
    """One thing that the document says of itself, and the line where it does. A date is as ISO 8601 writes it."""

    name: ParticularName
    value: str
    page_num: int
    line_num: int


def particulars_of(lines: Sequence[Line]) -> tuple[Particular, ...]:
    """What the opening says, each thing once, in the order of the names."""
    opening = list(
        islice((line for line in lines if not line.is_furniture and not line.is_hidden), MOST_LINES)
    )
    found = [*_type_in(opening), *_date_in(opening), *islice(_parties_in(opening), MOST_PARTIES)]
    return tuple(found)


def _type_in(opening: Sequence[Line]) -> Iterator[Particular]:
    """The kind that a title names: of several words in one line the last is the head, in English."""
    for line in opening[:_TITLE_LINES]:
        if not 0 < len(line.text) <= _LONGEST_TITLE or line.text.rstrip().endswith("."):
            continue
        for name, pattern in _TYPE:
            if pattern.search(line.text):
                yield Particular("document_type", name, line.page_num, line.line_num)
                return


def _date_in(opening: Sequence[Line]) -> Iterator[Particular]:
    """The first whole date that a word such as "effective" or "dated" stands before."""
    text, starts = _joined(opening)
    for offset, (year, month, day), _written in days_in(text):
        if month and day and _DATED.search(text[max(0, offset - _NEAR) : offset]):
            line = opening[_line_at(starts, offset)]
            yield Particular("effective_date", f"{year:04}-{month:02}-{day:02}", line.page_num, line.line_num)
            return


def _parties_in(opening: Sequence[Line]) -> Iterator[Particular]:
    seen: set[str] = set()
    for offset, name in _party_names(opening):
        key = re.sub(r"\W", "", name).casefold()
        if key and key not in seen:
            seen.add(key)
            line = opening[offset]
            yield Particular("party", name, line.page_num, line.line_num)


def _party_names(opening: Sequence[Line]) -> Iterator[tuple[int, str]]:
    """Names with the index of their line: after "between", and behind labels such as "Client:"."""
    text, starts = _joined(opening)
    for match in islice(_BETWEEN.finditer(text), 4):
        segment = text[match.end() : match.end() + _REACH]
        ended = _END.search(segment)
        listed = segment[: ended.start()] if ended else segment
        names = list(_names_in(listed))
        if len(names) >= (1 if _BLANK.search(listed) else 2):
            yield from ((_line_at(starts, match.end() + at), name) for at, name in names)
            break
    for index, line in enumerate(opening):
        if labelled := _LABELLED.match(line.text[:160]):
            yield index, labelled["name"].strip(" ,.")


def _names_in(segment: str) -> Iterator[tuple[int, str]]:
    """The name at the beginning, and each that a conjunction or a semicolon brings in."""
    first = _FIRST.match(segment)
    places = [first.end() if first else 0, *(joint.end() for joint in _JOINT.finditer(segment))]
    taken = 0
    for place in dict.fromkeys(places):
        if place < taken:
            continue
        match = _NAME.match(segment, place)
        if match is None:
            continue
        name = " ".join(match["name"].split()).strip(" ,")
        if len(name) > 2 and _is_name(name):
            taken = match.end()
            yield place, name[:160]


def _is_name(text: str) -> bool:
    is_word = text.split()[0].casefold() in _NOT_NAMES
    return not is_word and not _NUMBERED.search(text) and any(char.isalpha() for char in text)


def _joined(opening: Sequence[Line]) -> tuple[str, list[int]]:
    """The lines as one text, and where each begins in it."""
    starts, parts, length = [], [], 0
    for line in opening:
        starts.append(length)
        parts.append(" ".join(line.text.split()))
        length += len(parts[-1]) + 1
    return " ".join(parts)[:MOST_CHARACTERS], starts


def _line_at(starts: Sequence[int], offset: int) -> int:
    return max(0, bisect_right(starts, offset) - 1)
