"""What precedence asks of the store: the openings of the documents found, and what others say of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from arbitration.detectors.base import DetectorContext, Span, StoreSession
from arbitration.pool import PoolCandidate, PoolDocument, Precedence
from arbitration.precedence.documents import DocumentFacts
from arbitration.precedence.passages import precedences
from arbitration.precedence.scene import Scene
from arbitration.precedence.statements import may_rank, may_replace, replacement_in, winner_of_conflict
from arbitration.precedence.texts import MOST_CHARACTERS, Reading, sentences_of, subject_stems
from arbitration.protocols import PassageRow
from arbitration.text import normalise, supported_language

#: Candidates compared, and documents whose openings are read, at most.
MOST_CANDIDATES, MOST_DOCUMENTS = 32, 12
#: Documents of which others are asked whether they replace them, and passages read for each.
_ASKED_ABOUT, _PASSAGES = 4, 6
_OPENING_LINES = 14
_REPLACING = {
    "en": "supersedes superseded replaces replaced repealed revoked withdrawn amended",
    "es": "sustituye sustituida deroga derogada reemplaza modifica anula",
}
_PREVAILING = {
    "en": "conflict inconsistency discrepancy prevails precedence",
    "es": "conflicto contradicción discrepancia prevalece",
}


def find_precedence(
    candidates: Sequence[PoolCandidate], documents: Sequence[PoolDocument], context: DetectorContext
) -> tuple[Precedence, ...]:
    """Which of the best candidates prevails over which other."""
    if not context.settings.precedence or not candidates:
        return ()
    best = sorted(candidates, key=lambda candidate: candidate.rrf_rank)[:MOST_CANDIDATES]
    by_id = {document.document_id: document for document in documents}
    named = list(dict.fromkeys(c.document_id for c in best if c.document_id in by_id))[:MOST_DOCUMENTS]
    readings = [
        Reading(candidate, by_id[candidate.document_id].language)
        for candidate in best
        if candidate.document_id in named
    ]
    facts = _facts([by_id[name] for name in named], readings, context)
    scene = Scene(
        question=context.question,
        asked=_asked(context, {by_id[name].language for name in named}),
        readings=readings,
        facts=facts,
        orders=_orders(readings, context),
        is_collection=context.profile.is_collection,
    )
    return precedences(scene)


def _asked(context: DetectorContext, languages: Iterable[str]) -> frozenset[str]:
    """The stems of the question's content words, and of its keywords in the documents' languages."""
    texts = [context.question.retrieval_text, *context.question.terms()]
    return frozenset().union(*(subject_stems(text, language) for language in languages for text in texts))


def _facts(
    documents: Sequence[PoolDocument], readings: Sequence[Reading], context: DetectorContext
) -> dict[str, DocumentFacts]:
    """The documents with their openings, and all sentences on replacement that were seen."""
    openings = _openings([document.document_id for document in documents], context.session)
    plain = {d.document_id: DocumentFacts(d, openings.get(d.document_id, "")) for d in documents}
    if len(plain) == 1:
        return plain
    texts: dict[str, list[str]] = defaultdict(list)
    for name, opening in openings.items():
        texts[name].append(opening)
    for reading in readings:
        texts[reading.candidate.document_id].append(reading.candidate.anchor_text)
    for row in _mentions(list(plain.values()), context):
        texts[row.document_id].append(row.text)
    return {
        name: DocumentFacts(facts.document, facts.opening, _replacing(texts[name]))
        for name, facts in plain.items()
    }


def _replacing(texts: Iterable[str]) -> tuple[str, ...]:
    sentences = dict.fromkeys(s for text in texts if may_replace(text) for s in sentences_of(text))
    return tuple(sentence for sentence in sentences if replacement_in(sentence))


def _openings(document_ids: Sequence[str], session: StoreSession) -> Mapping[str, str]:
    spans = [Span(name, 1, 1, 1, _OPENING_LINES) for name in document_ids]
    lines = session.lines_of_spans(spans)
    return {
        name: "\n".join(line.text for line in found)[:MOST_CHARACTERS]
        for name, found in zip(document_ids, lines, strict=True)
    }


def _mentions(facts: Sequence[DocumentFacts], context: DetectorContext) -> list[PassageRow]:
    """Passages that may say of a document that it is replaced."""
    rows = []
    for one in facts[:_ASKED_ABOUT]:
        words = _REPLACING[supported_language(one.document.language)]
        rows += context.session.lexical(f"{one.title} {words}", exact=(), limit=_PASSAGES)
    return rows


def _orders(readings: Sequence[Reading], context: DetectorContext) -> list[tuple[str, str]]:
    """The sentences that say which of two texts prevails, with their documents."""
    words = _PREVAILING[supported_language(context.profile_language)]
    rows = context.session.lexical(words, exact=(), limit=_PASSAGES)
    texts = [(row.document_id, row.text) for row in rows]
    texts += [(r.candidate.document_id, r.candidate.anchor_text) for r in readings]
    found = [
        (name, part)
        for name, text in texts
        if may_rank(text)
        for part in (*sentences_of(text), normalise(text[:MOST_CHARACTERS]))
    ]
    return [pair for pair in dict.fromkeys(found) if winner_of_conflict(pair[1])]
