"""Text that a font without a table of characters gives as the numbers of its glyphs: "WKH" for "the".

Such a page looks right on the screen, and search, quotations and answers see nonsense.
"""

from __future__ import annotations

from collections.abc import Sequence

from arbitration.text import is_stop_word

#: In the usual order of glyphs a character's number is its code less this.
_SHIFT = 29
_BACK = {code: code + _SHIFT for code in range(3, 127 - _SHIFT) if not chr(code).isspace()}
#: Words from which a text is judged; the share of them that are function words in prose, and in nonsense.
_FEWEST_WORDS = 30
_PROSE, _NONSENSE = 0.15, 0.03


def is_shifted(text: str) -> bool:
    """Whether a page's text is prose only once each character is moved back to its place."""
    moved = text.translate(_BACK).split()
    if len(moved) < _FEWEST_WORDS or _function_words(text.split()) > _NONSENSE:
        return False
    return _function_words(moved) > _PROSE


def _function_words(found: Sequence[str]) -> float:
    """The share of function words of English or Spanish, whichever has more."""
    words = [word.strip(".,;:()").lower() for word in found]
    return max(sum(is_stop_word(word, language) for word in words) for language in ("en", "es")) / max(
        1, len(words)
    )
