"""Clauses of one document that change, set aside or limit another one, and texts that say which of two prevails."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from arbitration.precedence.scene import SAME_MATTER, SAME_MATTER_NAMED, Pair, Scene
from arbitration.precedence.statements import (
    edits,
    may_change,
    overrides,
    overrides_everything,
    points_back,
    replacement_in,
    winner_of_conflict,
)
from arbitration.precedence.texts import Reading, Sentence, subject_stems
from arbitration.questions.model import SectionReference
from arbitration.questions.references import match_address, parse_references, reference_address

_NAMED_PLACE = 0.6
#: Characters before and behind a clause's number in which it is said that the clause is changed.
_BEFORE, _BEHIND = 60, 90
#: What two passages of one document share to be of one matter where no number says so.
_SURE = 0.5
_OVER = re.compile(
    r"[(\[](?:now )?(?:superseded|repealed|replaced|obsolete|withdrawn|deleted|no longer in force|derogad[oa]"
    r"|sustituid[oa]|sin efecto)\b",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"\b(?:in|of|to|from|under|by|and|at|point|en|de|del|al?"
    r"|punto) (\d{1,3}(?:\.\d{1,3}){1,4}(?:\([a-z0-9]{1,3}\))?)(?!\d| ?%| per ?cent| por ciento)"
)
#: Words are added to a clause, which stays.
_ADDS = re.compile(
    r"\b(?:added|inserted|appended|se (?:añaden?|añadirán?|agregan?|insertan?|incorporan?))\b", re.IGNORECASE
)
_OWN = re.compile(r"\b(?:this|the present|est[ea]|la presente|el presente)\b", re.IGNORECASE)


def by_clause(scene: Scene) -> Iterator[Pair]:
    """What a passage says of another clause of its document: changed, set aside, excepted from. An amendment's numbers
    are those of the document that it changes."""
    yield from _by_heading(scene)
    for over in scene.readings:
        facts = scene.facts.get(over.candidate.document_id)
        is_amendment = facts is not None and facts.is_amendment
        if is_amendment or not may_change(over.candidate.anchor_text) or not over.stems & scene.asked:
            continue
        others = [reading for reading in scene.of(over.candidate.document_id) if reading is not over]
        yield from _by_own_end(over, others, scene)
        for place, sentence in enumerate(over.sentences):
            yield from _by_sentence(over, over.sentences[place : place + 2], others, scene, sentence.text)


def _by_sentence(
    over: Reading, focus: Sequence[Sentence], others: Sequence[Reading], scene: Scene, said: str
) -> Iterator[Pair]:
    """The passages that a sentence sets aside; ``focus``: the sentence and the one that follows it."""
    is_exception = overrides(said)
    if not is_exception and not edits(said):
        return
    stems = frozenset().union(*(sentence.stems for sentence in focus))
    for under in _meant(over, focus, others, scene, said):
        if not is_exception:
            yield Pair(over, under, "amended", said)
        elif scene.is_singled_out(stems, under):
            yield Pair(over, under, "exception", said)


def _meant(
    over: Reading, focus: Sequence[Sentence], others: Sequence[Reading], scene: Scene, said: str
) -> Sequence[Reading]:
    """The passages that a sentence means: by number, else the one of its section, or of its document, that is nearest
    in matter where the sentence points back or sets everything aside."""
    shares = [(scene.matter.shared(focus, other.sentences), other) for other in others]
    if _references(said):
        is_exception = overrides(said)
        least, means = (SAME_MATTER_NAMED, refers) if is_exception else (SAME_MATTER, _changes)
        return [
            other
            for share, other in shares
            if share >= least and means(said, other) and not refers(said, over)
        ]
    if not overrides(said):
        return ()
    if points_back(said):
        shares = [(share, other) for share, other in shares if _same_section(over, other)]
    elif not overrides_everything(said):
        return ()
    share, nearest = max(shares, key=lambda pair: pair[0], default=(0.0, over))
    return (nearest,) if share >= _SURE else ()


def _same_section(one: Reading, other: Reading) -> bool:
    section = one.candidate.anchor.section_id
    return section is not None and section == other.candidate.anchor.section_id


def _by_own_end(under: Reading, others: Sequence[Reading], scene: Scene) -> Iterator[Pair]:
    """A passage that says itself that another one replaces it."""
    for sentence in under.sentences:
        said = replacement_in(sentence.text)
        if said is not None and said.form == "replaced_by" and _OWN.search(said.before):
            for over in others:
                if refers(said.after, over) and over.stems & under.stems & scene.asked:
                    yield Pair(over, under, "replaced", sentence.text)


def _by_heading(scene: Scene) -> Iterator[Pair]:
    """Passages under a heading that says that they are over, each beside the nearest one that is not."""
    over = {
        reading.candidate.candidate_id
        for reading in scene.readings
        if _OVER.search(reading.candidate.section_title or "")
    }
    for under in scene.readings:
        if under.candidate.candidate_id not in over:
            continue
        others = scene.of(under.candidate.document_id)
        nearest = _nearest(under, [r for r in others if r.candidate.candidate_id not in over], scene)
        if nearest is not None:
            yield Pair(nearest, under, "replaced", "")


def changed_place(over: Reading, under: Reading) -> bool:
    """Whether a passage changes the clause that another one is, by its number."""
    return any(edits(s.text) and refers(s.text, under) for s in over.sentences)


def changes_others_only(over: Reading, under: Reading) -> bool:
    """Whether a passage names by number the clauses that it changes, and another one is none of them: an amendment that
    replaces 5.3 leaves 5.5 as it is, however much both speak of payment."""
    edited = [s.text for s in over.sentences if _references(s.text) and edits(s.text)]
    return bool(edited and under.addresses) and not any(refers(sentence, under) for sentence in edited)


def adds_only(over: Reading, under: Reading) -> bool:
    """Whether a passage adds something to, or after, the clause that another one is and leaves its words as they are:
    both are in force."""
    said = [s.text for s in over.sentences if refers(s.text, under)]
    return any(map(_ADDS.search, said)) and not any(edits(_ADDS.sub("", text)) for text in said)


@lru_cache(maxsize=1024)
def _references(sentence: str) -> tuple[SectionReference, ...]:
    """The places that a sentence refers to, "in 3.1" and "from 5.2(b)" among them."""
    named, spans = parse_references(sentence)
    bare = (
        SectionReference(text=match[1], address=reference_address(match[1]))
        for match in _BARE.finditer(sentence)
        if not any(start <= match.start(1) < end for start, end in spans)
    )
    return (*named, *bare)


def refers(sentence: str, reading: Reading) -> bool:
    """Whether a sentence refers to the place of a passage by its number."""
    return any(_is_at(reading, reference) for reference in _references(sentence))


def _is_at(reading: Reading, reference: SectionReference) -> bool:
    return any(match_address(reference.address, address) >= _NAMED_PLACE for address in reading.addresses)


def _changes(sentence: str, reading: Reading) -> bool:
    """Whether a sentence says, close to a passage's number, that it is changed."""
    for reference in _references(sentence):
        place = sentence.find(reference.text)
        around = sentence[max(0, place - _BEFORE) : place + len(reference.text) + _BEHIND]
        if edits(around) and _is_at(reading, reference):
            return True
    return False


