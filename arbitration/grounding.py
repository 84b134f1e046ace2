"""Does it really say so? Quotes are checked against the source, and text that talks to the model is flagged.

Everything here is deterministic and runs before anyone reads a reason or an answer.
"""

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


# --- text that talks to the model ---------------------------------------------------------------------

_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]{2,}")

_INJECTION_SOURCES: tuple[tuple[str, str], ...] = (
    (
        "tells the reader to drop its instructions",
        r"\b(?:ignore|disregard|forget|override|bypass|discard|skip|stop following|do not (?:follow|obey))\b"
        r".{0,40}\b(?:previous|prior|earlier|above|all|any|your|the|existing|original|these|system)\b.{0,30}"
        r"\b(?:instructions?|prompts?|rules?|guidelines?|directions?|commands?|context|guardrails?|training"
        r"|restrictions?|polic(?:y|ies)|safeguards?|task)\b",
    ),
    (
        "tells the reader to drop its instructions",
        r"\b(?:ignora|ignore|olvida|olvide|descarta|descarte|desobedece|omite)\b.{0,40}"
        r"\b(?:anteriores?|previas?|todas?|tus|sus|las)\b.{0,30}"
        r"\b(?:instrucciones|reglas|órdenes|indicaciones|normas)\b",
    ),
    (
        "gives the reader a new identity",
        r"\b(?:you are now|from now on,? you|pretend (?:to be|you are)|you have no restrictions"
        r"|act as (?:an? )?(?:unrestricted|different|evil|root|admin|developer|dan)"
        r"|enter (?:developer|debug|god|admin|dan) mode"
        r"|a partir de ahora (?:eres|actúa)|ahora eres|finge ser"
        r"|actúa como (?:un|una) (?:asistente|ia|modelo))\b",
    ),
    (
        "imitates the marks of a conversation",
        r"<\|?/?(?:im_start|im_end|system|assistant|user|endoftext)\|?>|\[/?INST\]|<</?SYS>>"
        r"|###\s*(?:system|instruction|assistant)\b"
        r"|(?:^|[\n\]>])\s*\[?(?:SYSTEM|ASSISTANT)(?: (?:NOTE|PROMPT|MESSAGE|OVERRIDE))?\]?\s*[:\]]"
        r"|-{3,}\s*END OF (?:DOCUMENT|CONTEXT|PROMPT|INPUT)",
    ),
    (
        "speaks to a language model",
        r"\b(?:attention|note to|dear|hey|instructions? (?:for|to)|message (?:for|to)|if you are an?)\b.{0,20}"
        r"\b(?:ai|a\.i\.|llms?|language models?|assistants?|chatbots?|gpt|claude"
        r"|ai (?:agents?|systems?|models?|reviewers?|graders?))\b"
        r"|\b(?:as an? (?:ai|language model)|atención,? (?:ia|modelo|asistente)|si eres una? (?:ia|modelo))\b",
    ),
    (
        "asks for the instructions or secrets",
        r"\b(?:reveal|print|show|repeat|output|display|leak|expose|dump|send|exfiltrate|tell me"
        r"|muestra|revela|imprime|envía)\b.{0,40}"
        r"\b(?:system prompt|hidden prompt|initial (?:prompt|instructions)|your (?:instructions|prompt|rules)"
        r"|api keys?|passwords?|credentials|environment variables|secrets?"
        r"|prompt del sistema|tus instrucciones|contraseñas?)\b",
    ),
    (
        "dictates the verdict",
        r"\b(?:mark|rate|rank|score|classify|label|grade|judge|treat)\b.{0,40}"
        r"\b(?:this|these|it|the above|all other|every other)\b.{0,40}"
        r"\b(?:primary|relevant|10|ten|highest|top|discarded|irrelevant|supporting)\b",
    ),
    (
        "dictates the reply",
        r"\b(?:respond|reply|answer|output|say|write|append|prepend|begin your|end your|start your)\b.{0,30}"
        r"\b(?:only|exactly|verbatim|the (?:exact )?(?:token|phrase|words?|string)|with the (?:word|phrase)"
        r"|your (?:reply|response|answer|output))\b",
    ),
    (
        "asks to decode and obey",
        r"\b(?:decode|decrypt|base64|rot13|descodifica|decodifica)\b.{0,60}"
        r"\b(?:follow|do what|execute|obey|instructions?|sigue|ejecuta)\b",
    ),
)
_INJECTIONS = tuple(
    (why, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for why, pattern in _INJECTION_SOURCES
)


def injection_reasons(text: str) -> tuple[str, ...]:
    """Why a text looks as if it gave orders to the model that reads it; empty when it does not.

    A suspicion, not a finding: it sends the candidate to a person and blocks nothing.
    """
    reasons = ["hides characters that no reader sees"] if _HIDDEN.search(text) else []
    flat = re.sub(r"[^\S\n]+", " ", text)
    reasons += [why for why, pattern in _INJECTIONS if pattern.search(flat)]
    return tuple(dict.fromkeys(reasons))
