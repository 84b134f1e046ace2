"""Words of the question parser, English and Spanish; the longer lists are in ``lexicon.toml``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


#: Words that name the document itself or the act of telling: scope of the question, never keywords.
SCOPE_WORDS: frozenset[str] = _words("scope")

#: Verbs and nouns so light that meeting them on a line proves nothing.
LIGHT_WORDS: frozenset[str] = _words("light")

#: Frequent verbs of questions: content words, but not the noun a question is about.
VERBS: frozenset[str] = _words("verbs")

_BEFORE_VERB = "can could may might must shall should will would to i we you they he she it who not"

#: After one of these a bare word is a verb.
BEFORE_VERB: frozenset[str] = frozenset(_BEFORE_VERB.split())

#: Endings that make a word a noun whatever stands before it.
NOUN_ENDING = re.compile(
    r"(?:tion|sion|ment|ness|ity|ance|ence|ship|ism|ure|age|ies|or|ers?|s|ci[oó]n|dad|miento)\Z"
)

_ORDINALS_EN = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
"""
_ORDINALS_ES = "primera segunda tercera cuarta quinta sexta séptima octava novena décima"


def _ordinals() -> dict[str, int]:
    english = {word: number for number, word in enumerate(_ORDINALS_EN.split(), start=1)}
    compound = {f"twenty-{word}": 20 + number for word, number in english.items() if number < 10}
    spanish = {word: number for number, word in enumerate(_ORDINALS_ES.split(), start=1)}
    return english | compound | spanish


#: Ordinal words with their numbers, as in "Fourteenth Amendment".
ORDINALS: dict[str, int] = _ordinals()

#: Kinds of documents a question may limit itself to ("in the policy").
DOCUMENT_TYPES: dict[str, str] = {
    "policy": "policy", "policies": "policy", "política": "policy", "políticas": "policy",
    "contract": "contract", "contracts": "contract", "contrato": "contract", "contratos": "contract",
    "agreement": "contract", "agreements": "contract", "acuerdo": "contract",
    "filing": "filing", "10-k": "filing", "10-q": "filing",
    "handbook": "handbook", "manual": "handbook",
}  # fmt: skip
