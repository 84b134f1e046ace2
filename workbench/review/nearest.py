"""The nearest passages of a not-found result."""

from __future__ import annotations

from arbitration.questions.same_words import Term, new_terms
from arbitration.text import highlight_spans, shortened
from workbench.runs.models import Candidate, Run
from workbench.runs.words import erased_words

#: Passages shown, and words of each; words of the question told of each.
MOST, WORDS, MOST_TERMS = 3, 30, 8


def nearest_of(run: Run) -> list[Candidate]:
    """The passages that the run rates highest, best first, each with the reason why it does not answer. One query."""
    rows = run.candidates.filter(verdict__isnull=False).select_related("verdict", "text", "document")
    return list(rows.order_by("verdict__order", "position")[:MOST])


def near_text(row: Candidate) -> str:
    text = getattr(row, "text", None)
    return shortened(text.anchor or text.snippet, words=WORDS) if text else erased_words()


def searched_words(run: Run) -> dict[str, int]:
    """The searched words, each with the number of lines that contain it."""
    return dict((run.parsed_question or {}).get("searched", {}))


def near_terms(row: Candidate, run: Run) -> tuple[list[str], list[str]]:
    """The searched words that the passage contains in any form, and those it lacks in every form and language, without
    duplicates. Empty for an erased text."""
    text = getattr(row, "text", None)
    if text is None:
        return [], []
    passage, language = text.anchor or text.snippet, row.document.language
    searched = _searched_terms(run)
    standing = [term for term in searched if highlight_spans(passage, [term.text], language)]
    return _shown(new_terms(standing)), _shown(new_terms(searched, standing))


def _searched_terms(run: Run) -> list[Term]:
    """The searched words with their language. Words of the glossary are in the other one."""
    parsed = run.parsed_question or {}
    gloss, language = parsed.get("gloss") or {}, parsed.get("language", "en")
    foreign = set(gloss.get("terms", ()))
    return [Term(text, gloss["language"] if text in foreign else language) for text in searched_words(run)]


def _shown(terms: list[Term]) -> list[str]:
    return [term.text for term in terms[:MOST_TERMS]]


def absence_words(reason: str) -> str:
    """Why nothing was found, without the machine-readable prefix (``no_keyword_match: ``)."""
    words = reason.partition(": ")[2] or reason
    return words[:1].upper() + words[1:]
