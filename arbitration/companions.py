"""What a lawyer reads beside a passage: the definitions of its terms, the clauses it depends on, and its exceptions.

After the roles are given, what stands beside a primary passage in this way becomes supporting, with the reason. It
never becomes more than that, and no role is lowered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from arbitration.contracts import DecidedBy, Role
from arbitration.definitions import definition_in, terms_defined, uses
from arbitration.following import depended_on
from arbitration.phrases import phrases
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.precedence.clauses import refers
from arbitration.precedence.statements import excepts, points_back
from arbitration.precedence.texts import Reading
from arbitration.questions.references import match_address
from arbitration.strategies.base import Verdict
from arbitration.text import shortened, single_quoted

_DECIDED = DecidedBy(kind="rule", name="read along", version="1")
_LOWER = (Role.TANGENTIAL, Role.DISCARDED)
#: Primary passages looked at, and companions of each kind, at most.
_PRIMARIES, _MOST = 5, 3
_WHOLE = 0.9
_NEXT_LINES = 3

_QUOTED_WORDS = 15


@dataclass(frozen=True, slots=True)
class Companion:
    """``candidate_id`` is read along with ``beside``, for the reason of ``kind``. ``is_whole``: the reason quotes the
    passage, and what else it says about the question would only distract."""

    candidate_id: str
    beside: str
    kind: str
    reason: str
    is_whole: bool = False


def read_along(verdicts: Sequence[Verdict], pool: CandidatePool) -> list[Verdict]:
    """The verdicts, with what stands beside the primary passages raised to supporting."""
    found = companions(verdicts, pool)
    return [
        _raised(verdict, found[verdict.candidate_id]) if verdict.candidate_id in found else verdict
        for verdict in verdicts
    ]


def companions(verdicts: Sequence[Verdict], pool: CandidatePool) -> dict[str, Companion]:
    """What is read along, by candidate: of what rules decided and set aside, nothing that seems to give orders."""
    may_rise = {
        verdict.candidate_id
        for verdict in verdicts
        if verdict.role in _LOWER and verdict.may_be_revised and not verdict.injection_suspected
    }
    primary = [pool.candidate(v.candidate_id) for v in verdicts if v.role is Role.PRIMARY][:_PRIMARIES]
    table = _Table(pool)
    found: dict[str, Companion] = {}
    for candidate in primary:
        if candidate is None:
            continue
        for companion in table.beside(candidate):
            of_kind = sum(other.kind == companion.kind for other in found.values())
            if companion.candidate_id in may_rise and companion.candidate_id not in found and of_kind < _MOST:
                found[companion.candidate_id] = companion
    return found


def _raised(verdict: Verdict, companion: Companion) -> Verdict:
    raised = {
        "role": Role.SUPPORTING,
        "reason": companion.reason if companion.is_whole else f"{companion.reason} {verdict.reason}",
        "decided_by": _DECIDED,
    }
    return verdict.without_uncertainty().model_copy(update=raised)


@dataclass(frozen=True)
class _Table:
    pool: CandidatePool

    @cached_property
    def readings(self) -> list[Reading]:
        """All candidates."""
        return [Reading.of(candidate, self.pool) for candidate in self.pool.candidates]

    @cached_property
    def defined(self) -> dict[str, tuple[str, ...]]:
        """The terms that each candidate defines, by its id."""
        found = {c.candidate_id: terms_defined(c.anchor_text) for c in self.pool.candidates}
        return {identity: terms for identity, terms in found.items() if terms}

    @cached_property
    def limiting(self) -> frozenset[str]:
        """The candidates that may limit a rule."""
        return frozenset(c.candidate_id for c in self.pool.candidates if excepts(c.anchor_text))

    def beside(self, candidate: PoolCandidate) -> Iterator[Companion]:
        """The companions of one passage, definitions first."""
        settings = self.pool.settings
        others = [r for r in self.readings if _is_other(r.candidate, candidate)]
        if settings.definitions:
            yield from self._definitions(candidate, others)
        if settings.references:
            yield from self._references(candidate, others)
            yield from self._exceptions(Reading.of(candidate, self.pool), others)

    def _definitions(self, user: PoolCandidate, others: Sequence[Reading]) -> Iterator[Companion]:
        own = self.defined.get(user.candidate_id, ())
        for other in others:
            for term in self.defined.get(other.candidate.candidate_id, ()):
                if term not in own and uses(term, user.anchor_text):
                    quote = _quoted(definition_in(other.candidate.anchor_text, term))
                    yield self._companion(other.candidate, user, "definition", term, quote)
                    break

    def _references(self, user: PoolCandidate, others: Sequence[Reading]) -> Iterator[Companion]:
        for reference in depended_on(user.anchor_text):
            for other in others:
                scores = (match_address(reference.address, address) for address in other.addresses)
                if max(scores, default=0.0) >= _WHOLE:
                    what = (reference.text[:1].upper() + reference.text[1:]).rstrip(".")
                    yield self._companion(other.candidate, user, "reference", what)
                    break

    def _exceptions(self, user: Reading, others: Sequence[Reading]) -> Iterator[Companion]:
        for other in others:
            limit = _limit(other, user) if other.candidate.candidate_id in self.limiting else None
            if limit is not None:
                yield self._companion(other.candidate, user.candidate, "exception", "", _quoted(limit))
            elif user.candidate.candidate_id in self.limiting and _limit(user, other):
                yield self._companion(other.candidate, user.candidate, "rule", "")

    def _companion(
        self, candidate: PoolCandidate, user: PoolCandidate, kind: str, what: str, quote: str = ""
    ) -> Companion:
        words = phrases("companions", self.pool.question.language)
        anchor = user.anchor
        kind_of_place = "line" if anchor.line_start == anchor.line_end else "place"
        place = words[kind_of_place].format(
            page=anchor.page_start, first=anchor.line_start, last=anchor.line_end
        )
        reason = words[kind].format(
            what=what, place=place, quote=words["quote"].format(quote=quote) if quote else ""
        )
        return Companion(candidate.candidate_id, user.candidate_id, kind, reason, is_whole=bool(quote))


def _quoted(sentence: str) -> str:
    """The beginning of a sentence as a reason quotes it."""
    return shortened(single_quoted(sentence), words=_QUOTED_WORDS).rstrip(".;:,")


def _is_other(candidate: PoolCandidate, user: PoolCandidate) -> bool:
    same = candidate.candidate_id == user.candidate_id
    return not same and candidate.document_id == user.document_id


def _limit(exception: Reading, rule: Reading) -> str | None:
    """The sentence of the first that limits the second: it names its number, or follows it and points back."""
    for place, sentence in enumerate(exception.sentences):
        if not excepts(sentence.text):
            continue
        if refers(sentence.text, rule) and not refers(sentence.text, exception):
            return sentence.text
        if place == 0 and points_back(sentence.text) and _follows(exception.candidate, rule.candidate):
            return sentence.text
    return None


def _follows(candidate: PoolCandidate, other: PoolCandidate) -> bool:
    """Whether a passage stands directly behind another one, on its page."""
    before, behind = other.anchor, candidate.anchor
    return (
        before.page_end == behind.page_start
        and 0 < behind.line_start - before.line_end <= _NEXT_LINES
        and before.section_id == behind.section_id
    )
