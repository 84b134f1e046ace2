"""``arbiter``: the model reads the passages and says a reason, a quotation and a role for each (engines.md, section 1).

Up to 40 passages go into one call, the best 15 of them whole. More go in batches: the first is judged alone, and a few
of its passages with their roles stand in each later one, so that all hold to one scale. Inside a call the passages have
short ids and an order that a seed gives and the run records. A reply that is cut off is asked for again in halves.
Unknown ids are recorded and ignored, of a repeated id the first counts, missing candidates get one repair call and are
undecided after it. Where a call fails, rules and reranker decide what is clear to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field

from arbitration.absence import doubtful_pages
from arbitration.contracts import ROLE_ORDER, ConflictPair, DecidedBy, Role
from arbitration.errors import LLMFailure
from arbitration.injection import injection_reasons
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import RenderedPrompt, fence, load_prompt
from arbitration.shown import (
    WHOLE,
    best_sentences,
    language_name,
    passage_block,
    passage_values,
    places_for_ids,
    shuffled,
)
from arbitration.strategies.base import (
    Calls,
    Requirement,
    StrategyOutcome,
    StrategyServices,
    Structured,
    Verdict,
    ask_structured,
    undecided,
)
from arbitration.strategies.judgements import Judgement, Judgements, verdict_of
from arbitration.strategies.shortlist import (
    MOST_SEED,
    Fallback,
    StrategyOptions,
    as_json,
    read_options,
    short_ids,
)
from arbitration.strategies.stand_in import ENDPOINT_FAILURES, StandIn, StandInReport

PROMPT, SECOND_PASS, CONFLICTS = "arbiter", "arbiter-second-pass", "arbiter-conflicts"
#: The most briefs of one call: the longest reply to them stays well within what a model may write.
MOST_IN_A_CALL = 40
#: Passages of the first batch that later ones see as judged already.
CALIBRATION = 3
_PREFILTER = DecidedBy(kind="rule", name="prefilter by reciprocal rank fusion")
#: Why a person looks at a passage whose role depends on the order of reading.
ORDERS_DISAGREE = "orders_disagree"


class ArbiterOptions(StrategyOptions):
    """``batch`` is the most passages of one call, ``whole`` how many of them are shown whole, ``parallel`` the most
    calls at once. ``seed`` gives the order inside a call. ``hints``: whether the model is told which methods found a
    passage. ``two_orders``: every call is made again with its passages the other way round, and a person decides
    where the roles differ."""

    batch: int = Field(default=MOST_IN_A_CALL, ge=1, le=MOST_IN_A_CALL)
    whole: int = Field(default=WHOLE, ge=0, le=MOST_IN_A_CALL)
    parallel: int = Field(default=4, ge=1, le=16)
    seed: int = Field(default=0, ge=0, le=MOST_SEED)
    hints: bool = False
    two_orders: bool = False


class ConflictList(BaseModel):
    """The contradictions among passages of several batches."""

    model_config = ConfigDict(extra="forbid")

    conflicts: list[ConflictPair]


@dataclass(frozen=True)
class ArbiterStrategy:
    """Structured calls over all passages."""

    name: str = "arbiter"
    description: str = (
        "A language model reads every brief, up to 40 in a call, and gives each a role and a reason."
    )
    requires: tuple[Requirement, ...] = ("chat",)

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """One verdict per candidate. Raises :class:`StrategyUnavailable` without a chat model."""
        calls = Calls(services.require_chat(self.name))
        return _Arbitration(pool, services, calls, read_options(ArbiterOptions, services)).run()


@dataclass(frozen=True, slots=True)
class _Read:
    """What became of one call: its candidates by the ids it knew them by, with the model's answer, or the failure."""

    by_id: Mapping[str, PoolCandidate]
    answer: Structured[Judgements] | LLMFailure


Render = Callable[[Mapping[str, PoolCandidate]], RenderedPrompt]


