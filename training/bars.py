"""The bars that keep a promise, from questions that people decided without sight of the machine's verdict.

Every question is decided again with each bar of a ladder, from the fewest cards for people to the most. Conformal risk
control (:mod:`training.risk`) then takes the first bar whose loss on a new question of the same kind is bounded by what
was promised. Discarding loses a question when all its evidence is discarded and nobody is asked; accepting loses the
share of a question's accepted passages that are no evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from arbitration.contracts import Role
from arbitration.decision import Decision, arbitrate
from arbitration.pool import CandidatePool
from arbitration.settings import EngineSettings
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import get_strategy
from training.risk import controlled_risk, fewest_groups, first_controlled, weighted_loss

Floats = npt.NDArray[np.float64]

_ACCEPTED = (Role.PRIMARY, Role.SUPPORTING)


class Decides(StrEnum):
    """What a bar decides without a person."""

    DISCARD = "discard"
    ACCEPT = "accept"


class Measure(StrEnum):
    """What a bar is put on: how many of the nearest passages people are shown at most, the rules' estimate, or the
    probability of the model that serves."""

    NEAREST = "nearest"
    ESTIMATE = "estimate"
    MODEL = "model"


#: The bars that are tried, from the fewest cards to the most; what ships is among them.
LADDERS: Mapping[tuple[Decides, Measure], tuple[float, ...]] = {
    (Decides.DISCARD, Measure.NEAREST): (3, 6, 9, 12, 16, 20, 24, 30, 36, 42, 48, 60, 200),
    (Decides.DISCARD, Measure.ESTIMATE): (
        0.2,
        0.15,
        0.12,
        0.1,
        0.08,
        0.06,
        0.04,
        0.03,
        0.02,
        0.01,
        0.005,
        0.0,
    ),
    (Decides.DISCARD, Measure.MODEL): (0.55, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.0),
    (Decides.ACCEPT, Measure.ESTIMATE): (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0),
    (Decides.ACCEPT, Measure.MODEL): (0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 1.0),
}


def measure_of(decides: Decides, *, has_model: bool, has_late: bool) -> Measure:
    """What the bar is put on, by what serves."""
    if has_model:
        return Measure.MODEL
    return Measure.NEAREST if has_late and decides is Decides.DISCARD else Measure.ESTIMATE


def bar_settings(decides: Decides, measure: Measure, bar: float) -> dict[str, float | int]:
    """The settings of the engine that put a bar to use. Raises ``KeyError`` for a pair without a ladder."""
    _ = LADDERS[decides, measure]
    if measure is Measure.NEAREST:
        return _nearest_settings(int(bar))
    if measure is Measure.ESTIMATE:
        return {"rules_reject" if decides is Decides.DISCARD else "rules_accept": bar}
    return {"reject": bar, "borrowed_reject": bar} if decides is Decides.DISCARD else {"accept": bar}


def shipped_bar(decides: Decides, measure: Measure) -> float:
    """The bar that serves where nobody set one."""
    shipped = EngineSettings()
    if measure is Measure.NEAREST:
        return float(shipped.near_limit)
    if measure is Measure.ESTIMATE:
        return shipped.rules_reject if decides is Decides.DISCARD else shipped.rules_accept
    return shipped.reject if decides is Decides.DISCARD else shipped.accept


def seen_bar(decides: Decides, measure: Measure, bar: float, *, threshold: float | None) -> float:
    """The bar on the scale of the probabilities that cards show: a model's lies where its ``threshold`` puts it."""
    if measure is not Measure.MODEL or threshold is None:
        return bar
    bars = EngineSettings().model_copy(update=bar_settings(decides, measure, bar)).bars(threshold=threshold)
    return bars.reject if decides is Decides.DISCARD else bars.accept


def _nearest_settings(limit: int) -> dict[str, float | int]:
    """Keeping at most so many of the nearest; beyond the shipped limit those with a smaller share of the best too, and
    at the end of the ladder all that was found."""
    shipped = EngineSettings()
    share = shipped.near_share * min(1.0, shipped.near_limit / limit)
    return {"near_limit": limit, "near_share": 0.0 if limit >= shipped.pool_size else share}


#: The chance of a card that was drawn before chances were recorded: the shipped share.
UNRECORDED = 0.1


# --- one question -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DecidedQuestion:
    """A question's candidates, and which of them people decided to be ``evidence`` or ``others``, by candidate id, with
    the ``chances`` with which they were drawn, as far as they are on record."""

    text: str
    pool: CandidatePool
    evidence: frozenset[str]
    others: frozenset[str]
    chances: Mapping[str, float] = field(default_factory=dict)

    def tells(self, decides: Decides) -> bool:
        """Whether it says anything about a bar: what has no evidence loses none, but may accept what is none."""
        return bool(self._counted(decides))

    def weight(self, decides: Decides) -> float:
        """For how many questions it stands: the inverse of the chance that anything of it that counts was drawn."""
        missed = math.prod(1.0 - self.chances.get(name, UNRECORDED) for name in self._counted(decides))
        return 1.0 / (1.0 - missed)

    def _counted(self, decides: Decides) -> frozenset[str]:
        return self.evidence if decides is Decides.DISCARD else self.evidence | self.others


