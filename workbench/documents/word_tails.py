"""What may follow the beginning of an English stem for the whole to be of that stem: endings that stemming takes away.

A quick look before the stemmer itself is asked about thousands of words. It is generous: whatever it lets pass is
stemmed, and what it refuses does not give the stem (Porter's English stemmer, snowballstem.org).
"""

from __future__ import annotations

import re

_E = ("able", "ible", "ance", "ence", "ate", "ive", "ize", "ise", "ative")
_FULL = {
    *_E, "al", "er", "or", "ic", "ant", "ement", "ment", "ent", "ism", "ity", "ous", "ion", "ness", "ful", "ly", "li",
    "ation", "ational", "ator", "ization", "izer", "isation", "iser", "ability", "ibility", "ivity", "alism", "ality",
    "ency", "ancy", "ably", "ibly", "ogy", "ogist", "ist", "ically", "s", "es", "ies", "ied", "ed", "ing", "eed",
    "ities", "abilities", "ibilities", "ivities", "encies", "ancies", "onal", "tional", "y", "e",
    *(stem[:-1] + end for stem in _E for end in ("ed", "ing", "er", "ion", "or", "y")),
}  # fmt: skip
_PARTIAL = {ending[start:] for ending in _FULL for start in range(1, len(ending))}
_TAIL = re.compile(
    rf"\w?[bdfgmnprt]?(?:{'|'.join(sorted(_PARTIAL, key=len, reverse=True))})?"
    rf"(?:[bdfgmnprt]?(?:ed|ing)(?:ly)?|{'|'.join(sorted(_FULL, key=len, reverse=True))})*"
)


def may_end(tail: str) -> bool:
    """Whether a word that goes on so after all but the last letter of a stem may be of that stem."""
    return len(tail) < 3 or _TAIL.fullmatch(tail) is not None
