"""Strategies by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from arbitration.errors import StrategyUnavailable
from arbitration.strategies.arbiter import ArbiterStrategy
from arbitration.strategies.base import Strategy, order_of
from arbitration.strategies.baselines import BASELINES
from arbitration.strategies.consensus import ConsensusStrategy
from arbitration.strategies.multi_criteria import MULTI_CRITERIA, MULTI_CRITERIA_2
from arbitration.strategies.offline import OfflineStrategy
from arbitration.strategies.pointwise import PointwiseStrategy
from arbitration.strategies.r_flow import R_FLOW, R_FLOW_MLP, SEMANTIC_GATES

_ALL: tuple[Strategy, ...] = (
    OfflineStrategy(),
    ArbiterStrategy(),
    R_FLOW,
    ConsensusStrategy(),
    PointwiseStrategy(),
    MULTI_CRITERIA,
    MULTI_CRITERIA_2,
    *BASELINES,
    SEMANTIC_GATES,
    R_FLOW_MLP,
)
_STRATEGIES: dict[str, Strategy] = {strategy.name: strategy for strategy in _ALL}

#: Every strategy there is, by name, in the order they are offered.
STRATEGIES: Mapping[str, Strategy] = MappingProxyType(_STRATEGIES)


def order_by_name(name: str) -> Literal["role", "score"]:
    """What orders the survivors of a strategy; roles, for one that is no longer there."""
    return order_of(_STRATEGIES[name]) if name in _STRATEGIES else "role"


def get_strategy(name: str) -> Strategy:
    """The strategy of this name. Raises :class:`StrategyUnavailable` naming those there are."""
    if name not in _STRATEGIES:
        raise StrategyUnavailable(f"There is no strategy '{name}'; choose one of {', '.join(_STRATEGIES)}.")
    return _STRATEGIES[name]
