"""What kind of answer a question wants, by its wording."""

from __future__ import annotations

import re
from collections.abc import Sequence

from arbitration.pattern_files import PatternFile
from arbitration.questions.model import AnswerShape, DocumentFact, Intent, Keyword

_FILE = PatternFile(__file__)
_RULES: tuple[tuple[Intent, re.Pattern[str]], ...] = tuple(
    (one["intent"], _FILE.compiled(one["pattern"])) for one in _FILE.table["intents"]
)
_SHAPES: dict[AnswerShape, re.Pattern[str]] = {
    shape: _FILE.compiled(pattern) for shape, pattern in _FILE.table["shapes"].items()
}
_FACTS: dict[DocumentFact, re.Pattern[str]] = {
    fact: _FILE.compiled(pattern) for fact, pattern in _FILE.table["facts"].items()
}
_QUESTION_WORD = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how"
    r"|qué|cuál|cuáles|quién|quiénes|cuándo|dónde|cómo)\b",
    re.IGNORECASE,
)
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
    for shape, pattern in _SHAPES.items():
        if pattern.search(text):
            return shape
    return _SHAPE_OF_INTENT.get(intent, "sentence")


def document_fact_of(text: str) -> DocumentFact | None:
    """What a question asks of the document as a whole, which its opening states: name, parties, date, authors."""
    return next((fact for fact, pattern in _FACTS.items() if pattern.search(text)), None)
