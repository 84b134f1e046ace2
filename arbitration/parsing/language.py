"""A guess at the language of a text: English or Spanish, by their commonest words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"[a-záéíóúüñ]+")
_SAMPLE = 60_000  # characters
_ENGLISH = frozenset(
    """
    the of and to in that is was for it with as on be at by this have from or are not which but an they
    you were their been has will would shall may any such other its all if these under upon each
    """.split()  # noqa: SIM905
)
_SPANISH = frozenset(
    """
    de la que el en y los del se las por un para con una su al lo como más pero sus le ya o este sí
    porque esta entre cuando muy sin sobre también hasta hay donde quien desde todo nos durante ni
    contra ese eso será son usted cualquier podrá
    """.split()  # noqa: SIM905
)


def guess_language(texts: Iterable[str]) -> str:
    """``es`` when Spanish function words outnumber English ones in the first 60,000 characters, else ``en``."""
    counts: Counter[str] = Counter()
    seen = 0
    for text in texts:
        counts.update(_WORD.findall(text.casefold()))
        seen += len(text)
        if seen > _SAMPLE:
            break
    english = sum(counts[word] for word in _ENGLISH)
    spanish = sum(counts[word] for word in _SPANISH)
    return "es" if spanish > english else "en"
