"""What a question rules out: "excluding tax", "not the deductible", "salvo la franquicia".

Such words steer generation, never retrieval: a passage about the deductible must not rank first because the question
says that it does not want it. Where in doubt a word stays in the question; a keyword lost costs the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENGLISH = (
    r"excluding|except(?:ing)?(?: for)?|with the exception of|other than|not including|not counting|apart from|"
    r"aside from|leaving (?:out|aside)|omitting|ignoring|rather than|instead of|as opposed to|but not"
)
_SPANISH = (
    r"excepto|salvo|a excepción de|con excepción de|sin incluir|sin contar|excluyendo|aparte de|en lugar de|"
    r"en vez de|dejando (?:fuera|de lado)|que no sean?|pero no"
)
#: Orders to leave something out. In "does the policy exclude floods?" the same verb is what the question asks about.
_ORDERS = (
    r"exclude|(?:do not|don['’]t) (?:include|count|consider|mention|list)|excluye|excluya|"
    r"no (?:incluyas|incluya|cuentes|cuente|menciones|mencione)"
)
_BARE_ENGLISH = r"not(?=\s(?:the|an?|any|its|their|our|his|her|my|your)\s)"
_BARE_SPANISH = r"no(?=\s(?:el|la|los|las|una?|unos|unas|del|al|su|sus|mi|mis|tu|tus)\s)"

#: Where what is ruled out ends: at punctuation, and where the sentence goes on with a verb or a clause of its own.
_GOES_ON = (
    r"is|are|was|were|am|do|does|did|has|have|had|can|could|may|might|must|shall|should|will|would|applies|apply|"
    r"what|which|who|whom|whose|when|where|why|how|but|if|unless|while|because|"
    r"es|son|era|fue|puede|pueden|debe|deben|tiene|tienen|ha|han|est[áa]n?|será|qué|cuál|cuáles|quién|cuándo|"
    r"dónde|cómo|cuánto|cuánta|cuántos|cuántas|pero|si|porque"
)
_WHAT = (
    r"\s(?P<what>[^\s,;:?!()][^,;:?!()]*?)"
    rf"(?=\s(?:{_GOES_ON})\b|[,;:?!()]|\.(?:\s|\Z)|\s[-–—]\s|\Z)"
)
_EXCLUSION = re.compile(
    rf"\b(?P<cue>{_ENGLISH}|{_SPANISH}|{_ORDERS}|{_BARE_ENGLISH}|{_BARE_SPANISH})(?![\w]){_WHAT}",
    re.IGNORECASE,
)
_ORDER = re.compile(_ORDERS, re.IGNORECASE)
#: After one of these, or in a question that begins with one, "not" denies a verb: "is not the owner", "whether or not
#: the tenant pays", "why is the data not a secret".
_DENIES_A_VERB = frozenset(
    {
        *("is", "are", "was", "were", "am", "be", "been", "being", "do", "does", "did", "has", "have", "had"),
        *("can", "could", "may", "might", "must", "shall", "should", "will", "would", "ought", "need"),
        *("or", "if", "why", "whether", "when", "where"),
    }
)
_JOINING = frozenset({"and", "but"})
_LAST_WORD = re.compile(r"(?P<word>[^\W\d_]*)(?P<gap>[^\w]*)\Z")
_OBJECT_PRONOUNS = frozenset({"la", "los", "las"})
#: An order opens its sentence, or follows one of these.
_BEFORE_ORDERS = frozenset({"", "please", "and", "but", "y", "e", "pero", "favor"})
_LOOKED_BACK = 40  # characters; longer than any word that matters


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What is ruled out, and the span of it with its cue."""

    what: str
    span: tuple[int, int]


def exclusions_of(text: str) -> tuple[Exclusion, ...]:
    """What a question rules out, in order. ``text`` is normalised; the time is linear in its length."""
    return tuple(
        Exclusion(match["what"].strip(), match.span())
        for match in _EXCLUSION.finditer(text)
        if _is_one(match, text)
    )


def blanked(text: str, exclusions: tuple[Exclusion, ...]) -> str:
    """The text with spaces in place of what is ruled out; places keep their offsets."""
    kept = list(text)
    for exclusion in exclusions:
        start, end = exclusion.span
        kept[start:end] = " " * (end - start)
    return "".join(kept)


def _is_one(match: re.Match[str], text: str) -> bool:
    before = _LAST_WORD.search(text[max(0, match.start() - _LOOKED_BACK) : match.start()])
    word, gap = (before["word"].lower(), before["gap"].strip()) if before else ("", "")
    cue = match["cue"].strip().lower()
    if _ORDER.fullmatch(cue):
        return bool(gap) or word in _BEFORE_ORDERS
    if cue == "not":
        return bool(gap) or word in _JOINING or not {word, text.split(maxsplit=1)[0].lower()} & _DENIES_A_VERB
    if (
        cue == "no"
    ):  # "no la paga" may deny a verb: after a comma it is taken for a noun, elsewhere only where it must
        article = match["what"].split(maxsplit=1)[0].lower()
        return bool(gap) or word == "" or (word in {"y", "e"} and article not in _OBJECT_PRONOUNS)
    return True
