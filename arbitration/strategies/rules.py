"""The three rules the arbiter is told and the offline strategy obeys (engines.md, section 1).

1. Trust the table of contents on exact title matches (a section or code family the question names is one).
2. Trust a line where primary and secondary keywords meet, even outside the sections the titles suggest.
3. Be sceptical of what only embeddings found: sometimes a true synonym, more often topical noise.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbitration.contracts import Role
from arbitration.pool import CandidatePool, PatternKind, PoolCandidate
from arbitration.reasons import ReasonWriter
from arbitration.settings import Bars

#: A meeting of keywords counts for rule 2 when it is at least this share of the best meeting in the pool.
MEETING_SHARE = 0.5


#: How well a place must answer what the question names to count as named; a page is too wide a place.
_NAMED: dict[PatternKind, float] = {"reference": 0.6, "alias": 0.6, "family": 0.6, "opening": 0.8}


@dataclass(frozen=True, slots=True)
class RuleReading:
    """Which rules speak for or against a candidate. ``is_measured``: late interaction compared it with the question
    word by word, so that what meaning alone found is no blind guess."""

    fired: tuple[int, ...]
    is_measured: bool = False

    @property
    def accepts(self) -> bool:
        """Whether rule 1 or 2 fired."""
        return 1 in self.fired or 2 in self.fired


def accepted_role(reading: RuleReading, probability: float, bars: Bars) -> Role:
    """The role of an accepted candidate: primary where rule 1 or 2 fired and it reaches that rule's bar, or where late
    interaction compared it and it reaches the bar of rule 2.

    Without a bar for rule 1 every piece of a long section whose title matches went before better ones (H2O: six
    primaries a question, a quarter of them right, MRR .782; with it three, two fifths of them right, .797).
    """
    named = 1 in reading.fired and probability >= bars.named
    met = (2 in reading.fired or reading.is_measured) and probability >= bars.primary
    return Role.PRIMARY if named or met else Role.SUPPORTING


def role_by_bars(reading: RuleReading, probability: float, bars: Bars) -> Role:
    """Accepted = primary where rule 1 or 2 fired, else supporting; uncertain = tangential; else discarded."""
    if probability >= bars.accept:
        return accepted_role(reading, probability, bars)
    return Role.TANGENTIAL if probability > bars.reject else Role.DISCARDED


class Rules:
    """The rules read over one pool: what counts as a strong meeting depends on the best one there."""

    def __init__(self, pool: CandidatePool) -> None:
        meetings = [c.signals.cooccurrence for c in pool.candidates]
        self._bar = MEETING_SHARE * max(meetings, default=0.0)
        self._exact_titles = any(_named(c) for c in pool.candidates)
        self._writer = ReasonWriter(pool)

    def read(self, candidate: PoolCandidate) -> RuleReading:
        """The rules that fired for a candidate."""
        fired: list[int] = []
        if _named(candidate):
            fired.append(1)
        if self._meets(candidate):
            fired.append(2)
        if not fired and set(candidate.ranks) == {"embedding"}:
            fired.append(3)
        return RuleReading(tuple(fired), is_measured=candidate.signals.late is not None)

    def reason(self, candidate: PoolCandidate, role: Role) -> str:
        """Why a candidate has its role, in words (:mod:`arbitration.reasons`)."""
        return self._writer.reason(candidate, role, is_named=_named(candidate), meets=self._meets(candidate))

    def _meets(self, candidate: PoolCandidate) -> bool:
        """A strong meeting. Two words of one phrase meeting (no second group) prove a mention only, so outside
        the sections named for the phrase they do not count where such a section exists."""
        signals = candidate.signals
        if signals.cooccurrence <= 0 or signals.cooccurrence < self._bar:
            return False
        mention_only = signals.two_term_rule and self._exact_titles and not _named(candidate)
        return not mention_only


def _named(candidate: PoolCandidate) -> bool:
    signals = candidate.signals
    by_title = signals.title_match == "exact" and "toc" in candidate.ranks and not signals.heading_only
    return by_title or (signals.pattern_kind != "none" and signals.pattern >= _NAMED[signals.pattern_kind])