@dataclass(frozen=True, slots=True)
class Replayed:
    """What each bar of a ladder does to one question: ``losses`` in [0, 1] and ``cards`` for people, both (bars,)."""

    losses: Floats
    cards: Floats


def replayed(
    question: DecidedQuestion,
    *,
    decides: Decides,
    measure: Measure,
    services: StrategyServices,
    base: Mapping[str, float | int] | None = None,
) -> Replayed:
    """Decides the question under ``offline`` with each bar. ``base`` are the engine's other settings in use; bars that
    the question was once asked with do not count."""
    ladder = LADDERS[decides, measure]
    pool = question.pool.model_copy(update={"settings": EngineSettings().model_copy(update=dict(base or {}))})
    # The features of a pool do not depend on bars.
    services, strategy = services.measured_once(pool), get_strategy("offline")
    losses, cards = np.zeros(len(ladder)), np.zeros(len(ladder))
    for way, bar in enumerate(ladder):
        settings = pool.settings.model_copy(update=bar_settings(decides, measure, bar))
        asked = pool.model_copy(update={"settings": settings})
        decision = arbitrate(pool=asked, strategy=strategy, services=services)
        lost = (
            lost_unseen(decision, asked, question.evidence)
            if decides is Decides.DISCARD
            else wrongly_accepted(decision, evidence=question.evidence, others=question.others)
        )
        losses[way], cards[way] = float(lost), cards_of(decision)
    return Replayed(losses, cards)


def lost_unseen(decision: Decision, pool: CandidatePool, evidence: frozenset[str]) -> bool:
    """Whether all evidence found is discarded and nobody is asked about any of it, nor to confirm a not-found."""
    verdicts = [verdict for verdict in decision.verdicts if verdict.candidate_id in evidence]
    asks = decision.no_strong_match or (decision.not_found and not pool.absence.proved)
    seen = any(v.role is not Role.DISCARDED or v.needs_person for v in verdicts)
    return bool(verdicts) and not seen and not asks


def wrongly_accepted(decision: Decision, *, evidence: frozenset[str], others: frozenset[str]) -> float:
    """Of the passages accepted with nobody asked that people decided on, the share that is no evidence; 0 of none."""
    accepted = {v.candidate_id for v in decision.verdicts if v.role in _ACCEPTED and not v.needs_person}
    wrong, right = len(accepted & others), len(accepted & evidence)
    return wrong / (wrong + right) if wrong else 0.0


def cards_of(decision: Decision) -> int:
    """How many cards people are asked about."""
    return sum(verdict.needs_person or verdict.role is None for verdict in decision.verdicts)


# --- all of them ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Way:
    """One bar: the share ``lost`` over the groups, the ``bound`` on that of a new question, cards a question."""

    bar: float
    lost: float
    bound: float
    cards: float


@dataclass(frozen=True, slots=True)
class BarCurve:
    """Every bar of a ladder with its effect. ``chosen`` is the place of the one that keeps the promise with the fewest
    cards, ``None`` where none does; ``needed`` groups of questions must be there before any may."""

    ways: tuple[Way, ...]
    chosen: int | None
    questions: int
    groups: int
    needed: int

    @property
    def missing(self) -> int:
        """How many groups of questions are still to be decided before anything can be promised."""
        return max(0, self.needed - self.groups)


def bar_curve(
    found: Sequence[Replayed],
    groups: Sequence[str],
    *,
    ladder: Sequence[float],
    promised: float,
    weights: Sequence[float] | None = None,
) -> BarCurve:
    """The effect of each bar, and the one that keeps the promise; ``weights`` of the questions where they were drawn
    with unequal chances.

    The theorem asks for losses that fall from bar to bar. Where one rises, the cheaper bar counts as no better than the
    dearer one: the paper makes general losses monotone in the same way.
    """
    number = len(set(groups))
    weights = [1.0] * len(found) if weights is None else weights
    raw = np.array([one.losses for one in found]).reshape(len(found), len(ladder))
    losses = np.maximum.accumulate(raw[:, ::-1], axis=1)[:, ::-1]
    cards = np.array([one.cards for one in found]).reshape(len(found), len(ladder))
    bounds = [controlled_risk(losses[:, way], groups, weights) for way in range(len(ladder))]
    ways = tuple(
        Way(
            bar=float(bar),
            lost=weighted_loss(losses[:, way], groups, weights),
            bound=bounds[way],
            cards=float(cards[:, way].mean()) if len(found) else 0.0,
        )
        for way, bar in enumerate(ladder)
    )
    columns = [losses[:, way] for way in range(len(ladder))]
    chosen = first_controlled(columns, groups, alpha=promised, weights=weights)
    return BarCurve(ways, chosen, len(found), number, fewest_groups(promised, weights, groups))
