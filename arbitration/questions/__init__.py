"""Questions: parsing them into keywords, codes, references and intent."""

from arbitration.questions.dictionary import Dictionary, MappingDictionary
from arbitration.questions.model import Keyword, ParsedQuestion, ScopeFilters, SectionReference
from arbitration.questions.parser import parse_question

__all__ = [
    "Dictionary",
    "Keyword",
    "MappingDictionary",
    "ParsedQuestion",
    "ScopeFilters",
    "SectionReference",
    "parse_question",
]
