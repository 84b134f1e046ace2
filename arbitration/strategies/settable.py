"""What people may set of a strategy, per collection and per question, and what a run by it will ask of a model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from arbitration.errors import StrategyUnavailable
from arbitration.strategies.arbiter import ArbiterOptions
from arbitration.strategies.consensus import ConsensusOptions, planned_calls
from arbitration.strategies.multi_criteria import MultiCriteriaOptions
from arbitration.strategies.pointwise import PointwiseOptions
from arbitration.strategies.shortlist import StrategyOptions, valid_options

_CONSENSUS = (ConsensusOptions, ("k", "n", "floor", "order", "score"))
_MULTI_CRITERIA = (MultiCriteriaOptions, ("relevance_only",))
_SETTABLE: Mapping[str, tuple[type[StrategyOptions], tuple[str, ...]]] = {
    "arbiter": (ArbiterOptions, ("hints", "two_orders", "seed")),
    "consensus": _CONSENSUS,
    "multi-criteria": _MULTI_CRITERIA,
    "pointwise": (PointwiseOptions, ("streams", "merge", "per_stream")),
    "multi-criteria-2": _MULTI_CRITERIA,
}

#: Names of the settings of each strategy that has any.
SETTABLE: Mapping[str, tuple[str, ...]] = MappingProxyType({n: names for n, (_, names) in _SETTABLE.items()})


def checked_options(strategy: str, given: Mapping[str, object]) -> dict[str, Any]:
    """The settings given, each valid. Raises :class:`StrategyUnavailable` saying which is not, or is none."""
    kind, names = _SETTABLE.get(strategy, (StrategyOptions, ()))
    unknown = sorted(set(given) - set(names))
    if unknown:
        known = f"it has {', '.join(names)}" if names else "it has none"
        raise StrategyUnavailable(f"Strategy '{strategy}' has no setting {', '.join(unknown)}; {known}.")
    return valid_options(kind, given).model_dump(mode="json", include=set(given))


#: Tokens of a passage with its fence, of a prompt without passages, and of what is written about a passage. Round
#: figures for an estimate (``python -m tests.bench prompts`` counts them): a passage is cut at 120 words.
PASSAGE_TOKENS, PROMPT_TOKENS, REPLY_TOKENS, ANSWER_TOKENS = 220, 700, 60, 400
#: The arbiter's prompt has worked examples, and each of its passages gets a quotation and a counter-argument.
ARBITER_PROMPT_TOKENS, ARBITER_REPLY_TOKENS = 2_200, 100


@dataclass(frozen=True, slots=True)
class CallPlan:
    """The calls that a run makes at most when nothing fails, and the tokens they read and write, roughly."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: CallPlan) -> CallPlan:
        return CallPlan(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


def call_plan(strategy: str, options: Mapping[str, object], *, candidates: int) -> CallPlan:
    """The plan for so many candidates: reading the question, judging, and the answer. Nothing for strategies that
    need no model; r-flow asks about the uncertain alone, which nobody knows before."""
    judging = _judging(strategy, options, candidates)
    if judging is None:
        return CallPlan()
    reading = CallPlan(1, PROMPT_TOKENS, 200)
    return reading + judging + CallPlan(1, PROMPT_TOKENS + 12 * PASSAGE_TOKENS, ANSWER_TOKENS)


def _judging(strategy: str, options: Mapping[str, object], candidates: int) -> CallPlan | None:
    match strategy:
        case "arbiter":
            arbiter = ArbiterOptions.model_validate(dict(options))
            batches = math.ceil(candidates / arbiter.batch)
            orders = 2 if arbiter.two_orders else 1
            return CallPlan(
                orders * batches,
                orders * (batches * ARBITER_PROMPT_TOKENS + candidates * PASSAGE_TOKENS),
                orders * candidates * ARBITER_REPLY_TOKENS,
            ) + CallPlan(*((1, PROMPT_TOKENS, 100) if batches > 1 else ()))
        case "consensus":
            asked = min(candidates, ConsensusOptions.model_validate(dict(options)).k)
            alone = asked * (PROMPT_TOKENS // 2 + PASSAGE_TOKENS)
            # The final predictor's call is the answer's, which the plan counts besides.
            return CallPlan(planned_calls(candidates, asked) - 1, 2 * alone, 2 * asked * REPLY_TOKENS)
        case "pointwise":
            pointwise = PointwiseOptions.model_validate(dict(options))
            asked = min(candidates, pointwise.k)
            return _over(asked, calls=min(asked, pointwise.n), each=8)
        case "multi-criteria" | "multi-criteria-2":
            asked = min(candidates, MultiCriteriaOptions.model_validate(dict(options)).k)
            first = (
                CallPlan(1, 2 * PROMPT_TOKENS, ANSWER_TOKENS)
                if strategy == "multi-criteria-2"
                else CallPlan()
            )
            return first + _over(asked, calls=1)
        case _:
            return None


def _over(candidates: int, *, calls: int, each: int = REPLY_TOKENS) -> CallPlan:
    return CallPlan(calls, calls * PROMPT_TOKENS + candidates * PASSAGE_TOKENS, candidates * each)
