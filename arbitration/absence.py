"""Not found, proved: the exhaustive keyword set searched in titles and lines (engines.md, section 1).

Words alone are no proof: a paraphrase shares none with the passage that answers it. So absence is proved only where
meaning fails too: no passage comes near. Where meaning comes near, there is no strong match, and a person decides. The
same search doubts a model that says "not found".
"""

from __future__ import annotations

from collections.abc import Mapping

from arbitration.pool import AbsenceProof
from arbitration.protocols import CandidateStore, ScopeProfile
from arbitration.questions.model import ParsedQuestion
from arbitration.text import is_code, supported_language

NO_KEYWORD_MATCH = "no_keyword_match"
ALL_DISCARDED = "all_discarded"
_TERMS_NAMED = 12
#: The cosine that no passage may reach for meaning to fail, for the encoder that ships. No answerable question of the
#: labelled sets whose words were nowhere lay below. An encoder whose cosines are all higher proves nothing absent,
#: which errs on the safe side.
NEAR_FROM = 0.22


def exhaustive_terms(question: ParsedQuestion) -> tuple[str, ...]:
    """Every keyword of the question and every dictionary variant. Rewordings are left out: what a model adds can
    neither prove absence nor stand in its way. A phrase of the question itself is left out too, because its words
    are searched one by one: no word, no phrase."""
    return tuple(
        keyword.term
        for keyword in question.keywords
        if keyword.source != "rewrite"
        and not (keyword.is_phrase and keyword.source in ("question", "code") and not is_code(keyword.term))
    )


def prove_absence(
    *,
    question: ParsedQuestion,
    profile: ScopeProfile,
    hits: Mapping[str, int],
    titles_hit: int,
    names_found_place: bool,
    nearest: float | None = None,
) -> AbsenceProof:
    """Absence holds iff no keyword stands in any title or line and no candidate comes near by meaning (``nearest``, the
    best cosine; ``None`` where nothing compares meanings).

    It is never proved for a question without keywords, for one that names a place the documents have, or for one in
    a language none of the documents is written in, unless a dictionary of people's own translates it. The shipped
    glossary is no such dictionary: it knows the usual words, not those of these documents.
    """
    terms = exhaustive_terms(question)
    empty = bool(terms) and not any(hits.get(term, 0) for term in terms) and not titles_hit
    by_words = empty and not names_found_place and _speaks_their_language(question, profile)
    proof = AbsenceProof(
        proved=by_words and (nearest is None or nearest < NEAR_FROM),
        terms=terms,
        hits=dict(hits),
        titles_hit=titles_hit,
        titles_searched=profile.section_count,
        lines_searched=profile.line_count,
        by_words=by_words,
        nearest=nearest,
    )
    return proof.model_copy(update={"statement": _statement(proof, profile)}) if proof.proved else proof


def _speaks_their_language(question: ParsedQuestion, profile: ScopeProfile) -> bool:
    shipped = set(question.gloss.terms) if question.gloss else set()
    translated = any(k.source == "dictionary" and k.term not in shipped for k in question.keywords)
    languages = {supported_language(language) for language in set(profile.languages.values())}
    return translated or not languages or question.language in languages


def _statement(proof: AbsenceProof, profile: ScopeProfile) -> str:
    """``no_keyword_match: searched ...``: what was looked for, where, and that nothing was hit."""
    named = ", ".join(f"'{term}'" for term in proof.terms[:_TERMS_NAMED])
    more = f" and {len(proof.terms) - _TERMS_NAMED} more" if len(proof.terms) > _TERMS_NAMED else ""
    count = len(profile.documents)
    return (
        f"{NO_KEYWORD_MATCH}: searched {named}{more} in {proof.titles_searched} titles and "
        f"{proof.lines_searched} lines of {count} document{'' if count == 1 else 's'}; no hit"
    )


def doubtful_pages(
    store: CandidateStore, question: ParsedQuestion, *, limit: int = 20
) -> list[tuple[str, int]]:
    """Pages that hold any keyword as a substring: what a second pass must read before "not found" stands."""
    words = [term for term in question.terms() if " " not in term]
    return store.substring_pages(words, limit=limit) if words else []
