"""What a sentence says about the force of a text: it replaces one, is replaced, changes a clause, makes an exception.

English and Spanish. Only the form of the sentence is read here; which text is meant is for :mod:`.documents`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from arbitration.pattern_files import PatternFile

#: Characters of a sentence that are read.
MOST_CHARACTERS = 1200

_FILE = PatternFile(__file__)
_SAYS = {name: _FILE.compiled(pattern) for name, pattern in _FILE.table["patterns"].items()}
_PIECES: dict[str, list[str]] = _FILE.table["pieces_of"]

_STATUS = re.compile(
    r"^\W{0,3}(?:status|estado|state)\W{1,4}(?:obsolete|withdrawn|superseded|expired|archived|repealed|replaced"
    r"|retired|void"
    r"|obsolet[oa]|derogad[oa]|sustituid[oa]|retirad[oa]|caducad[oa])\b"
    r"|^\W{0,3}(?:OBSOLETE|SUPERSEDED|WITHDRAWN|REPEALED|NO LONGER IN FORCE|DEROGAD[OA]|OBSOLET[OA])\b",
)


Form = Literal["replaces", "replaced_by", "ended"]


def _holds(text: str, *sorts: str) -> bool:
    lowered = text.lower()
    return any(piece in lowered for sort in sorts for piece in _PIECES[sort])


def may_rank(text: str) -> bool:
    """Whether a text may say which of two texts prevails: a quick look before its sentences are read."""
    return _holds(text, "prevailing")


def may_change(text: str) -> bool:
    """Whether a text may change, replace or set aside another one: a quick look before its sentences are read."""
    return _holds(text, "replacing", "editing", "overriding")


def may_replace(text: str) -> bool:
    """Whether a text may say that one text replaces another: a quick look before its sentences are read."""
    return _holds(text, "replacing")


@dataclass(frozen=True, slots=True)
class Replacement:
    """A sentence of replacement. ``replaces``: what stands ``before`` replaces what stands ``after``. ``replaced_by``
    the other way round. ``ended``: what stands ``before`` ends, and nothing is said of what follows it."""

    form: Form
    before: str
    after: str
    sentence: str


def replacement_in(sentence: str) -> Replacement | None:
    """What a sentence says of a text that is replaced or ends."""
    text = sentence[:MOST_CHARACTERS]
    if not _holds(text, "replacing"):
        return None
    passive = _SAYS["passive"].search(text)
    if passive:
        before, rest = text[: passive.start("verb")], text[passive.end() :]
        by = _SAYS["by"].search(rest)
        if by and by.start() < 80:
            return Replacement("replaced_by", f"{before} {rest[: by.start()]}", rest[by.end() :], sentence)
        # "Queda derogada la Ley 8/1992": the subject follows the verb.
        return Replacement("ended", f"{before} {rest}", "", sentence)
    ends = _SAYS["ends"].search(text)
    if ends:
        return Replacement("ended", f"{text[: ends.start()]} {text[ends.end() :]}", "", sentence)
    active = _SAYS["active"].search(text)
    if active:
        return Replacement("replaces", text[: active.start()], text[active.end() :], sentence)
    return None


def edits(sentence: str) -> bool:
    """Whether the sentence changes the wording or the figure of another text."""
    text = sentence[:MOST_CHARACTERS]
    return _holds(text, "editing") and _SAYS["edit"].search(text) is not None


def excepts(sentence: str) -> bool:
    """Whether the sentence limits a rule."""
    return _SAYS["exception"].search(sentence[:MOST_CHARACTERS]) is not None


def overrides(sentence: str) -> bool:
    """Whether the sentence sets another text aside in some case."""
    text = sentence[:MOST_CHARACTERS]
    return _holds(text, "overriding") and _SAYS["override"].search(text) is not None


def overrides_everything(sentence: str) -> bool:
    """Whether the sentence sets aside whatever else the document says on its matter."""
    return _SAYS["everything"].search(sentence[:MOST_CHARACTERS]) is not None


def points_back(sentence: str) -> bool:
    """Whether an exception means what stands just before it ("this limit does not apply")."""
    return _SAYS["back"].search(sentence[:MOST_CHARACTERS]) is not None


def winner_of_conflict(sentence: str) -> str | None:
    """Of a sentence on which of two texts prevails, the words just before the verb, which name the winner; of a list
    in order of precedence its first entry."""
    text = sentence[:MOST_CHARACTERS]
    ranked = _SAYS["ranked"].search(text)
    if ranked:
        return ranked["first"]
    match = _SAYS["prevails"].search(text)
    if match is None or not _SAYS["disagree"].search(text):
        return None
    return " ".join(re.split(r"[,;:]", text[: match.start()])[-1].split()[-8:])


def says_it_is_over(opening: str) -> bool:
    """Whether a document's opening marks it as out of force."""
    return any(_STATUS.search(line.strip()) for line in opening.split("\n")[:12]) or bool(
        _SAYS["status_any_case"].search(opening[:MOST_CHARACTERS])
    )
