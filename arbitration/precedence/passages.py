"""Pairs of candidates of which one prevails, from the relations of documents and from what passages say of clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from arbitration.pool import Precedence, PrecedenceKind
from arbitration.precedence.clauses import adds_only, by_clause, by_order, changed_place, changes_others_only
from arbitration.precedence.dates import years_in
from arbitration.precedence.documents import DocumentFacts, DocumentRelation, document_relations
from arbitration.precedence.scene import SAME_MATTER, SAME_MATTER_NAMED, Pair, Scene
from arbitration.precedence.texts import Reading
from arbitration.precedence.wording import Said
from arbitration.versions import section_key

#: What two passages share where nothing but titles and dates says that one document is the later version of the other.
_SURE = 0.5
_MOST_RELATIONS = 12
_ASKS_FORMER = re.compile(
    r"\b(?:original(?:ly)?|previous(?:ly)?|former(?:ly)?|before the (?:amendment|change)|old|older|superseded|repealed"
    r"|history|earlier version|used to|anterior(?:es|mente)?|antigu[oa]s?|derogad[oa]s?|histórico)\b",
    re.IGNORECASE,
)
_KIND: Mapping[str, PrecedenceKind] = {
    "replaces": "replaced",
    "restates": "replaced",
    "amends": "amended",
    "excepts": "exception",
    "version": "version",
}


def precedences(scene: Scene) -> tuple[Precedence, ...]:
    """The pairs, each text replaced by one other; none for questions that ask for what was, or for a comparison."""
    if scene.question.intent == "comparison" or _ASKS_FORMER.search(scene.question.normalised):
        return ()
    said = Said(scene.question.language, scene.facts, scene.is_collection)
    found: dict[str, Precedence] = {}
    for pair in _pairs(scene):
        found.setdefault(pair.under.candidate.candidate_id, said.precedence(pair))
    found |= _over_without_successor(scene, found, said)
    return tuple(_without_circles(found)[:_MOST_RELATIONS])


def _pairs(scene: Scene) -> Iterator[Pair]:
    """All pairs, the most literal first."""
    yield from by_clause(scene)
    for relation in document_relations(list(scene.facts.values())):
        if not _asks_for_under(scene, relation):
            yield from _by_document(scene, relation)
    yield from by_order(scene)


def _by_document(scene: Scene, relation: DocumentRelation) -> Iterator[Pair]:
    overs = scene.of(relation.over)
    for under in scene.of(relation.under):
        near = [(_nearness(over, under, scene), over) for over in overs]
        share, over = max(near, key=lambda pair: pair[0], default=(0.0, under))
        if not share or (relation.kind == "excepts" and not scene.is_singled_out(over.stems, under)):
            continue
        if (
            relation.kind == "amends"
            and not scene.facts[relation.under].is_amendment  # whose numbers are those of a third text
            and (changes_others_only(over, under) or adds_only(over, under))
        ):
            continue
        if relation.is_sure or share >= _SURE or _same_heading(over, under):
            yield Pair(over, under, _KIND[relation.kind], relation.said)


def _nearness(over: Reading, under: Reading, scene: Scene) -> float:
    """How surely the two speak of one matter that was asked about; 0 where they do not."""
    shared = scene.matter.shared(over.sentences, under.sentences)
    names = changed_place(over, under)
    return shared + names if shared >= (SAME_MATTER_NAMED if names else SAME_MATTER) else 0.0


def _same_heading(over: Reading, under: Reading) -> bool:
    titles = [section_key(reading.candidate.section_title or "") for reading in (over, under)]
    return bool(titles[0]) and titles[0] == titles[1]


def _asks_for_under(scene: Scene, relation: DocumentRelation) -> bool:
    """Whether the question names the year of the text that is replaced, and so asks for that one."""
    named = set(years_in(scene.question.normalised))
    over, under = scene.facts[relation.over], scene.facts[relation.under]
    return bool(named & _years(under)) and not named & _years(over)


def _years(facts: DocumentFacts) -> set[int]:
    return set(years_in(facts.head)) | ({facts.effective[0][0]} if facts.effective else set())


def _over_without_successor(
    scene: Scene, found: Mapping[str, Precedence], said: Said
) -> dict[str, Precedence]:
    """The passages of documents that say themselves that they are over, where no other text takes their place."""
    in_force = {one.in_force_id for one in found.values()}
    ended = [(document, scene.of(name)) for name, document in scene.facts.items() if document.is_over]
    return {
        reading.candidate.candidate_id: said.ended(reading.candidate.candidate_id, document)
        for document, readings in ended
        for reading in readings
        if reading.candidate.candidate_id not in in_force and reading.candidate.candidate_id not in found
    }


def _without_circles(found: Mapping[str, Precedence]) -> Sequence[Precedence]:
    """Each replaced text with the text at the end of its chain; circles say nothing."""
    kept = []
    for identity, one in found.items():
        seen, last = {identity}, one
        while last.in_force_id and last.in_force_id in found and last.in_force_id not in seen:
            seen.add(last.in_force_id)
            last = found[last.in_force_id]
        if last.in_force_id not in seen:
            at_end = {name: getattr(last, name) for name in ("in_force_id", "in_force_name", "since")}
            kept.append(one.model_copy(update=at_end))
    return kept
