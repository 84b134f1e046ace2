"""Does it really say so? Quotes are checked against the source before anyone reads a reason or an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arbitration.contracts import QuoteCheck
from arbitration.text import fold, word_count

_FEWEST_WORDS = 3
#: Characters of one quotation that are looked up: the longest that is asked for has 25 words.
_LONGEST_QUOTE = 1_000
#: Quotation marks that cannot be mistaken for something else: what closes each, and what ends it without closing it.
_PAIRS = {"“": ("”", re.compile("[“”]")), "«": ("»", re.compile("[«»]")), '"': ('"', re.compile('"'))}
_OPENING = re.compile("[“«\"'‘]")
#: What a quotation in single marks stops at. A mark with a letter behind it is an apostrophe and goes on.
_SINGLE_STOP = re.compile("['‘’\n]")
_ELLIPSIS = re.compile(r"\.\.\.|…|\[\.\.\.\]")
_EDGE = " \t\n.,;:!?…"
_BROKEN_WORD = re.compile("(?<=[^\\W\\d_])[-\u2010]\n(?=[^\\W\\d_])")
_MARKS = "“”«»\"'‘’`"


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A text with its repairable quotes repaired, and the check of each."""

    text: str
    quotes: tuple[QuoteCheck, ...]

    @property
    def all_stand(self) -> bool:
        """Whether no quote is unverified."""
        return all(quote.status != "unverified" for quote in self.quotes)


def check_quotes(text: str, sources: Sequence[str]) -> CheckedText:
    """Check every quotation of three or more words in ``text`` against the source texts.

    ``verified``: stands there exactly. ``repaired``: only white space or case differed, and the exact words of
    the source were put in. ``unverified``: not there; an ellipsis may join parts that each must stand there.
    """
    checks: list[QuoteCheck] = []
    pieces: list[str] = []
    position = 0
    known = [_Source.of(source) for source in sources]
    for start, end in quotations(text):
        quote = text[start:end]
        if word_count(quote) < _FEWEST_WORDS:
            continue
        check = _check(quote, known)
        checks.append(check)
        pieces += [text[position:start], check.quote if check.status == "repaired" else quote]
        position = end
    return CheckedText("".join([*pieces, text[position:]]), tuple(checks))


def check_quote(quote: str, sources: Sequence[str]) -> QuoteCheck | None:
    """The check of what a model gave as a quotation and nothing else, whatever marks it put around it.

    None where it says too little to be one: no word, or fewer than three of a source that has more. One that is
    longer than any that is asked for is unverified.
    """
    if len(quote) > _LONGEST_QUOTE:
        return QuoteCheck(quote=f"{quote[: _LONGEST_QUOTE - 1]}…", status="unverified")
    bare = quote.strip().strip(_MARKS).strip()
    fewest = min([_FEWEST_WORDS, *(word_count(source) for source in sources)])
    if word_count(bare) < max(1, fewest):
        return None
    check = _check(bare, [_Source.of(source) for source in sources])
    if check.status != "unverified":
        return check
    # A model writes a word that a line's end breaks in one piece again.
    whole = _check(bare, [_Source.of(_BROKEN_WORD.sub("", source)) for source in sources])
    return check if whole.status == "unverified" else QuoteCheck(quote=whole.quote, status="repaired")


def quotations(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of what stands between quotation marks, in order, the marks left out.

    One pass, because a model may have written the text and whoever wrote the passage may have told it what: a
    character is looked at a bounded number of times, whatever marks are opened and never closed.
    """
    place = 0
    #: No single mark that opens before here is ever closed: those in between run into the same stop.
    hopeless = 0
    while opening := _OPENING.search(text, place):
        start, mark = opening.end(), opening[0]
        if mark in _PAIRS:
            end = _closed(text, start, mark)
        elif start <= hopeless or _follows_a_letter(text, start - 1):
            end = None
        else:
            stop, end = _single(text, start)
            hopeless = stop if end is None else hopeless
        if end is None or end == start:
            place = start
        else:
            yield start, end
            place = end + 1


def _closed(text: str, start: int, mark: str) -> int | None:
    closing, stops = _PAIRS[mark]
    stop = stops.search(text, start)
    return stop.start() if stop is not None and stop[0] == closing else None


def _single(text: str, start: int) -> tuple[int, int | None]:
    """Where the reading of a quotation in single marks stopped, and where it ends, None where it has no end."""
    place = start
    while stop := _SINGLE_STOP.search(text, place):
        if stop[0] in "‘\n" or stop.start() == start:
            return stop.start(), None
        if not _precedes_a_letter(text, stop.end()):
            return stop.start(), stop.start()
        place = stop.end()
    return len(text), None


def _follows_a_letter(text: str, place: int) -> bool:
    return place > 0 and _is_letter(text[place - 1])


def _precedes_a_letter(text: str, place: int) -> bool:
    return place < len(text) and _is_letter(text[place])


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


@dataclass(frozen=True, slots=True)
class _Source:
    """A source as it stands, and with single blanks, as written and blind to case."""

    text: str
    plain: str
    folded: str

    @classmethod
    def of(cls, text: str) -> _Source:
        plain = " ".join(text.split())
        return cls(text, plain, fold(plain))


def _check(quote: str, sources: Sequence[_Source]) -> QuoteCheck:
    parts = [part.strip(_EDGE) for part in _ELLIPSIS.split(quote)]
    found = [_locate(part, sources) for part in parts if part]
    if not found or any(status == "unverified" for status, _ in found):
        return QuoteCheck(quote=quote, status="unverified")
    if all(status == "verified" for status, _ in found):
        return QuoteCheck(quote=quote, status="verified")
    if len(found) == 1:
        return QuoteCheck(quote=found[0][1], status="repaired")
    return QuoteCheck(quote=" … ".join(exact for _, exact in found), status="repaired")


def _locate(part: str, sources: Sequence[_Source]) -> tuple[str, str]:
    if any(part in source.text for source in sources):
        return "verified", part
    wanted = fold(" ".join(part.split()))
    for source in sources:
        place = source.folded.find(wanted) if wanted else -1
        if place >= 0:
            return "repaired", source.plain[place : place + len(wanted)]
    return "unverified", part
