"""Text that talks to the model: suspicion that a passage gives orders to whoever reads it.

A suspicion sends a candidate to a person and blocks nothing. The patterns are our own; they look for the
speech act (drop your rules, take this identity, reveal, append, obey what is decoded) in the languages that
such text is seen in, and for characters and encodings that hide it from human readers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]{2,}")

# Pieces that several patterns share.
_DROP = (
    r"ignore|disregard|forget|override|bypass|discard|skip|stop following|do not (?:follow|obey)"
    r"|ignora|ignorad|olvida|olvide|descarta|descarte|desobedece|omite"
    r"|ignorez|oubliez|oublie|ignoriere|vergiss|missachte|dimentica|ignorate"
)
_RULES = (
    r"instructions?|prompts?|rules?|guidelines?|directions?|commands?|guardrails?|restrictions?|safeguards?"
    r"|safety (?:checks?|protocols?|guidelines?)|instrucciones|reglas|órdenes|indicaciones|normas"
    r"|consignes|règles|anweisungen|richtlinien|regeln|istruzioni|regole"
)
_READER = (
    r"ai|a\.i\.|llms?|language models?|assistants?|chatbots?|bots?|gpt|ai (?:agents?|systems?|models?|reviewers?)"
    r"|ia|modelo de lenguaje|asistente|assistent|assistente"
)
_PRIVATE = (
    r"system[- ]?prompts?|hidden prompt|initial (?:prompt|instructions)|your (?:instructions|prompt|rules)"
    r"|api keys?|passwords?|credentials|environment variables|secrets?|internal (?:configuration|data)"
    r"|customer (?:list|data)|words above|prompt del sistema|tus instrucciones|contraseñas?|prompt système"
    r"|prompt di sistema|istruzioni di sistema|interne(?:n)? daten|donn[eé]es clients"
)
_SHOW = (
    r"reveal|print|printing|show|repeat|output|display|leak|expose|dump|send|email|forward|exfiltrate|tell me"
    r"|muestra|revela|imprime|envía|révélez|envoie\w*|rassemble|zeige|gibst|rivela|invia"
)


@dataclass(frozen=True, slots=True)
class _Sign:
    """One way of talking to a model. ``words`` are those without which the pattern cannot match: looking for
    them first keeps ordinary passages cheap. ``also``: where those are common words, others without which it cannot
    match either."""

    why: str
    words: frozenset[str]
    pattern: re.Pattern[str]
    also: frozenset[str]

    def may_match(self, present: frozenset[str], *, is_ascii: bool) -> bool:
        """Whether the words in a text leave the pattern a chance. Letters beside ASCII may stand for others when case
        does not count (``ſ`` for ``s``), so that such a text is looked at on the first words alone."""
        if self.words.isdisjoint(present):
            return False
        return not (is_ascii and self.also) or not self.also.isdisjoint(present)


def _sign(why: str, words: str, pattern: str, also: str = "") -> _Sign:
    compiled = re.compile(pattern, re.DOTALL | re.IGNORECASE)
    return _Sign(why, frozenset(words.split()), compiled, frozenset(also.split()))


_SIGNS: tuple[_Sign, ...] = (
    _sign(
        "tells the reader to drop its instructions",
        "ignore disregard forget override bypass discard skip stop follow obey ignora ignorad olvida olvide descarta "
        "descarte desobedece omite ignorez oubliez oublie ignoriere vergiss missachte dimentica ignorate",
        rf"\b(?:{_DROP})\b.{{0,60}}\b(?:{_RULES})\b",
    ),
    _sign(
        "tells the reader to drop its instructions",
        "directive directives instruction instructions anweisungen instrucciones istruzioni consignes safety exempt "
        "permission seguridad sicherheitsrichtlinien",
        r"\b(?:new|neue|nuevas?|nuove|nouvelles) "
        r"(?:directives?|instructions?|anweisungen|instrucciones|istruzioni|consignes)\b"
        r".{0,40}(?:supersede|replace|override|:)"
        r"|\bsafety (?:protocols?|guidelines?|checks?)\b.{0,40}"
        r"\b(?:disabled|off|skipp?ed|do(?:es)? not apply|were not meant)\b"
        r"|\bexempt from the usual\b|\bpermission to skip\b"
        r"|\breglas de seguridad no\b|\bsicherheitsrichtlinien .{0,20}nicht\b",
    ),
    _sign(
        "gives the reader a new identity",
        "now pretend act mode filters restrictions limits ahora finge jetzt nun sofort keine ora restrizioni "
        "maintenant restricciones",
        r"\b(?:you are now (?:an? )?(?:\w+ )?(?:ai|assistant|bot|dan|model|agent|unrestricted|free|in)"
        r"|from now on,? (?:you (?:are|will|must)|respond|act|answer)"
        r"|pretend (?:to be|you are) (?:an? )?(?:ai|unrestricted|uncensored|evil|different|system"
        r"|root|admin|developer|dan)"
        r"|(?:you have|have|with) (?:no|without) (?:filters|restrictions|limits)"
        r"|act as (?:an? )?(?:unrestricted|uncensored|different|evil|root|admin|developer|dan)"
        r"|enter (?:developer|debug|god|admin|dan) mode|a partir de ahora (?:eres|actúa)|ahora eres|finge ser"
        r"|du bist (?:jetzt|nun)|ab (?:jetzt|sofort) (?:hast|gibst|bist)|keine regeln|ora sei|senza restrizioni"
        r"|(?:tu es|vous êtes) maintenant|sans restrictions|sin restricciones)\b",
        also="you respond act answer pretend filters restrictions limits mode ahora finge bist ab regeln ora "
        "restrizioni maintenant restricciones",
    ),
    _sign(
        "imitates the marks of a conversation",
        "system assistant override user endoftext inst sys instruction end sistema systemhinweis système reasoning "
        "asistente assistent im",
        r"<\|?/?(?:im_start|im_end|system|assistant|user|endoftext)\|?>|\[/?INST\]|<</?SYS>>"
        r"|###\s*(?:system|instruction|assistant)\b|-{3,}\s*END OF (?:DOCUMENT|CONTEXT|PROMPT|INPUT)"
        r"|(?:^|[\n\]>.])\s*\[?(?:system|assistant|override)(?: (?:note|prompt|message|override))?\]?\s*[:\]]"
        r"|\b(?:nota d(?:i|el) sistema|systemhinweis|note système)\s*:|\breasoning(?: trace)? \(assistant\)"
        r"|\bas the assistant,? i\b|\bals assistent habe ich\b|\bcomo asistente,? ya\b",
    ),
    _sign(
        "speaks to a language model",
        "ai llm llms model assistant assistants chatbot chatbots bot bots gpt ia modelo asistente assistent assistente "
        "summarize summarise process read answer analyze analyse reply replies response responses tasks memory "
        "summary output generate",
        rf"\b(?:attention|note to|dear|hey|instructions? (?:for|to)|message (?:for|to)|if you are an?|nota para"
        rf"|atención|si eres una?)\b.{{0,20}}\b(?:{_READER})\b|\bas an? (?:ai|language model)\b"
        r"|\bwhen(?:ever)? you (?:summari[sz]e|process|read|answer|analy[sz]e) (?:this|the) "
        r"(?:ticket|document|text|e?mail|page|file)\b"
        r"|\b(?:every|each|all) (?:future (?:repl(?:y|ies)|responses?|tasks)|reports? you generate)\b"
        r"|\bsave this\b.{0,30}\bmemory\b|\bin your (?:summary|reply|response|answer|output)\b",
        also="attention note dear hey instruction instructions message you nota atención eres ai language future save "
        "your",
    ),
    _sign(
        "asks for the instructions or secrets",
        "reveal print printing show repeat output display leak expose dump send email forward exfiltrate tell muestra "
        "revela imprime envía révélez envoie rassemble zeige gibst rivela invia",
        rf"\b(?:{_SHOW})\b.{{0,50}}\b(?:{_PRIVATE})\b",
    ),
    _sign(
        "dictates the verdict",
        "mark rate rank score classify label grade judge treat",
        r"\b(?:mark|rate|rank|score|classify|label|grade|judge|treat)\b.{0,40}"
        r"\b(?:this|these|it|the above|all other|every other)\b.{0,20}"
        r"\b(?:as|with|at|to be) (?:an? |the )?(?:primary|relevant|10|ten|highest|top|discarded"
        r"|irrelevant|supporting)\b",
    ),
    _sign(
        "dictates the reply",
        "respond reply answer output say write append prepend include begin end start antwort risposta réponse "
        "respuesta",
        r"\b(?:respond|reply|answer|output|say|write|append|prepend|include|begin your|end your|start your)\b"
        r".{0,30}"
        r"\b(?:only with|exactly the|verbatim|the (?:exact )?(?:token|phrase|string)|the verification code"
        r"|with the (?:word|phrase)|your (?:reply|response|answer|output))\b"
        r"|\b(?:token|code)\b.{0,40}\b(?:jeder antwort|ogni risposta|chaque réponse|cada respuesta)\b"
        r"|\bappend \S+ to (?:my|your|the) (?:summary|reply|answer)\b",
        also="only exactly verbatim token code phrase string verification word your append",
    ),
    _sign(
        "asks for a tool to be used",
        "call run execute invoke",
        r"\bcall (?:the )?[a-z]+_[a-z_]+\b|\b(?:run|execute|invoke) the (?:tool|function|command)\b",
    ),
    _sign(
        "asks to decode and obey",
        "decode decrypt base64 rot13 descodifica decodifica",
        r"\b(?:decode|decrypt|base64|rot13|descodifica|decodifica)\b.{0,60}"
        r"\b(?:follow|do (?:exactly )?what|execute|obey|instructions?|sigue|ejecuta)\b",
    ),
)
_ENCODED = re.compile(  # blind to no case: that is what tells an encoded run from a word
    r"\b(?=[A-Za-z0-9+/]*[A-Z])(?=[A-Za-z0-9+/]*[a-z])(?=[A-Za-z0-9+/]*\d)[A-Za-z0-9+/]{60,}={0,2}"
    r"|\b(?:[0-9a-fA-F]{2}){40,}\b|\b[A-Z2-7]{60,}={0,6}|(?:\\u[0-9a-fA-F]{4}){8,}|(?:\b[01]{8}\s+){8,}"
)
_LONG_RUN = re.compile(r"[^\s.]{60}")
_BITS = re.compile(r"\b[01]{8} [01]{8}")
_LONGEST_WORD = 60
_MORSE = re.compile(r"(?:[.\-]{1,5} ){12,}")
_LETTERS_APART = re.compile(r"\b(?:[A-Za-z] ){5,}[A-Za-z]\b")
_LETTERS_ALONE = 3  # words of one character that a match of the next pattern holds
_MAYBE_APART = re.compile(r" [A-Za-z] [A-Za-z] [A-Za-z] ")  # a blank first: quickly found missing
_BLANKS = re.compile(r"[^\S\n]+")
_WORD = re.compile(r"[^\W_]+")


#: Whatever word none of the signs needs is passed over at once.
_TELLING = frozenset().union(*(sign.words | sign.also for sign in _SIGNS))
_ASCII_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()}
_UNEVEN = re.compile(r"[^\S \n]|  ")


@lru_cache(maxsize=20_000)
def injection_reasons(text: str) -> tuple[str, ...]:
    """Why a text looks as if it gave orders to the model that reads it; empty when it does not."""
    reasons = []
    lengths = list(map(len, text.split()))
    if not text.isascii() and _HIDDEN.search(text):
        reasons.append("hides characters that no reader sees")
    if _is_encoded(text, longest=max(lengths, default=0)):
        reasons.append("hides text in an encoding")
    joined = text
    if lengths.count(1) >= _LETTERS_ALONE and _MAYBE_APART.search(text):
        joined = _LETTERS_APART.sub(lambda match: match[0].replace(" ", ""), text)
    present = _TELLING.intersection(_words(joined.lower()))
    if present:
        is_ascii = joined.isascii()
        signs = [sign for sign in _SIGNS if sign.may_match(present, is_ascii=is_ascii)]
        flat = _BLANKS.sub(" ", joined) if signs and _UNEVEN.search(joined) else joined
        reasons += [sign.why for sign in signs if sign.pattern.search(flat)]
    return tuple(dict.fromkeys(reasons))


def _words(text: str) -> list[str]:
    return text.translate(_ASCII_WORDS).split() if text.isascii() else _WORD.findall(text)


def _is_encoded(text: str, *, longest: int) -> bool:
    if _has_long_run(text, longest) and _ENCODED.search(text):
        return True
    return " .- " in text and _MORSE.search(text) is not None


def _has_long_run(text: str, longest: int) -> bool:
    """Whether anything is long enough to be encoded text: few passages go further than to their longest word, fewer to
    a pair of bits."""
    if longest >= _LONGEST_WORD and _LONG_RUN.search(text):
        return True
    if "0" not in text and "1" not in text:
        return False
    return any(pair in text for pair in ("00", "01", "10", "11")) and _BITS.search(text) is not None