# --- an order of precedence -------------------------------------------------------------------------------


def by_order(scene: Scene) -> Iterator[Pair]:
    """Where a text says which of two kinds of text prevails if they disagree: of the passages of either kind those
    that are nearest to each other, both ways."""
    for document_id, sentence in scene.orders:
        winner = winner_of_conflict(sentence)
        if winner is None:
            continue
        overs = [reading for reading in scene.readings if _goes_by(winner, reading, scene)]
        unders = [reading for reading in scene.readings if reading not in overs]
        for over in overs:
            under = _nearest(over, unders, scene)
            if under is None or _nearest(under, overs, scene) is not over:
                continue
            if document_id in (over.candidate.document_id, under.candidate.document_id):
                yield Pair(over, under, "overridden", sentence)


def _nearest(reading: Reading, others: Sequence[Reading], scene: Scene) -> Reading | None:
    """The passage that shares most of the matter, if it is enough: parts of one document share more by themselves."""
    share, nearest = max(
        ((scene.matter.shared(reading.sentences, other.sentences), other) for other in others),
        key=lambda pair: pair[0],
        default=(0.0, reading),
    )
    is_beside = nearest.candidate.document_id == reading.candidate.document_id
    return nearest if share >= (_SURE if is_beside else SAME_MATTER) else None


def _goes_by(name: str, reading: Reading, scene: Scene) -> bool:
    """Whether a passage stands in what the words name, by the titles above it or those of its document."""
    wanted = subject_stems(name, reading.language)
    candidate = reading.candidate
    facts = scene.facts.get(candidate.document_id)
    titles = f"{candidate.breadcrumb or ''} {candidate.section_title or ''}"
    if scene.is_collection and facts is not None:
        titles += f" {facts.head}"
    return bool(wanted) and wanted <= subject_stems(titles, reading.language)
