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
