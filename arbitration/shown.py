"""How a prompt shows candidates: short ids, in an order that says nothing, with what is known of their documents.

What documents say stands inside the fence, title and section too; what the product knows (date, version) stands
outside, where no document can write it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from arbitration.grounding import quotations
from arbitration.pool import CandidatePool, PoolCandidate, PoolDocument
from arbitration.prompting import fence
from arbitration.sentences import sentences_of
from arbitration.text import TermMatcher, supported_language, term_matcher

#: Candidates of one call whose anchors are shown whole; of the others a model reads the best sentences.
WHOLE = 15
_SENTENCES = 2
_SENTENCE_CHARACTERS = 400
_TITLE_CHARACTERS = 160
_LEFT_OUT = "…"
_WORD = re.compile(r"\w+")
_SHORT_ID = re.compile(r"(?<!\w)id\d{1,3}(?!\w)")
_PLACE = {"en": ("p.", "line", "lines", "to"), "es": ("p.", "línea", "líneas", "a")}


def shuffled(
    candidates: Sequence[PoolCandidate], *, seed: int, question: str, backwards: bool = False
) -> list[PoolCandidate]:
    """The candidates by the SHA-256 of seed, question and id: whoever knows the seed finds the order again, however
    the candidates are spread over calls."""

    def place(candidate: PoolCandidate) -> bytes:
        return hashlib.sha256(f"{seed}\n{question}\n{candidate.candidate_id}".encode()).digest()

    return sorted(candidates, key=place, reverse=backwards)


def passage_block(pool: CandidatePool, candidate: PoolCandidate, *, label: str, text: str) -> str:
    """Title, type and issuer of the document, section and text of a candidate, fenced together."""
    document = pool.document(candidate.document_id)
    known = (document.title or document.name, document.document_type, document.issuer) if document else ()
    title = "; ".join(_one_line(part) for part in known if part.strip())
    heads = [
        f"{name}: {value}"
        for name, value in (("document", title), ("section", _one_line(candidate.breadcrumb or "")))
        if value
    ]
    return fence("\n".join([*heads, "text:", text]), label=label)


def passage_values(
    pool: CandidatePool, candidate: PoolCandidate, *, label: str, text: str | None = None
) -> dict[str, str]:
    """A passage as a prompt shows it, by default its whole anchor: its short id, what is known of its document, and
    the fenced block."""
    shown = candidate.anchor_text if text is None else text
    block = passage_block(pool, candidate, label=label, text=shown)
    return {"id": label, "facts": facts(pool, candidate), "text": block}


def facts(pool: CandidatePool, candidate: PoolCandidate) -> str:
    """What the product knows of the candidate's document: its date, its version, whether it was replaced. Empty where
    it knows nothing."""
    document = pool.document(candidate.document_id)
    return "; ".join(_facts(document)) if document else ""


def _facts(document: PoolDocument) -> list[str]:
    known = []
    if document.effective_date:
        known.append(f"effective {document.effective_date}")
    if document.version_number > 1 or document.is_superseded:
        known.append(f"version {document.version_number}")
    if document.is_superseded:
        known.append("replaced by a later version")
    elif document.version_number > 1:
        known.append("the latest version")
    return known


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARACTERS else f"{line[: _TITLE_CHARACTERS - 1]}…"


def best_sentences(pool: CandidatePool, candidate: PoolCandidate, *, limit: int = _SENTENCES) -> str:
    """The sentences of the anchor that hold most of the question, by word or by meaning, in reading order; what is
    left out between them is marked. The first ones where none holds any."""
    sentences = [sentence.text for sentence in sentences_of(candidate.anchor_text)]
    matcher = _matcher(pool, candidate)
    weighed = _weights(pool, candidate, sentences, matcher)
    kept = sorted(sorted(range(len(sentences)), key=lambda place: -weighed[place])[:limit])
    lines: list[str] = []
    last = -1
    for place in kept:
        lines += [_LEFT_OUT] if place > last + 1 else []
        lines.append(_cut(sentences[place], matcher))
        last = place
    return "\n".join([*lines, *([_LEFT_OUT] if last < len(sentences) - 1 else [])])


def _matcher(pool: CandidatePool, candidate: PoolCandidate) -> TermMatcher:
    document = pool.document(candidate.document_id)
    return term_matcher(pool.question.terms(), document.language if document else "en")


def _weights(
    pool: CandidatePool, candidate: PoolCandidate, sentences: Sequence[str], matcher: TermMatcher
) -> list[float]:
    """What each sentence holds of the question: its own match where it was measured, else its keywords by their
    weight, and the words nearest in meaning."""
    if len(candidate.sentence_matches) == len(sentences):
        return list(candidate.sentence_matches)
    asked = {keyword.term: keyword.weight for keyword in pool.question.keywords}
    met = {match.met.casefold(): match.weight * max(0.0, match.cosine) for match in candidate.matched_words}
    weights = []
    for sentence, held in zip(sentences, matcher.matched_in_each(sentences), strict=True):
        words = {word.casefold() for word in _WORD.findall(sentence)}
        by_meaning = sum(weight for word, weight in met.items() if word in words)
        weights.append(sum(asked[term] for term in held) + by_meaning)
    return weights


def _cut(sentence: str, matcher: TermMatcher) -> str:
    """A very long sentence, such as a table without full stops, cut about its first match."""
    if len(sentence) <= _SENTENCE_CHARACTERS:
        return sentence
    found = matcher.find(sentence)
    start = max(0, (found[0].start if found else 0) - _SENTENCE_CHARACTERS // 4)
    end = min(len(sentence), start + _SENTENCE_CHARACTERS)
    head, tail = (_LEFT_OUT if start else ""), (_LEFT_OUT if end < len(sentence) else "")
    return f"{head}{sentence[start:end]}{tail}"


def places_for_ids(text: str, by_id: Mapping[str, PoolCandidate], pool: CandidatePool) -> str:
    """A model's sentence with the places of passages instead of the ids that only the prompt knew. Quotations stay as
    they are."""
    pieces: list[str] = []
    position = 0
    for start, end in quotations(text):
        pieces += [_with_places(text[position:start], by_id, pool), text[start:end]]
        position = end
    return "".join([*pieces, _with_places(text[position:], by_id, pool)])


def _with_places(text: str, by_id: Mapping[str, PoolCandidate], pool: CandidatePool) -> str:
    return _SHORT_ID.sub(
        lambda found: place_of(by_id[found[0]], pool) if found[0] in by_id else found[0], text
    )


def place_of(candidate: PoolCandidate, pool: CandidatePool) -> str:
    """Where a candidate stands, for people: ``p. 21, lines 2-10``, with its document where there are several."""
    anchor, (page, line, lines, to) = candidate.anchor, _PLACE[supported_language(pool.question.language)]
    if anchor.page_start != anchor.page_end:
        place = (
            f"{page} {anchor.page_start}, {line} {anchor.line_start} "
            f"{to} {page} {anchor.page_end}, {line} {anchor.line_end}"
        )
    elif anchor.line_start == anchor.line_end:
        place = f"{page} {anchor.page_start}, {line} {anchor.line_start}"
    else:
        place = f"{page} {anchor.page_start}, {lines} {anchor.line_start}-{anchor.line_end}"
    document = pool.document(candidate.document_id) if len(pool.documents) > 1 else None
    return f"{_one_line(document.title or document.name)}, {place}" if document else place


def language_name(language: str) -> str:
    """The language of the question, in which reasons and answers are written, as a prompt names it."""
    return "Spanish" if language == "es" else "English"
