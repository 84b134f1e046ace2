"""Who decides where the language model gave no usable answer: rules and reranker what is clear to them, a person the
rest. A failure is never a verdict; what stands in for one says so."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from arbitration.contracts import DecidedBy, Role
from arbitration.errors import LLMFailure
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.strategies.base import StrategyServices, Verdict, undecided
from arbitration.strategies.offline import OfflineStrategy

#: Why a person should look at what was kept without the model.
BY_STAND_IN = "kept without the language model"
#: Outcomes after which another call of the same run would fare no better.
ENDPOINT_FAILURES = frozenset(
    {
        *("timeout", "connection", "rate_limited", "server_error", "circuit_open", "bad_request"),
        *("budget", "stopped", "not_allowed"),
    }
)
_WORDS = {
    "timeout": "it did not answer in time",
    "connection": "it could not be reached",
    "server_error": "its server failed",
    "circuit_open": "it failed too often just now",
    "rate_limited": "it takes no more requests for now",
    "bad_request": "it refused the request",
    "budget": "the budget is used up",
    "stopped": "the use of language models is stopped",
    "not_allowed": "this collection does not allow its endpoint",
    "refused": "it declined to answer",
    "cut_off": "its answer was cut off",
}


def in_words(failure: LLMFailure) -> str:
    """Why the model gave no verdict, for people."""
    return _WORDS.get(failure.outcome, "its answer could not be read")


@dataclass(frozen=True)
class StandIn:
    """The verdicts of the offline strategy on what it finds clear, marked as standing in for the model; what is kept
    that way is for a person as well."""

    pool: CandidatePool
    services: StrategyServices

    @cached_property
    def _offline(self) -> Mapping[str, Verdict]:
        verdicts = OfflineStrategy().decide(self.pool, services=self.services).verdicts
        return {verdict.candidate_id: verdict for verdict in verdicts}

    def verdict(self, candidate: PoolCandidate, failure: LLMFailure) -> Verdict:
        """The stand-in's verdict where it is clear; else none, and the candidate waits for a person."""
        own = self._offline[candidate.candidate_id]
        if own.role is None or own.needs_person:
            return undecided(candidate, f"no verdict: {failure.message}")
        decider = own.decided_by.model_copy(update={"kind": "fallback"})
        reason = f"decided without the language model ({in_words(failure)}): {own.reason}"
        verdict = own.model_copy(update={"decided_by": decider, "reason": reason})
        return verdict if verdict.role is Role.DISCARDED else verdict.for_person(BY_STAND_IN)


@dataclass(frozen=True, slots=True)
class StandInReport:
    """What a run says of the candidates that its model did not judge."""

    failure: LLMFailure
    candidates: int
    decided: int
    waiting: int

    @classmethod
    def of(cls, verdicts: Sequence[Verdict], failure: LLMFailure) -> StandInReport:
        """The counts of one strategy's verdicts."""
        decided = sum(is_stand_in(verdict.decided_by) for verdict in verdicts)
        return cls(failure, len(verdicts), decided, sum(verdict.role is None for verdict in verdicts))

    @property
    def note(self) -> str:
        """One line for the record."""
        return (
            f"the language model gave no verdict on {self.decided + self.waiting} of {self.candidates} candidates "
            f"({in_words(self.failure)}): rules and reranker decided {self.decided}, {self.waiting} wait for a person"
        )

    @property
    def artefact(self) -> dict[str, str]:
        """The same for programs: ``stand_in`` as JSON."""
        said = {"outcome": self.failure.outcome, "decided": self.decided, "waiting": self.waiting}
        return {"stand_in": json.dumps(said)}


def is_stand_in(decider: DecidedBy) -> bool:
    """Whether rules or reranker decided in the model's place."""
    return decider.kind == "fallback"
