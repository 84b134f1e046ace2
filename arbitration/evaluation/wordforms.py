"""Text as the judge compares it: what a page breaks, spaces or hyphenates makes no difference."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\ufffe"))


@lru_cache(maxsize=8192)
def plain(text: str) -> str:
    """NFKC, without invisible characters, runs of white space as one space, lower case."""
    return " ".join(unicodedata.normalize("NFKC", text.translate(_INVISIBLE)).split()).casefold()
