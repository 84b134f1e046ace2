"""Does it really say so? Quotes are checked against the source before anyone reads a reason or an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arbitration.contracts import QuoteCheck
from arbitration.text import fold, word_count

_FEWEST_WORDS = 3
_QUOTED = re.compile(
    r"“(?P<curly>[^“”]+)”|«(?P<angle>[^«»]+)»|\"(?P<straight>[^\"]+)\"|(?<!\w)['‘](?P<single>[^'‘’\n]+(?:['’]\w+[^'‘’\n]*)*)['’](?!\w)"
)
_EDGE = " \t\n.,;:!?…"


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
    for start, end, quote in _quotes(text):
        check = _check(quote, sources)
        checks.append(check)
        pieces += [text[position:start], check.quote if check.status == "repaired" else quote]
        position = end
    return CheckedText("".join([*pieces, text[position:]]), tuple(checks))


def _quotes(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _QUOTED.finditer(text):
        group = match.lastgroup or ""
        if word_count(match[group]) >= _FEWEST_WORDS:
            yield match.start(group), match.end(group), match[group]


def _check(quote: str, sources: Sequence[str]) -> QuoteCheck:
    parts = [part.strip(_EDGE) for part in re.split(r"\.\.\.|…|\[\.\.\.\]", quote)]
    found = [_locate(part, sources) for part in parts if part]
    if not found or any(status == "unverified" for status, _ in found):
        return QuoteCheck(quote=quote, status="unverified")
    if all(status == "verified" for status, _ in found):
        return QuoteCheck(quote=quote, status="verified")
    if len(found) == 1:
        return QuoteCheck(quote=found[0][1], status="repaired")
    return QuoteCheck(quote=" … ".join(exact for _, exact in found), status="repaired")


def _locate(part: str, sources: Sequence[str]) -> tuple[str, str]:
    if any(part in source for source in sources):
        return "verified", part
    loose = re.compile(r"\s+".join(re.escape(word) for word in fold(part).split()))
    for source in sources:
        match = loose.search(fold(source))
        if match:
            return "repaired", " ".join(source[match.start() : match.end()].split())
    return "unverified", part