@dataclass
class _Arbitration:
    pool: CandidatePool
    services: StrategyServices
    calls: Calls
    options: ArbiterOptions
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    failures: dict[str, LLMFailure] = field(default_factory=dict)
    conflicts: list[ConflictPair] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    together: list[frozenset[str]] = field(default_factory=list)
    artefacts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        #: The most briefs of a call from now on; smaller once a reply was cut off.
        self.size = self.options.batch
        #: Why no call would succeed any more.
        self.ended: LLMFailure | None = None
        #: What decides which passages of a call are shown whole.
        self.estimates = Fallback.of(self.pool, self.services).probabilities

    def run(self) -> StrategyOutcome:
        """The batches, one repair, the contradictions between them, a second order where it is asked for, a second
        pass on a doubted not-found; rules, reranker and people for what is left."""
        judged = self._prefiltered()
        self._judge(judged)
        missing = [c for c in self._without_verdict(judged) if c.candidate_id not in self.failures]
        if missing:
            self.notes.append(f"{len(missing)} candidates missing from the first answer; asked once more")
            self._take_all(self._in_batches(missing, self._prompt, stage="repair"))
        self._stand_in(judged)
        if self.options.two_orders:
            self._judge_backwards(judged)
        if not self.failures:
            self._doubt_not_found(judged)
        return self._outcome()

    def _prefiltered(self) -> list[PoolCandidate]:
        limit = self.pool.settings.prefilter
        ordered = sorted(self.pool.candidates, key=lambda c: c.rrf_rank)
        for candidate in ordered[limit:]:
            self.verdicts[candidate.candidate_id] = Verdict(
                candidate_id=candidate.candidate_id,
                role=Role.DISCARDED,
                reason=f"rank {candidate.rrf_rank} by fusion; only the best {limit} are read, so no model read it",
                decided_by=_PREFILTER,
            )
        if len(ordered) > limit:
            self.notes.append(f"{len(ordered)} candidates; the best {limit} by fusion went to the model")
        return ordered[:limit]

    def _without_verdict(self, candidates: Sequence[PoolCandidate]) -> list[PoolCandidate]:
        return [candidate for candidate in candidates if candidate.candidate_id not in self.verdicts]

    # --- calls ------------------------------------------------------------------------------------------

    def _judge(self, judged: Sequence[PoolCandidate]) -> None:
        """The first batch alone, then the others beside each other on its scale."""
        first, *others = self._batches(judged)
        before = len(self.calls.records)
        self._take_all(self._ask(first, self._prompt, stage="arbitrate"))
        later = [candidate for batch in others for candidate in batch]
        if not later:
            if len(self.calls.records) - before > 1:
                self._compare_batches(judged)
            return
        examples = self._calibration(first)
        self._take_all(
            self._in_batches(later, lambda by_id: self._prompt(by_id, examples), stage="arbitrate")
        )
        self._compare_batches(judged)

    def _judge_backwards(self, judged: Sequence[PoolCandidate]) -> None:
        """What the model judged is judged again, each call the other way round; a person decides where roles differ."""
        again = [c for c in judged if self.verdicts[c.candidate_id].decided_by.kind == "llm"]
        if not again:
            return
        differing = 0
        for read in self._in_batches(again, self._prompt, stage="second_order", backwards=True):
            if isinstance(read.answer, LLMFailure):
                self._note_failure("second_order", read.answer)
                continue
            for candidate, judgement in self._rankings(read.by_id, read.answer.value.rankings):
                first = self.verdicts[candidate.candidate_id]
                second = self._verdict(judgement, candidate, read.by_id, read.answer.decided_by)
                settled = settled_between(first, second)
                differing += settled is not first
                self.verdicts[candidate.candidate_id] = settled
        self.notes.append(
            f"{len(again)} candidates were read in two orders; on {differing} the model gave two roles"
        )

    def _batches(self, candidates: Sequence[PoolCandidate]) -> list[list[PoolCandidate]]:
        """Batches of at most ``size``, of like mixture: each takes every n-th by fusion."""
        n = math.ceil(len(candidates) / self.size)
        return [list(candidates[start::n]) for start in range(n)]

    def _in_batches(
        self, candidates: Sequence[PoolCandidate], render: Render, *, stage: str, backwards: bool = False
    ) -> list[_Read]:
        batches = self._batches(candidates)
        with ThreadPoolExecutor(min(self.options.parallel, len(batches)), "arbiter") as workers:
            read = workers.map(
                lambda batch: self._ask(batch, render, stage=stage, backwards=backwards), batches
            )
            return [one for several in read for one in several]

    def _ask(
        self, candidates: Sequence[PoolCandidate], render: Render, *, stage: str, backwards: bool = False
    ) -> list[_Read]:
        """One call over some candidates, and again over each half where the reply is cut off."""
        by_id = short_ids(self._ordered(candidates, backwards=backwards))
        if self.ended is not None:
            return [_Read(by_id, self.ended)]
        answer = ask_structured(
            self.calls, render(by_id), Judgements, settings=self.pool.settings, stage=stage
        )
        if not isinstance(answer, LLMFailure):
            self.together.append(frozenset(candidate.candidate_id for candidate in candidates))
            return [_Read(by_id, answer)]
        if answer.outcome == "cut_off" and len(candidates) > 1:
            half = math.ceil(len(candidates) / 2)
            self.size = min(self.size, half)
            halves = (candidates[:half], candidates[half:])
            return [r for part in halves for r in self._ask(part, render, stage=stage, backwards=backwards)]
        if answer.outcome in ENDPOINT_FAILURES:
            self.ended = answer
        return [_Read(by_id, answer)]

    def _ordered(
        self, candidates: Sequence[PoolCandidate], *, backwards: bool = False
    ) -> list[PoolCandidate]:
        return shuffled(
            candidates,
            seed=self.options.seed,
            question=self.pool.question.normalised,
            backwards=backwards,
        )

    # --- prompts ----------------------------------------------------------------------------------------

    def _prompt(
        self, by_id: Mapping[str, PoolCandidate], calibration: Sequence[dict[str, str]] = ()
    ) -> RenderedPrompt:
        return load_prompt(PROMPT).render(
            **self._asked(),
            intent=self.pool.question.intent,
            calibration=calibration,
            briefs=self._briefs(by_id),
        )

    def _second_prompt(self, by_id: Mapping[str, PoolCandidate]) -> RenderedPrompt:
        return load_prompt(SECOND_PASS).render(
            **self._asked(),
            words=fence(", ".join(self.pool.question.terms()), label="words"),
            briefs=[self._brief(i, candidate, candidate.context_text) for i, candidate in by_id.items()],
        )

    def _asked(self) -> dict[str, str]:
        """The question as every prompt shows it, and the language to answer in."""
        question = self.pool.question
        cues = "; ".join(question.negative_cues)
        return {
            "question": fence(question.normalised, label="question"),
            "language": language_name(question.language),
            "negative_cues": fence(cues, label="cues") if cues else "",
        }

    def _briefs(self, by_id: Mapping[str, PoolCandidate]) -> list[dict[str, str]]:
        """The best of the call whole, of the others the best sentences."""
        ranked = sorted(by_id.values(), key=lambda c: -self.estimates[c.candidate_id])
        whole = {candidate.candidate_id for candidate in ranked[: self.options.whole]}
        return [
            self._brief(
                i,
                candidate,
                candidate.anchor_text
                if candidate.candidate_id in whole
                else best_sentences(self.pool, candidate),
            )
            for i, candidate in by_id.items()
        ]

    def _brief(self, label: str, candidate: PoolCandidate, text: str) -> dict[str, str]:
        """A passage as prompts show it: everything that comes from documents is fenced."""
        hints = self._hints(candidate) if self.options.hints else ""
        return passage_values(self.pool, candidate, label=label, text=text) | {"hints": hints}

    def _hints(self, candidate: PoolCandidate) -> str:
        words = ", ".join(candidate.brief.matched_keywords)
        found = f"found by: {', '.join(candidate.brief.methods)}"
        return f"{found}; holds: {words}" if words else found

    def _calibration(self, judged: Sequence[PoolCandidate]) -> list[dict[str, str]]:
        """One passage of each role, the clearest contrast first. None that seems to give orders: it would be shown in
        every batch."""
        examples: dict[Role, dict[str, str]] = {}
        for candidate in judged:
            verdict = self.verdicts.get(candidate.candidate_id)
            if verdict is None or verdict.role is None or verdict.role in examples:
                continue
            if not injection_reasons(candidate.context_text):
                text = best_sentences(self.pool, candidate)
                shown = passage_block(self.pool, candidate, label="judged", text=text)
                examples[verdict.role] = {"role": verdict.role.value, "text": shown}
        wanted = (Role.PRIMARY, Role.DISCARDED, Role.SUPPORTING, Role.TANGENTIAL)
        return [examples[role] for role in wanted if role in examples][:CALIBRATION]

    def _compare_batches(self, judged: Sequence[PoolCandidate]) -> None:
        """Contradictions between passages that no single call showed together."""
        kept = [c for c in judged if (v := self.verdicts.get(c.candidate_id)) and v.role is Role.PRIMARY]
        kept = kept[:MOST_IN_A_CALL]
        if len(kept) < 2 or self.ended is not None:
            return
        by_id = short_ids(self._ordered(kept))
        prompt = load_prompt(CONFLICTS).render(
            question=fence(self.pool.question.normalised, label="question"),
            language=language_name(self.pool.question.language),
            briefs=self._briefs(by_id),
        )
        found = ask_structured(
            self.calls, prompt, ConflictList, settings=self.pool.settings, stage="conflicts"
        )
        if isinstance(found, LLMFailure):
            self._note_failure("conflicts", found)
        else:
            self._take_conflicts(found.value.conflicts, by_id)

    def _note_failure(self, stage: str, failure: LLMFailure) -> None:
        self.notes.append(f"model call ({stage}) failed: {failure.outcome}: {failure.message}")

    # --- answers ----------------------------------------------------------------------------------------

    def _take_all(self, read: Iterable[_Read]) -> None:
        for one in read:
            if isinstance(one.answer, LLMFailure):
                self.failures |= dict.fromkeys((c.candidate_id for c in one.by_id.values()), one.answer)
                continue
            for candidate, judgement in self._rankings(one.by_id, one.answer.value.rankings):
                verdict = self._verdict(judgement, candidate, one.by_id, one.answer.decided_by)
                self.verdicts[candidate.candidate_id] = verdict
            self._take_conflicts(one.answer.value.conflicts, one.by_id)

    def _rankings(
        self, by_id: Mapping[str, PoolCandidate], given: Iterable[Judgement]
    ) -> list[tuple[PoolCandidate, Judgement]]:
        """The first word on each passage of the call; what else was said is on record."""
        seen: dict[str, tuple[PoolCandidate, Judgement]] = {}
        for judgement in given:
            identity = judgement.candidate_id.strip()
            if identity not in by_id:
                self.unknown.append(judgement.candidate_id)
            elif identity in seen:
                self.repeated.append(by_id[identity].candidate_id)
            else:
                seen[identity] = (by_id[identity], judgement)
        return list(seen.values())

    def _verdict(
        self,
        judgement: Judgement,
        candidate: PoolCandidate,
        by_id: Mapping[str, PoolCandidate],
        decider: DecidedBy,
    ) -> Verdict:
        return verdict_of(judgement, candidate, decider=decider, by_id=by_id, pool=self.pool)

    def _take_conflicts(self, pairs: Iterable[ConflictPair], by_id: Mapping[str, PoolCandidate]) -> None:
        told = {frozenset((pair.first_id, pair.second_id)) for pair in self.conflicts}
        for pair in pairs:
            given = (pair.first_id.strip(), pair.second_id.strip())
            unknown = [identity for identity in given if identity not in by_id]
            self.unknown += unknown
            if unknown:
                continue
            first, second = (by_id[identity].candidate_id for identity in given)
            if first != second and frozenset((first, second)) not in told:
                told.add(frozenset((first, second)))
                why = places_for_ids(" ".join(pair.explanation.split()), by_id, self.pool)
                self.conflicts.append(ConflictPair(first_id=first, second_id=second, explanation=why))

    def _stand_in(self, judged: Sequence[PoolCandidate]) -> None:
        """Rules and reranker where a call failed, people where the model left a candidate out twice."""
        stand_in = StandIn(self.pool, self.services)
        for candidate in self._without_verdict(judged):
            failure = self.failures.get(candidate.candidate_id)
            self.verdicts[candidate.candidate_id] = (
                stand_in.verdict(candidate, failure)
                if failure
                else undecided(candidate, "no verdict: left out twice by the model")
            )
        if self.failures:
            last = next(reversed(self.failures.values()))
            self.notes += dict.fromkeys(
                f"model call failed: {failure.outcome}: {failure.message}"
                for failure in self.failures.values()
            )
            report = StandInReport.of([self.verdicts[c.candidate_id] for c in judged], last)
            self.notes.append(report.note)
            self.artefacts |= report.artefact

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
        for read in self._in_batches(again, self._second_prompt, stage="second_pass"):
            if isinstance(read.answer, LLMFailure):
                self._note_failure("second_pass", read.answer)
            else:
                self._take_all([read])

    def _outcome(self) -> StrategyOutcome:
        ordered = sorted(self.pool.candidates, key=lambda c: c.rrf_rank)
        verdicts = tuple(self.verdicts[candidate.candidate_id] for candidate in ordered)
        return StrategyOutcome(
            verdicts=verdicts,
            conflicts=tuple(self.conflicts),
            unknown_ids=tuple(dict.fromkeys(self.unknown)),
            repeated_ids=tuple(dict.fromkeys(self.repeated)),
            undecided_ids=tuple(v.candidate_id for v in verdicts if v.role is None),
            judged_together=tuple(self.together),
            calls=self.calls.records,
            notes=tuple(self.notes),
            artefacts=self.artefacts | {"order": as_json(self._order_record())},
        )

    def _order_record(self) -> dict[str, object]:
        """What an auditor needs to find the order of each call again (:func:`arbitration.shown.shuffled`)."""
        options = self.options
        return {
            "seed": options.seed,
            "orders": 2 if options.two_orders else 1,
            "whole": options.whole,
            "hints": options.hints,
        }


def settled_between(first: Verdict, second: Verdict) -> Verdict:
    """The verdict of two readings of one passage: the first where they agree, else the stronger one, for a person.
    Nothing is lost by the order in which a model happens to read."""
    if first.role is None or second.role is None or first.role is second.role:
        return first
    if not first.role.binary_label and not second.role.binary_label:
        return first
    stronger, weaker = sorted((first, second), key=lambda verdict: ROLE_ORDER[verdict.role or Role.DISCARDED])
    why = f"{stronger.role} in one order of the passages, {weaker.role} in the other"
    return stronger.for_person(f"{ORDERS_DISAGREE}: {why}")
