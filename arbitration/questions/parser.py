"""The deterministic question parser: text in, :class:`ParsedQuestion` out, no model asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from arbitration.questions.chunker import Chunk, chunk, scope_words
from arbitration.questions.dictionary import Dictionary
from arbitration.questions.intents import answer_shape_of, document_fact_of, intent_of
from arbitration.questions.lexicon import DOCUMENT_TYPES, NEGATIVE_CUE
from arbitration.questions.model import Keyword, KeywordSource, ParsedQuestion, ScopeFilters, SectionReference
from arbitration.questions.references import parse_pages, parse_references
from arbitration.text import code_prefixes, detect_language, exact_codes, is_code, normalise, words

PRIMARY_WEIGHT = 1.0
SECONDARY_WEIGHT = 0.7
VARIANT_WEIGHT = {"primary": 1.0, "secondary": 0.5}
_FISCAL_YEAR = re.compile(r"(?:FY|CY)\s?'?(\d{4})\Z", re.IGNORECASE)
_LONGEST_ALIAS = 5  # words
_SPACES = re.compile(r"\s{2,}")


def parse_question(
    text: str,
    *,
    dictionary: Dictionary | None = None,
    rewrites: Sequence[str] = (),
    language: str | None = None,
) -> ParsedQuestion:
    """Parse a question in English or Spanish.

    ``rewrites`` are further wordings (from a model or a person); their terms are secondary keywords of
    weight .7 and each gets a query vector of its own. Raises ``ValueError`` for an empty question.
    """
    normalised = normalise(text)
    if not normalised:
        raise ValueError("The question is empty; type what you want to know.")
    spoken = language or detect_language(normalised)
    references, reference_spans = parse_references(normalised)
    pages, page_spans = parse_pages(normalised)
    negatives = [(m.span(), m["what"].strip()) for m in NEGATIVE_CUE.finditer(normalised)]
    masked = [*reference_spans, *page_spans, *(span for span, _ in negatives)]
    asked = _without([span for span, _ in negatives], normalised)
    aliases = _aliased_places(asked, dictionary) if dictionary is not None else ()
    codes = exact_codes(_without(masked, normalised))
    chunks = chunk(normalised, spoken, masked=masked)
    keywords = _keywords(chunks, codes, rewrites, dictionary, spoken)
    intent = intent_of(asked, has_reference=bool(references), keywords=keywords, codes=codes)
    return ParsedQuestion(
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
        negative_cues=tuple(what for _, what in negatives),
    )


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
