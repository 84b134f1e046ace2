"""What kind of answer a question wants, by its wording."""

from __future__ import annotations

import re
from collections.abc import Sequence

from arbitration.questions.model import AnswerShape, DocumentFact, Intent, Keyword

_PATTERNS: tuple[tuple[Intent, str], ...] = (
    ("summarization", r"\b(?:summari[sz]e|summary|overview|gist|resum(?:e|en|a|ir))\b"),
    (
        "comparison",
        r"\b(?:compare[ds]?|comparison|differences?|differs?|versus|vs\.?"
        r"|compar(?:a|ar|ación)|diferencias?)\b",
    ),
    (
        "listing",
        r"^(?:list|enumerate|name (?:all|the))\b|\bwhat are (?:all )?(?:the )?(?:[\w-]+ ){0,3}[\w-]+s\b"
        r"|^which (?:[\w-]+ )?[\w-]+s are\b|^(?:enumer[ae]|lista)\b|\bcuáles son\b",
    ),
    (
        "definition",
        r"\b(?:define[ds]?|definition|meaning of|meant by|what does .{1,60} mean|definición|qué significa)\b",
    ),
    (
        "numeric",
        r"\bhow (?:many|much|long|often|old|large|big|high)\b|\bcuánt[oa]s?\b"
        r"|\b(?:what|which) (?:is|was|were|are)? ?(?:the )?(?:[\w-]+ ){0,4}"
        r"(?:amount|percentage|percent|ratio|rate|number|total|margin|value|cost|price|fee)\b",
    ),
    ("definition", r"^what is (?:an? )?[\w -]{1,40}\?$|^¿?qué es (?:una? )?[\w -]{1,40}\?$"),
    (
        "yes_no",
        r"^¿?(?:is|are|was|were|do|does|did|can|could|may|must|shall|should|will|would|has|have|had"
        r"|es|está|son|puede|pueden|debe|deben|hay|tiene|tienen|existe)\b",
    ),
)
_RULES = tuple((intent, re.compile(pattern, re.IGNORECASE)) for intent, pattern in _PATTERNS)
_QUESTION_WORD = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how"
    r"|qué|cuál|cuáles|quién|quiénes|cuándo|dónde|cómo)\b",
    re.IGNORECASE,
)
_SHAPE_PATTERNS: tuple[tuple[AnswerShape, str], ...] = (
    ("date", r"\b(?:when|what date|which date|what year|which year|cuándo|en qué fecha|qué año)\b"),
    ("name", r"^¿?(?:who|whom|whose|quién|quiénes)\b"),
    ("place", r"^¿?(?:where|dónde)\b"),
)
_SHAPES = tuple((shape, re.compile(pattern, re.IGNORECASE)) for shape, pattern in _SHAPE_PATTERNS)
_DOCUMENT = (
    r"(?:contract|agreement|document|policy|report|paper|act|regulation|filing|lease|order|deed|letter"
    r"|contrato|acuerdo|documento|política|informe|reglamento)"
)
#: What a person asks: each pattern needs a question word, so that no label set's way of describing its own labels
#: ("The name of the contract") counts as a question.
_ASKS = r"\b(?:what(?:'s| is| was| are| were)?|which|how|tell me|cuál(?:es)?|qué|cómo)\b[^.?!]{0,20}"
_FACT_PATTERNS: tuple[tuple[DocumentFact, str], ...] = (
    (
        "name",
        rf"{_ASKS}\b(?:name|title) of (?:the|this) {_DOCUMENT}\b|{_ASKS}\b(?:the|this) {_DOCUMENT} (?:called|titled)\b"
        rf"|{_ASKS}\b(?:nombre|título) (?:del|de la|de este|de esta) {_DOCUMENT}\b",
    ),
    (
        "parties",
        r"\bwho (?:are|were) the (?:contracting )?parties\b|^\W*who (?:has )?signed\b|\bbetween whom\b"
        rf"|{_ASKS}\bparties (?:to|of) (?:the|this) {_DOCUMENT}\b|\bwhich parties (?:have )?(?:signed|entered)\b"
        r"|\bquiénes (?:son|eran) las partes\b|\bquién(?:es)? (?:firma|firman|firmó|firmaron)\b",
    ),
    (
        "date",
        rf"{_ASKS}\bdate of (?:the|this) {_DOCUMENT}\b"
        rf"|\bwhen (?:was|is|did|does) (?:the|this) {_DOCUMENT} "
        r"(?:signed|made|dated|entered|executed|concluded|published|issued|effective|take effect|come into)\b"
        rf"|{_ASKS}\bfecha (?:del|de la|de este|de esta) {_DOCUMENT}\b|\bcuándo se firmó\b",
    ),
    (
        "authors",
        rf"\bwho wrote (?:the|this) {_DOCUMENT}\b|\bwho (?:are|were|is|was) the authors?\b"
        rf"|\bquién escribió\b",
    ),
)
_FACTS = tuple((fact, re.compile(pattern, re.IGNORECASE)) for fact, pattern in _FACT_PATTERNS)
_SHAPE_OF_INTENT: dict[Intent, AnswerShape] = {
    "summarization": "paragraph",
    "comparison": "comparison",
    "listing": "list",
    "definition": "definition",
    "numeric": "number",
    "yes_no": "yes_no",
}


def intent_of(text: str, *, has_reference: bool, keywords: Sequence[Keyword], codes: Sequence[str]) -> Intent:
    """The first rule that fits; a bare reference or code is a lookup, a plain statement a claim to check."""
    if (has_reference and not keywords) or (codes and {k.term for k in keywords} == set(codes)):
        return "lookup" if not _QUESTION_WORD.search(text) else "qa"
    for intent, pattern in _RULES:
        if pattern.search(text):
            return intent
    is_statement = text.endswith(".") and not _QUESTION_WORD.search(text)
    return "yes_no" if is_statement else "qa"


def answer_shape_of(text: str, intent: Intent) -> AnswerShape:
    """The form an answer should take."""
    for shape, pattern in _SHAPES:
        if pattern.search(text):
            return shape
    return _SHAPE_OF_INTENT.get(intent, "sentence")


def document_fact_of(text: str) -> DocumentFact | None:
    """What a question asks of the document as a whole, which its opening states: name, parties, date, authors."""
    return next((fact for fact, pattern in _FACTS if pattern.search(text)), None)
