"""Not found, proved: the exhaustive keyword set searched in titles and lines (engines.md, section 1).

Only words decide absence, never embeddings. The same search doubts a model that says "not found".
"""

from __future__ import annotations

from collections.abc import Mapping

from arbitration.pool import AbsenceProof
from arbitration.protocols import CandidateStore, ScopeProfile
from arbitration.questions.model import ParsedQuestion
from arbitration.text import is_code

NO_KEYWORD_MATCH = "no_keyword_match"
ALL_DISCARDED = "all_discarded"
_TERMS_NAMED = 12


def exhaustive_terms(question: ParsedQuestion) -> tuple[str, ...]:
    """Every keyword and dictionary variant. A phrase of the question itself is left out, because its words
    are searched one by one: no word, no phrase."""
    return tuple(
        keyword.term
        for keyword in question.keywords
        if not (keyword.is_phrase and keyword.source in ("question", "code") and not is_code(keyword.term))
    )


def prove_absence(
    *, question: ParsedQuestion, hits: Mapping[str, int], titles_hit: int, names_found_place: bool
) -> AbsenceProof:
    """Absence holds iff no keyword stands in any title or line. A question without keywords, or one that names
    a section the documents have, proves nothing."""
    terms = exhaustive_terms(question)
    found = {term: count for term, count in hits.items() if count}
    proved = bool(terms) and not found and not titles_hit and not names_found_place
    return AbsenceProof(terms=terms, hits=dict(hits), titles_hit=titles_hit, proved=proved)


def absence_statement(proof: AbsenceProof, profile: ScopeProfile) -> str:
    """``no_keyword_match: searched ...``: what was looked for, where, and that nothing was hit."""
    named = ", ".join(f"'{term}'" for term in proof.terms[:_TERMS_NAMED])
    more = f" and {len(proof.terms) - _TERMS_NAMED} more" if len(proof.terms) > _TERMS_NAMED else ""
    titles = sum(document.section_count for document in profile.documents)
    lines = sum(document.line_count for document in profile.documents)
    count = len(profile.documents)
    scope = f"{count} document{'' if count == 1 else 's'}"
    return (
        f"{NO_KEYWORD_MATCH}: searched {named}{more} in {titles} titles and {lines} lines of {scope}; no hit"
    )


def doubtful_pages(
    store: CandidateStore, question: ParsedQuestion, *, limit: int = 20
) -> list[tuple[str, int]]:
    """Pages that hold any keyword as a substring: what a second pass must read before "not found" stands."""
    words = [term for term in question.terms() if " " not in term]
    return store.substring_pages(words, limit=limit) if words else []
