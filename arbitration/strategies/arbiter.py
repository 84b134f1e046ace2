"""``arbiter``: every brief in one call; the model says a role and a reason for each (engines.md, section 1).

Unknown ids are recorded and ignored, of a repeated id the first counts, missing candidates get one repair
call and are undecided after it. A failed call leaves everything undecided: a failure is never a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from arbitration.absence import doubtful_pages
from arbitration.contracts import ArbiterOutput, CandidateRanking, ConflictPair, DecidedBy, Role
from arbitration.errors import LLMFailure
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import RenderedPrompt, fence, load_prompt
from arbitration.strategies.base import (
    Calls,
    Requirement,
    StrategyOutcome,
    StrategyServices,
    Verdict,
    ask_structured,
    undecided,
)

PROMPT, SECOND_PASS = "arbiter", "arbiter-second-pass"
_PREFILTER = DecidedBy(kind="rule", name="prefilter by reciprocal rank fusion")


@dataclass(frozen=True)
class ArbiterStrategy:
    """One structured call over all briefs."""

    name: str = "arbiter"
    description: str = "A language model reads every brief in one call and gives each a role and a reason."
    requires: tuple[Requirement, ...] = ("chat",)

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """One verdict per candidate. Raises :class:`StrategyUnavailable` without a chat model."""
        return _Arbitration(pool, services, Calls(services.require_chat(self.name))).run()


@dataclass
class _Arbitration:
    pool: CandidatePool
    services: StrategyServices
    calls: Calls
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    conflicts: list[ConflictPair] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def run(self) -> StrategyOutcome:
        """First call, repair, second pass on a doubted not-found, and what is left for people."""
        judged = self._prefiltered()
        failure = self._ask(judged, stage="arbitrate")
        missing = self._without_verdict(judged)
        if failure is None and missing:
            self.notes.append(f"{len(missing)} candidates missing from the first answer; asked once more")
            failure = self._ask(missing, stage="repair")
        for candidate in self._without_verdict(judged):
            why = f"no verdict: {failure.message}" if failure else "no verdict: left out twice by the model"
            self.verdicts[candidate.candidate_id] = undecided(candidate, why)
        self._doubt_not_found(judged)
        return self._outcome()

    def _prefiltered(self) -> list[PoolCandidate]:
        limit = self.pool.settings.prefilter
        ordered = sorted(self.pool.candidates, key=lambda c: c.rrf_rank)
        for candidate in ordered[limit:]:
            self.verdicts[candidate.candidate_id] = Verdict(
                candidate_id=candidate.candidate_id,
                role=Role.DISCARDED,
                reason=f"rank {candidate.rrf_rank} by fusion; one call holds {limit}, so no model read it",
                decided_by=_PREFILTER,
            )
        if len(ordered) > limit:
            self.notes.append(f"{len(ordered)} candidates; the best {limit} by fusion went to the model")
        return ordered[:limit]

    def _without_verdict(self, candidates: Sequence[PoolCandidate]) -> list[PoolCandidate]:
        return [candidate for candidate in candidates if candidate.candidate_id not in self.verdicts]

    def _ask(self, candidates: Sequence[PoolCandidate], *, stage: str) -> LLMFailure | None:
        """One call over some candidates; its verdicts are taken over, its failure is returned."""
        prompt = load_prompt(PROMPT).render(
            question=self.pool.question.normalised,
            intent=self.pool.question.intent,
            negative_cues="; ".join(self.pool.question.negative_cues),
            documents="; ".join(fence(d.name, label="document name") for d in self.pool.documents[:20]),
            briefs=[brief_values(candidate, candidate.brief.snippet) for candidate in candidates],
        )
        return self._complete(prompt, candidates, stage=stage)

    def _complete(
        self, prompt: RenderedPrompt, candidates: Sequence[PoolCandidate], *, stage: str
    ) -> LLMFailure | None:
        answered = ask_structured(self.calls, prompt, ArbiterOutput, settings=self.pool.settings, stage=stage)
        if isinstance(answered, LLMFailure):
            self.notes.append(f"model call ({stage}) failed: {answered.outcome}: {answered.message}")
            return answered
        self._take(answered.value, {c.candidate_id for c in candidates}, answered.decided_by)
        return None

    def _take(self, output: ArbiterOutput, asked: set[str], decider: DecidedBy) -> None:
        seen: set[str] = set()
        for ranking in output.rankings:
            identity = ranking.candidate_id.strip()
            if identity not in asked:
                self.unknown.append(ranking.candidate_id)
            elif identity in seen:
                self.repeated.append(identity)
            else:
                seen.add(identity)
                self.verdicts[identity] = _verdict(ranking, identity, decider)
        for pair in output.conflicts:
            known = {pair.first_id, pair.second_id} <= asked and pair.first_id != pair.second_id
            if known and pair not in self.conflicts:
                self.conflicts.append(pair)
            elif not known:
                self.unknown += [i for i in (pair.first_id, pair.second_id) if i not in asked]

    def _doubt_not_found(self, judged: Sequence[PoolCandidate]) -> None:
        """A model that discards everything says "not found": search the words as substrings, and let it read
        the passages on those pages again with their surroundings."""
        verdicts = [self.verdicts[candidate.candidate_id] for candidate in judged]
        if not verdicts or any(verdict.role is not Role.DISCARDED for verdict in verdicts):
            return
        if self.services.store is None:
            self.notes.append("all discarded; no document store at hand to doubt it with")
            return
        pages = set(doubtful_pages(self.services.store, self.pool.question))
        again = [c for c in judged if (c.document_id, c.anchor.page_start) in pages]
        if not again:
            self.notes.append("all discarded; no page with a word of the question is left to read")
            return
        self.notes.append(f"all discarded, but {len(pages)} pages hold words of the question: second pass")
        prompt = load_prompt(SECOND_PASS).render(
            question=self.pool.question.normalised,
            words=", ".join(self.pool.question.terms()),
            briefs=[brief_values(candidate, candidate.context_text) for candidate in again],
        )
        self._complete(prompt, again, stage="second_pass")

    def _outcome(self) -> StrategyOutcome:
        ordered = sorted(self.pool.candidates, key=lambda c: c.rrf_rank)
        verdicts = tuple(self.verdicts[candidate.candidate_id] for candidate in ordered)
        return StrategyOutcome(
            verdicts=verdicts,
            conflicts=tuple(self.conflicts),
            unknown_ids=tuple(dict.fromkeys(self.unknown)),
            repeated_ids=tuple(dict.fromkeys(self.repeated)),
            undecided_ids=tuple(v.candidate_id for v in verdicts if v.role is None),
            calls=self.calls.records,
            notes=tuple(self.notes),
        )


def brief_values(candidate: PoolCandidate, text: str) -> dict[str, str]:
    """A brief as prompts show it: everything that comes from documents is fenced."""
    brief = candidate.brief
    return {
        "candidate_id": candidate.candidate_id,
        "methods": ", ".join(brief.methods),
        "section": fence(brief.section, label="section") if brief.section else "none",
        "keywords": ", ".join(brief.matched_keywords) or "none",
        "text": fence(text, label=candidate.candidate_id),
    }


def _verdict(ranking: CandidateRanking, identity: str, decider: DecidedBy) -> Verdict:
    return Verdict(
        candidate_id=identity,
        role=ranking.role,
        reason=" ".join(ranking.reason.split()) or "no reason given",
        decided_by=decider,
        counter_argument=ranking.counter_argument,
    )
