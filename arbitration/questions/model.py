"""The parsed question: what detectors look for, and what only generation needs to know."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from arbitration.text import supported_language

KeywordSource = Literal["question", "rewrite", "dictionary", "code", "alias"]
KeywordGroup = Literal["primary", "secondary"]
Intent = Literal["qa", "summarization", "listing", "comparison", "definition", "yes_no", "numeric", "lookup"]
AnswerShape = Literal[
    "sentence", "paragraph", "list", "number", "date", "name", "place", "yes_no", "definition", "comparison"
]
DocumentFact = Literal["name", "parties", "date", "authors"]


class Frozen(BaseModel):
    """Base of the question's parts: immutable, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Keyword(Frozen):
    """One term to look for: a word, a phrase or a code. ``weight`` is what one hit of it counts."""

    term: str
    source: KeywordSource
    weight: float = Field(gt=0.0, le=1.0)
    group: KeywordGroup

    @property
    def is_phrase(self) -> bool:
        """Whether the term is several words."""
        return " " in self.term


class SectionReference(Frozen):
    """A place the question names, such as ``Article I Section 8`` or ``clause 7.3(b)``.

    ``address`` is its canonical form: ``("article:1", "section:8")``, ``("clause:7.3", "item:b")``.
    """

    text: str
    address: tuple[str, ...]
    is_alias: bool = False  # known from a dictionary, not written in the question


class ScopeFilters(Frozen):
    """Limits the question itself names. Pages narrow the search. Document types are on record only: a person narrows
    by them, because a document of which nobody said its type would be lost otherwise."""

    document_types: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()


class Gloss(Frozen):
    """What the shipped glossary makes of a question for documents in another language: the question word by word,
    empty where it knows none of them, and the keywords it adds. To search by; it proves nothing."""

    language: str
    text: str = ""
    terms: tuple[str, ...] = ()


class ParsedQuestion(Frozen):
    """Everything the deterministic parser (or a person editing its result) says about one question."""

    text: str
    normalised: str
    language: str = "en"
    retrieval_text: str
    rewrites: tuple[str, ...] = ()
    keywords: tuple[Keyword, ...] = ()
    exact_codes: tuple[str, ...] = ()
    code_families: tuple[str, ...] = ()
    section_references: tuple[SectionReference, ...] = ()
    intent: Intent = "qa"
    answer_shape: AnswerShape = "sentence"
    document_fact: DocumentFact | None = None
    scope_filters: ScopeFilters = ScopeFilters()
    scope_words: tuple[str, ...] = ()
    negative_cues: tuple[str, ...] = ()
    corrected: str | None = None  # the four that follow come from a model, where one read the question
    sub_questions: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    clarification: str | None = None
    vocabulary_diverges: bool | None = None  # known only once the documents have been asked
    gloss: Gloss | None = None  # only where a document in scope is in another language

    def terms(self, group: KeywordGroup | None = None) -> tuple[str, ...]:
        """The terms of one group, or of both, in order, each once."""
        return tuple(dict.fromkeys(k.term for k in self.keywords if group in (None, k.group)))

    @property
    def wordings(self) -> tuple[tuple[str, str], ...]:
        """The question as it is searched and its gloss, where it has one, each with its language."""
        own = (self.retrieval_text, self.language)
        return (own, (self.gloss.text, self.gloss.language)) if self.gloss and self.gloss.text else (own,)

    @property
    def lexical_text(self) -> str:
        """The words to search by: the question's own, and those of its gloss that it does not have itself."""
        if self.gloss is None:
            return self.retrieval_text
        own = {word.casefold() for word in self.retrieval_text.split()}
        return " ".join(
            [self.retrieval_text, *(word for word in self.gloss.text.split() if word.casefold() not in own)]
        )

    def wording_in(self, languages: Collection[str]) -> tuple[str, str]:
        """The wording to compare with documents in some languages, and its own: the gloss where none of them is in
        the question's language."""
        spoken = {supported_language(language) for language in languages}
        if self.gloss and self.gloss.text and spoken and self.language not in spoken:
            return self.gloss.text, self.gloss.language
        return (self.retrieval_text if self.negative_cues else self.text), self.language

    @property
    def two_distinct_terms(self) -> bool:
        """True when a group is empty, so that a line needs two distinct terms instead."""
        groups = {keyword.group for keyword in self.keywords}
        return groups != {"primary", "secondary"}

    @property
    def phrases(self) -> tuple[str, ...]:
        """The multi-word noun phrases, as the question has them."""
        return tuple(k.term for k in self.keywords if k.is_phrase and k.source in ("question", "code"))
