"""Words that English and Spanish share but for their endings: "confidentiality" and "confidencialidad"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from arbitration.text import fold, supported_language

_SHORTEST = 6  # letters; the endings of shorter words say little
_MOST = 2

#: English ending and the Spanish ones, without accents as words are compared; the longer endings first.
_ENDINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ically", ("icamente",)), ("fication", ("ficacion",)), ("ization", ("izacion",)), ("isation", ("izacion",)),
    ("graphy", ("grafia",)), ("bility", ("bilidad",)), ("ation", ("acion",)), ("ction", ("ccion",)),
    ("ology", ("ologia",)), ("ment", ("mento", "miento")), ("tion", ("cion",)), ("sion", ("sion",)),
    ("ence", ("encia",)), ("ance", ("ancia",)), ("ency", ("encia",)), ("ancy", ("ancia",)),
    ("ical", ("ico",)), ("able", ("able",)), ("ible", ("ible",)), ("ship", ()),
    ("ity", ("idad",)), ("ary", ("ario",)), ("ory", ("orio",)), ("ism", ("ismo",)), ("ist", ("ista",)),
    ("ive", ("ivo",)), ("ous", ("oso",)), ("ise", ("izar",)), ("ize", ("izar",)), ("ify", ("ificar",)),
    ("ate", ("ar", "ato")), ("ure", ("ura",)), ("ent", ("ente",)), ("ant", ("ante",)), ("ly", ("mente",)),
    ("ic", ("ico",)), ("al", ("al",)), ("or", ("or",)),
)  # fmt: skip
#: Spanish spells these sounds with fewer letters.
_SPELLING = (
    ("ph", "f"),
    ("th", "t"),
    ("ss", "s"),
    ("mm", "m"),
    ("ff", "f"),
    ("tt", "t"),
    ("pp", "p"),
    ("ll", "l"),
)
_LONG_PLURAL = re.compile(r"(?<=[^aeiou])es\Z")


def _reversed() -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for english, spanish in _ENDINGS:
        for ending in spanish:
            found.setdefault(ending, []).append(english)
            if ending in ("ario", "ivo", "ico", "oso"):
                found.setdefault(f"{ending[:-1]}a", []).append(english)
    return tuple((ending, tuple(found[ending])) for ending in sorted(found, key=len, reverse=True))


_SPANISH_ENDINGS = _reversed()


def cognates(word: str, language: str) -> tuple[str, ...]:
    """What a word of ``language`` may be in the other language by its ending, without accents; empty for words that
    are short, hold no known ending, or come out the same."""
    plain = fold(word)
    if len(plain) < _SHORTEST or not plain.isalpha():
        return ()
    is_english = supported_language(language) == "en"
    plain = _singular_english(plain) if is_english else _singular_spanish(plain)
    found = _exchanged(plain, _ENDINGS if is_english else _SPANISH_ENDINGS)
    if is_english:
        found = [_spelled(other) for other in found]
    return tuple(dict.fromkeys(other for other in found if other != fold(word)))[:_MOST]


def _exchanged(word: str, endings: Sequence[tuple[str, tuple[str, ...]]]) -> list[str]:
    for ending, others in endings:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            return [word[: -len(ending)] + other for other in others]
    return []


def _spelled(word: str) -> str:
    for english, spanish in _SPELLING:
        word = word.replace(english, spanish)
    return f"e{word}" if re.match(r"s[bcdfgklmnpqtv]", word) else word


def _singular_english(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is", "ous")) else word


def _singular_spanish(word: str) -> str:
    return _LONG_PLURAL.sub("", word) if _LONG_PLURAL.search(word) else word.removesuffix("s")
