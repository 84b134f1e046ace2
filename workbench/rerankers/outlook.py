"""What is missing until champion and challenger can be compared, and when it will be there at the pace of now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from training.gate import GatePolicy, Way, is_enough
from training.labels import LabelRow
from training.snapshot import QuestionSides

#: How far back the pace is taken from.
PACE_DAYS = 30


class GoldCounts(NamedTuple):
    """Gold pairs that are evidence, those that are none, and the questions they are of."""

    positives: int
    negatives: int
    questions: int


@dataclass(frozen=True, slots=True)
class GoldOutlook:
    """``way`` is how both sides would be compared now, None where they could not be. ``target`` is what gold is still
    missing for: first cross-validation, then the holdout; None where nothing is. ``have``, ``need`` and ``gained`` (in
    the last 30 days) speak of the target, or of the holdout. ``weeks`` is None where the pace leads nowhere."""

    way: Way | None
    target: Way | None
    have: GoldCounts
    need: GoldCounts
    gained: GoldCounts
    weeks: int | None

    @property
    def counted(self) -> GoldCounts:
        """What counts towards the need: of each, at most what is needed."""
        return GoldCounts(*map(min, self.have, self.need))


def gold_outlook(
    *,
    holdout: Sequence[LabelRow],
    everything: Sequence[LabelRow],
    sides: QuestionSides,
    policy: GatePolicy,
    now: datetime,
) -> GoldOutlook:
    """What the labels of the holdout, and all gold labels, are enough for."""
    in_cross, in_holdout = (_counts(rows, sides) for rows in (everything, holdout))
    needed = {way: GoldCounts(*policy.minima(way)) for way in ("cross_validation", "holdout")}
    crosses = is_enough(in_cross, needed["cross_validation"])
    holds = is_enough(in_holdout, needed["holdout"])
    way: Way | None = "holdout" if holds else "cross_validation" if crosses else None
    target: Way | None = None if holds else "holdout" if crosses else "cross_validation"
    rows, have = (everything, in_cross) if target == "cross_validation" else (holdout, in_holdout)
    need = needed[target or "holdout"]
    earlier = [row for row in rows if row.created_at < now - timedelta(days=PACE_DAYS)]
    gained = GoldCounts(*(a - b for a, b in zip(have, _counts(earlier, sides), strict=True)))
    return GoldOutlook(way, target, have, need, gained, _weeks(have, need, gained) if target else None)


def _counts(rows: Sequence[LabelRow], sides: QuestionSides) -> GoldCounts:
    positives = sum(row.label for row in rows)
    return GoldCounts(positives, len(rows) - positives, len({sides.group(row.question) for row in rows}))


def _weeks(have: GoldCounts, need: GoldCounts, gained: GoldCounts) -> int | None:
    """Weeks until the last of the three is there, at least one; None where one that is missing does not grow."""
    days = 0.0
    for has, needs, gain in zip(have, need, gained, strict=True):
        if has >= needs:
            continue
        if gain <= 0:
            return None
        days = max(days, (needs - has) * PACE_DAYS / gain)
    return max(1, math.ceil(days / 7))


@dataclass(frozen=True, slots=True)
class TrainingWait:
    """What the next training by the schedule still lacks: ``new`` of ``need`` labels since the last one. ``weeks``
    until they are there at the pace of the last 30 days, 0 where they are; None where none comes."""

    new: int
    need: int
    weeks: int | None


def training_waits_for(*, new: int, need: int, gained: int) -> TrainingWait:
    """``gained`` labels came in the last 30 days."""
    missing = need - new
    if missing <= 0:
        return TrainingWait(new, need, 0)
    return TrainingWait(
        new, need, max(1, math.ceil(missing * PACE_DAYS / gained / 7)) if gained > 0 else None
    )


#: Longer than this nobody waits for gold: then a larger blind share is proposed, in steps.
PATIENCE_WEEKS = 8
_STEP, _LEAST_SHARE, _MOST_SHARE = 5, 10, 50


def blind_share_wanted(outlook: GoldOutlook, *, share: float) -> int | None:
    """The blind share, in per cent, that would bring the missing gold within ``PATIENCE_WEEKS``; None where it comes in
    that time, or no share below ``_MOST_SHARE`` would. Gold grows as the share does; where there is none yet, the least
    is proposed."""
    if outlook.target is None or (outlook.weeks is not None and outlook.weeks <= PATIENCE_WEEKS):
        return None
    wanted = 100 * share * (outlook.weeks or 0) / PATIENCE_WEEKS
    rounded = min(_MOST_SHARE, max(_LEAST_SHARE, _STEP * math.ceil(wanted / _STEP - 1e-9)))
    return rounded if rounded > 100 * share else None
