"""The deterministic question parser: text in, :class:`ParsedQuestion` out, no model asked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from arbitration.questions.chunker import Chunk, chunk, scope_words
from arbitration.questions.dictionary import Dictionary
from arbitration.questions.exclusions import Exclusion, blanked, exclusions_of
from arbitration.questions.intents import answer_shape_of, document_fact_of, intent_of
from arbitration.questions.lexicon import DOCUMENT_TYPES
from arbitration.questions.model import (
    Gloss,
    Keyword,
    KeywordGroup,
    KeywordSource,
    ParsedQuestion,
    ScopeFilters,
    SectionReference,
)
from arbitration.questions.references import parse_pages, parse_references
from arbitration.questions.translation import gloss, other_language, other_language_terms, phrase_terms
from arbitration.text import (
    code_prefixes,
    detect_language,
    exact_codes,
    is_code,
    normalise,
    supported_language,
    words,
)

PRIMARY_WEIGHT = 1.0
SECONDARY_WEIGHT = 0.7
VARIANT_WEIGHT: dict[KeywordGroup, float] = {"primary": 1.0, "secondary": 0.5}
#: Keywords of one group that the shipped glossary fills up to: as many as a person may edit for another run.
MOST_IN_GROUP = 40
_FISCAL_YEAR = re.compile(r"(?:FY|CY)\s?'?(\d{4})\Z", re.IGNORECASE)
_LONGEST_ALIAS = 5  # words
_SPACES = re.compile(r"\s{2,}")


def parse_question(
    text: str,
    *,
    dictionary: Dictionary | None = None,
    rewrites: Sequence[str] = (),
    language: str | None = None,
    document_languages: Collection[str] = (),
) -> ParsedQuestion:
    """Parse a question in English or Spanish.

    Where one of ``document_languages`` is not the question's, the shipped glossary adds the other language's words
    as variants of its keywords, and a gloss of the question as one more wording.

    ``rewrites`` are further wordings (from a model or a person); their terms are secondary keywords of
    weight .7 and each gets a query vector of its own. Raises ``ValueError`` for an empty question.
    """
    normalised = normalise(text)
    if not normalised:
        raise ValueError("The question is empty; type what you want to know.")
    spoken = language or detect_language(normalised)
    exclusions = _exclusions(normalised, spoken)
    wanted = blanked(normalised, exclusions)
    references, reference_spans = parse_references(wanted)
    pages, page_spans = parse_pages(wanted)
    excluded = [exclusion.span for exclusion in exclusions]
    masked = [*reference_spans, *page_spans, *excluded]
    asked = _without(excluded, normalised)
    aliases = _aliased_places(asked, dictionary) if dictionary is not None else ()
    codes = exact_codes(_without(masked, normalised))
    chunks = chunk(normalised, spoken, masked=masked)
    keywords = _keywords(chunks, codes, rewrites, dictionary, spoken)
    intent = intent_of(asked, has_reference=bool(references), keywords=keywords, codes=codes)
    parsed = ParsedQuestion(
        text=text,
        normalised=normalised,
        language=spoken,
        retrieval_text=asked,
        rewrites=tuple(rewrites),
        keywords=keywords,
        exact_codes=codes,
        code_families=_families(codes),
        section_references=tuple(dict.fromkeys((*references, *aliases))),
        intent=intent,
        answer_shape=answer_shape_of(asked, intent),
        document_fact=document_fact_of(asked),
        scope_filters=ScopeFilters(document_types=_document_types(asked), pages=pages),
        scope_words=scope_words(normalised),
        negative_cues=tuple(exclusion.what for exclusion in exclusions),
    )
    return glossed(parsed) if _is_foreign(spoken, document_languages) else parsed


def _is_foreign(language: str, document_languages: Collection[str]) -> bool:
    return any(supported_language(other) != supported_language(language) for other in document_languages)


def glossed(question: ParsedQuestion) -> ParsedQuestion:
    """The question with what the shipped glossary says of it in the other language; what a collection's dictionary
    says already stays the dictionary's."""
    target = other_language(question.language)
    added = _translated(question)
    text = gloss(question.retrieval_text, question.language, target)
    return question.model_copy(
        update={
            "keywords": (*question.keywords, *added),
            "rewrites": tuple(dict.fromkeys([*question.rewrites, *([text] if text else [])])),
            "gloss": Gloss(language=target, text=text, terms=tuple(keyword.term for keyword in added)),
        }
    )


def _translated(question: ParsedQuestion) -> list[Keyword]:
    """The other language's keywords: the usual rendering of every keyword before the second ones, so that what the
    most of a group cuts off is the least likely."""
    ranked = sorted(_renderings(question), key=lambda pair: pair[0])
    known = {keyword.term.lower() for keyword in question.keywords}
    room = {
        group: MOST_IN_GROUP - sum(k.group == group for k in question.keywords) for group in VARIANT_WEIGHT
    }
    kept = []
    for keyword in _distinct(keyword for _, keyword in ranked):
        if keyword.term.lower() not in known and room[keyword.group] > 0:
            room[keyword.group] -= 1
            kept.append(keyword)
    return kept


