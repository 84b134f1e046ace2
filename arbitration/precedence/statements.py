"""What a sentence says about the force of a text: it replaces one, is replaced, changes a clause, makes an exception.

English and Spanish. Only the form of the sentence is read here; which text is meant is for :mod:`.documents`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

#: Characters of a sentence that are read.
MOST_CHARACTERS = 1200

_ACTIVE = re.compile(
    r"\b(?:supersed(?:es?|ing)|replac(?:es|ing)|repeals|revokes|rescinds|obsoletes|cancels|supplants"
    r"|(?:shall |will )(?:supersede|replace|repeal|revoke)|(?:takes?|taking) the place of|takes? over from"
    r"|(?:issued|made|adopted|given|published) in (?:place|lieu|substitution) (?:of|for)"
    r"|(?:amends?|amending),? (?:and )?restat(?:es?|ing)"
    r"|sustituyen?|reemplazan?|derogan?|anulan?|revocan?|dejan? sin efecto)\b",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r"(?:\b(?:is|are|was|were|been|be|being|stands?|quedan?|sido|será|es|son|fue)\s(?:hereby |wholly |entirely "
    r"|thereby |deemed |now )?"
    r"(?:deleted (?:in its entirety )?and |withdrawn (?:on [^,;.]{3,30} )?and |cancelled and )?"
    r"|^|[.;:(] ?|\band )"
    r"(?P<verb>superseded|replaced|repealed|revoked|rescinded|withdrawn|cancelled|annulled|obsolete|abrogated"
    r"|amended and restated|derogad[oa]s?|sustituid[oa]s?|reemplazad[oa]s?|anulad[oa]s?|revocad[oa]s?|retirad[oa]s?)\b",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:ceases? to (?:have effect|apply|be in force|be valid)|no longer (?:in force|valid|applicable|applies"
    r"|apply|in effect)"
    r"|lapses?|expires? and is not renewed|deja(?:n|rá|rán)? de (?:estar en vigor|aplicarse|tener efecto)"
    r"|pierden? (?:su )?vigencia)\b",
    re.IGNORECASE,
)
_BY = re.compile(r"\b(?:by|with|por)\b", re.IGNORECASE)
_EDIT = re.compile(
    r"\b(?<!as )(?<!only be )(?<!may be )(?<!not be )(?<!can be )(?<!a )(?:deleted|replaced|substitut(?:ed?|ion)"
    r"|amend(?:ed|s)|var(?:ied|y)|modif(?:ied|ies)|superseded|inserted"
    r"|restated|reads? as follows|shall read|to read|so that it reads|in (?:the )?(?:place|lieu|stead) of|in (?:its"
    r"|their) (?:stead|place)|instead of"
    r"|changed (?:to|from)|(?:increased|reduced|raised|lowered|extended|shortened) (?:to|from|until|by)|becomes?"
    r"|sustituid[oa]s?|sustituye|modificad[oa]s?|modifica[nr]?|en lugar de|en vez de|nueva redacción"
    r"|siguiente redacción"
    r"|pasa(?:n|rá|rán)? a (?:ser|tener|decir)|queda(?:n|rá|rán)? redactad[oa]s?|se amplía|se reduce|se eleva)\b",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(
    r"\b(?:(?:by way of |as an )exception|exceptions? (?:to|from)|notwithstanding|despite|(?:does|do|shall"
    r"|will) not apply|inapplicable"
    r"|(?:in|by way of) derogation|derogat(?:es?|ing) from|unless|except(?: that| as| where| when| for| in| if)?"
    r"|save (?:that|as|where|for)"
    r"|waive[sd]?|exempt(?:ed|s|ion)?|disapplie[sd]|is excluded from|without prejudice"
    r"|no (?:se )?(?:aplica|aplican|aplicará|aplicarán|será aplicable)|salvo|excepto|como excepción|por excepción"
    r"|a excepción de|con excepción de|no obstante|sin perjuicio|exent[oa]s?|quedan? excluid[oa]s?)\b",
    re.IGNORECASE,
)
#: Exceptions that set another text aside, as opposed to conditions inside a rule of their own.
_OVERRIDE = re.compile(
    r"\b(?:notwithstanding|despite|(?:in|by way of) derogation|derogat(?:es?|ing) from|(?:does|do|shall|will) not apply"
    r"|exceptions? (?:to|from)|by way of exception|waive[sd]|(?:is|are|be) exempt(?:ed)?|exempts|disapplie[sd]"
    r"|inapplicable"
    r"|no (?:se )?(?:aplica|aplican|aplicará|aplicarán)|no obstante|como excepción|por excepción|a excepción de lo)\b",
    re.IGNORECASE,
)
_PREVAILS = re.compile(
    r"\b(?:prevails?|(?:take|takes|taking|have|has) (?:precedence|priority)|(?:shall|will) (?:prevail|control"
    r"|govern|take precedence|have precedence)"
    r"|prevalece(?:n|rá|rán)?|prima(?:n|rá|rán)?|tendrán? (?:prioridad|preferencia|prevalencia))\b",
    re.IGNORECASE,
)
_EVERYTHING = re.compile(
    r"\b(?:notwithstanding|despite) (?:anything|any (?:other )?(?:provision|term|clause)|the (?:foregoing|above)"
    r"|the other)"
    r"|\bno obstante (?:lo anterior|cualquier|lo dispuesto en cualquier)",
    re.IGNORECASE,
)
_RANKED = re.compile(
    r"\b(?:order of (?:precedence|priority)|(?:following|descending) order|orden de (?:prelación|precedencia"
    r"|prioridad)|siguiente orden)\b"
    r"[^:]{0,80}:\s?(?:\(?\w{1,3}[.)]\s?)?(?P<first>[^;,()]{3,80})",
    re.IGNORECASE,
)
_DISAGREE = re.compile(
    r"\b(?:conflicts?|conflicting|inconsisten\w+|discrepanc\w+|contradict\w*|differs?|conflicto|contradicci\w+"
    r"|discrepancia\w*)\b",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"^\W{0,3}(?:status|estado|state)\W{1,4}(?:obsolete|withdrawn|superseded|expired|archived|repealed|replaced"
    r"|retired|void"
    r"|obsolet[oa]|derogad[oa]|sustituid[oa]|retirad[oa]|caducad[oa])\b"
    r"|^\W{0,3}(?:OBSOLETE|SUPERSEDED|WITHDRAWN|REPEALED|NO LONGER IN FORCE|DEROGAD[OA]|OBSOLET[OA])\b",
)
_STATUS_ANY_CASE = re.compile(
    r"\b(?:status|estado)\s?[:=-]\s?(?:obsolete|withdrawn|superseded|expired|archived|repealed|replaced|retired"
    r"|obsolet[oa]|derogad[oa]|sustituid[oa]|retirad[oa])\b",
    re.IGNORECASE,
)

#: Pieces of which each pattern needs one: most sentences have none, and looking for these is quick.
_REPLACING_PIECES = (
    "supersed", "replac", "repeal", "revo", "rescind", "obsolete", "cancel", "supplant", "place of",
    "takes over", "lieu",
    "substitut", "restat", "sustitu", "reemplaz", "derog", "anul", "sin efecto", "withdrawn",
    "abrogated", "retirad", "ceas",
    "no longer", "lapse", "expire", "deja", "vigencia",
)  # fmt: skip
_EDITING_PIECES = (
    "delet", "replac", "substitut", "amend", "var", "modif", "supersed", "insert", "restat", "read",
    "place", "stead", "lieu",
    "changed", "increased", "reduced", "raised", "lowered", "extended", "shortened", "become",
    "sustitu", "en lugar", "en vez",
    "redacci", "pasa", "redactad", "se ampl", "se reduce", "se eleva",
)  # fmt: skip
_OVERRIDING_PIECES = (
    "notwithstanding", "despite", "derogat", "not apply", "exception", "waive", "exempt", "disappl",
    "inapplicable", "aplica",
    "no obstante", "excepci",
)  # fmt: skip
_PREVAILING_PIECES = (
    "prevail", "preceden", "priorit", "control", "govern", "prevale", "prima", "priorid",
    "preferencia", "order", "orden",
)  # fmt: skip

Form = Literal["replaces", "replaced_by", "ended"]


def _holds(pieces: Sequence[str], text: str) -> bool:
    lowered = text.lower()
    return any(piece in lowered for piece in pieces)


def may_rank(text: str) -> bool:
    """Whether a text may say which of two texts prevails: a quick look before its sentences are read."""
    return _holds(_PREVAILING_PIECES, text)


def may_change(text: str) -> bool:
    """Whether a text may change, replace or set aside another one: a quick look before its sentences are read."""
    return _holds((*_REPLACING_PIECES, *_EDITING_PIECES, *_OVERRIDING_PIECES), text)


def may_replace(text: str) -> bool:
    """Whether a text may say that one text replaces another: a quick look before its sentences are read."""
    return _holds(_REPLACING_PIECES, text)


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
    if not _holds(_REPLACING_PIECES, text):
        return None
    passive = _PASSIVE.search(text)
    if passive:
        before, rest = text[: passive.start("verb")], text[passive.end() :]
        by = _BY.search(rest)
        if by and by.start() < 80:
            return Replacement("replaced_by", f"{before} {rest[: by.start()]}", rest[by.end() :], sentence)
        # "Queda derogada la Ley 8/1992": the subject follows the verb.
        return Replacement("ended", f"{before} {rest}", "", sentence)
    ends = _ENDS.search(text)
    if ends:
        return Replacement("ended", f"{text[: ends.start()]} {text[ends.end() :]}", "", sentence)
    active = _ACTIVE.search(text)
    if active:
        return Replacement("replaces", text[: active.start()], text[active.end() :], sentence)
    return None


def edits(sentence: str) -> bool:
    """Whether the sentence changes the wording or the figure of another text."""
    text = sentence[:MOST_CHARACTERS]
    return _holds(_EDITING_PIECES, text) and _EDIT.search(text) is not None


def excepts(sentence: str) -> bool:
    """Whether the sentence limits a rule."""
    return _EXCEPTION.search(sentence[:MOST_CHARACTERS]) is not None


def overrides(sentence: str) -> bool:
    """Whether the sentence sets another text aside in some case."""
    text = sentence[:MOST_CHARACTERS]
    return _holds(_OVERRIDING_PIECES, text) and _OVERRIDE.search(text) is not None


def overrides_everything(sentence: str) -> bool:
    """Whether the sentence sets aside whatever else the document says on its matter."""
    return _EVERYTHING.search(sentence[:MOST_CHARACTERS]) is not None


_BACK = re.compile(
    r"\b(?:this|these|that|such|the (?:above|foregoing|preceding|previous)|est[ea]|dich[oa]|l[oa] anterior)\b"
    r"(?: (?:rule|section|clause|limit|requirement|paragraph|provision|obligation|prohibition|restriction|policy"
    r"|article"
    r"|right|duty|period|cap|norma|regla|cláusula|artículo|límite|obligación|prohibición|requisito|apartado)s?)?",
    re.IGNORECASE,
)


def points_back(sentence: str) -> bool:
    """Whether an exception means what stands just before it ("this limit does not apply")."""
    return _BACK.search(sentence[:MOST_CHARACTERS]) is not None


def winner_of_conflict(sentence: str) -> str | None:
    """Of a sentence on which of two texts prevails, the words just before the verb, which name the winner; of a list
    in order of precedence its first entry."""
    text = sentence[:MOST_CHARACTERS]
    ranked = _RANKED.search(text)
    if ranked:
        return ranked["first"]
    match = _PREVAILS.search(text)
    if match is None or not _DISAGREE.search(text):
        return None
    return " ".join(re.split(r"[,;:]", text[: match.start()])[-1].split()[-8:])


def says_it_is_over(opening: str) -> bool:
    """Whether a document's opening marks it as out of force."""
    return any(_STATUS.search(line.strip()) for line in opening.split("\n")[:12]) or bool(
        _STATUS_ANY_CASE.search(opening[:MOST_CHARACTERS])
    )
