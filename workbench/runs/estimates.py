"""Estimates the language model calls of a question before it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arbitration.adapters.endpoints import Price, Usage
from arbitration.settings import EngineSettings
from arbitration.strategies.settable import CallPlan, call_plan
from workbench.collection_settings.strategy_options import options_for
from workbench.documents.models import Collection
from workbench.infra.model_endpoints import is_local

from .gateway import model_choice
from .prices import price_of
from .strategies import strategy_for


@dataclass(frozen=True, slots=True)
class Estimate:
    """Upper bound on the language model calls of a question. ``cost`` is in USD, None if the price is unknown."""

    strategy: str
    candidates: int
    plan: CallPlan
    cost: float | None


def question_estimate(
    *, collection: Collection, strategy: str = "", given: Mapping[str, object] | None = None
) -> Estimate:
    """Estimates calls and cost of a question for the largest number of candidates a search returns. Raises as
    :func:`options_for` and :func:`.strategies.strategy_for`."""
    strategy = strategy_for(collection=collection, wanted=strategy)
    options = options_for(collection=collection, strategy=strategy, given=given)
    candidates = EngineSettings().pool_size
    plan = call_plan(strategy, options, candidates=candidates)
    price = _price(collection) if plan.calls else Price()
    cost = Usage(plan.input_tokens, 0, plan.output_tokens).cost(price) if price is not None else None
    return Estimate(strategy, candidates, plan, cost)


def _price(collection: Collection) -> Price | None:
    choice = model_choice(collection)
    return price_of(model=choice.model, is_local=is_local(choice.endpoint)) if choice is not None else None
