"""Two texts in force that give different values for one matter: nothing says which prevails, so people must know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from arbitration.contracts import ConflictPair, Role
from arbitration.expected_values import Value, ValueKind, values_in
from arbitration.phrases import phrases
from arbitration.pool import CandidatePool
from arbitration.precedence.texts import Reading
from arbitration.strategies.base import Verdict
from arbitration.text import content_stems, supported_language

#: Passages compared, conflicts named, and the words that two sentences share and may differ in.
_PRIMARIES, _MOST = 6, 3
_SAME, _FEWEST, _DIFFERENT = 0.6, 3, 3
_KINDS: frozenset[ValueKind] = frozenset({"money", "percent", "duration"})


def conflicts_of(
    verdicts: Sequence[Verdict], pool: CandidatePool, known: Sequence[ConflictPair] = ()
) -> tuple[ConflictPair, ...]:
    """The pairs of primary passages that contradict each other, without those that are known."""
    if not pool.settings.precedence:
        return ()
    ours = [
        v for v in verdicts if v.role is Role.PRIMARY and v.decided_by.kind != "llm"
    ]  # a model names its own
    primary = [candidate for v in ours if (candidate := pool.candidate(v.candidate_id))]
    readings = [Reading.of(candidate, pool) for candidate in primary[:_PRIMARIES]]
    told = {frozenset((pair.first_id, pair.second_id)) for pair in known}
    found = (pair for one, other in combinations(readings, 2) if (pair := _conflict(one, other, pool)))
    return tuple(pair for pair in found if frozenset((pair.first_id, pair.second_id)) not in told)[:_MOST]


def _conflict(one: Reading, other: Reading, pool: CandidatePool) -> ConflictPair | None:
    first, second = one.candidate, other.candidate
    places = [(c.document_id, c.anchor.section_id) for c in (first, second)]
    if places[0] == places[1]:
        return None
    language = supported_language(pool.question.language)
    for here, own in _valued(one):
        for there, others in _valued(other):
            if here.kind == there.kind and _plain(here) != _plain(there) and _is_same(own, others):
                said = phrases("precedence", language)["conflict"].format(one=here.text, other=there.text)
                return ConflictPair(
                    first_id=first.candidate_id, second_id=second.candidate_id, explanation=said
                )
    return None


def _valued(reading: Reading) -> Iterator[tuple[Value, frozenset[str]]]:
    """The sentences that give one value, each with what else it speaks of."""
    for sentence in reading.sentences:
        values = [value for value in values_in(sentence.text) if value.kind in _KINDS]
        if len(values) == 1:
            rest = sentence.text.replace(values[0].text, " ")
            yield values[0], frozenset(content_stems(rest, reading.language))


def _plain(value: Value) -> str:
    return " ".join(value.text.casefold().split())


def _is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    if any(char.isdigit() for stem in one ^ other for char in stem):
        return False  # of rule 3 and rule 4, or of 2019 and 2020
    shared = len(one & other)
    return shared >= _FEWEST and shared / len(one | other) >= _SAME and len(one ^ other) <= _DIFFERENT