def _renderings(question: ParsedQuestion) -> Iterable[tuple[int, Keyword]]:
    """What keywords are called, each with its rank. Phrases of the whole question first, as a keyword may hold only a
    part of one ("right to be forgotten")."""
    language = question.language
    sources: list[tuple[KeywordGroup, Iterable[str]]] = [
        (keyword.group, other_language_terms(keyword.term, language))
        for keyword in question.keywords
        if keyword.source == "question"
    ]
    if question.keywords:
        sources.insert(0, ("primary", phrase_terms(question.retrieval_text, language)))
    for group, terms in sources:
        for rank, term in enumerate(terms):
            yield rank, Keyword(term=term, source="dictionary", weight=VARIANT_WEIGHT[group], group=group)


def without_exclusions(text: str) -> str:
    """A wording without what it rules out; the wording itself where nothing else would be left."""
    normalised = normalise(text)
    exclusions = _exclusions(normalised, detect_language(normalised))
    return _without([exclusion.span for exclusion in exclusions], normalised)


def _exclusions(text: str, language: str) -> tuple[Exclusion, ...]:
    """What the question rules out. Where nothing else could be looked for, it is what the question is about
    ("Is there a clause excluding liability?"), and nothing is ruled out."""
    found = exclusions_of(text)
    if not found:
        return ()
    spans = [exclusion.span for exclusion in found]
    has_place = bool(parse_references(blanked(text, found))[0])
    return found if has_place or chunk(text, language, masked=spans) else ()


def _keywords(
    chunks: Sequence[Chunk],
    codes: Sequence[str],
    rewrites: Sequence[str],
    dictionary: Dictionary | None,
    language: str,
) -> tuple[Keyword, ...]:
    found = list(_from_chunks(chunks))
    found += _from_codes(codes)
    for rewrite in rewrites:
        found += _from_rewrite(rewrite, language)
    distinct = _distinct(found)
    if dictionary is not None:
        distinct = _distinct([*distinct, *_variants(distinct, dictionary)])
    return tuple(distinct)


def _from_chunks(chunks: Sequence[Chunk]) -> Iterable[Keyword]:
    for part in chunks:
        if part.kind == "other":
            yield Keyword(
                term=part.words[0].lower(), source="question", weight=SECONDARY_WEIGHT, group="secondary"
            )
            continue
        terms = [" ".join(part.words), *part.words] if len(part.words) > 1 else list(part.words)
        for term in terms:
            source: KeywordSource = "code" if is_code(term) else "question"
            written = term if source == "code" or any(is_code(word) for word in part.words) else term.lower()
            yield Keyword(term=written, source=source, weight=PRIMARY_WEIGHT, group="primary")


def _from_codes(codes: Sequence[str]) -> Iterable[Keyword]:
    for code in codes:
        yield Keyword(term=code, source="code", weight=PRIMARY_WEIGHT, group="primary")
        year = _FISCAL_YEAR.match(code)
        if year:  # filings head their columns 2018, not FY2018
            yield Keyword(term=year[1], source="alias", weight=SECONDARY_WEIGHT, group="secondary")


def _from_rewrite(rewrite: str, language: str) -> Iterable[Keyword]:
    for part in chunk(normalise(rewrite), language):
        for word in part.words:
            yield Keyword(term=word.lower(), source="rewrite", weight=SECONDARY_WEIGHT, group="secondary")


def _variants(keywords: Sequence[Keyword], dictionary: Dictionary) -> Iterable[Keyword]:
    for keyword in keywords:
        for variant in dictionary.variants(keyword.term):
            weight = VARIANT_WEIGHT[keyword.group]
            yield Keyword(term=variant, source="dictionary", weight=weight, group=keyword.group)


def _aliased_places(text: str, dictionary: Dictionary) -> tuple[SectionReference, ...]:
    """Places that the dictionary knows under words of the question: "free speech" as the First Amendment."""
    parts = words(text)
    runs = (
        " ".join(parts[start : start + length])
        for length in range(1, _LONGEST_ALIAS + 1)
        for start in range(len(parts) - length + 1)
    )
    variants = dict.fromkeys(variant for run in runs for variant in dictionary.variants(run))
    found = [reference for variant in variants for reference in parse_references(variant)[0]]
    return tuple(reference.model_copy(update={"is_alias": True}) for reference in found)


def _distinct(keywords: Iterable[Keyword]) -> list[Keyword]:
    """Each term once; the first, and so the strongest, naming wins."""
    kept: dict[str, Keyword] = {}
    for keyword in keywords:
        kept.setdefault(keyword.term.lower(), keyword)
    return list(kept.values())


def _families(codes: Sequence[str]) -> tuple[str, ...]:
    """Codes that may head a family: ``GV`` in ``GV.OC``, or a word in capitals such as ``GOVERN``."""
    heads = (code_prefixes(code)[0] for code in codes if not any(char.isdigit() for char in code))
    return tuple(dict.fromkeys(heads))


def _document_types(text: str) -> tuple[str, ...]:
    found = (DOCUMENT_TYPES.get(word.lower()) for word in re.findall(r"[\w-]+", text))
    return tuple(dict.fromkeys(kind for kind in found if kind))


def _without(spans: Sequence[tuple[int, int]], text: str) -> str:
    kept = list(text)
    for start, end in spans:
        kept[start:end] = " " * (end - start)
    return _SPACES.sub(" ", "".join(kept)).strip(" ,;") or text
