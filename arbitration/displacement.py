"""One passage that pushes out the rest: what a model rejects in its company is for a person.

A passage reaches a model together with others and may speak about them. No wording is looked for here: where a model
keeps few passages and rejects others that rules or reranker put above the noise, those others are not lost without a
person. Nor are they where it keeps a passage that neither rules nor reranker accept: what talks a model into keeping it
may as well talk it out of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from arbitration.contracts import Role
from arbitration.strategies.base import Verdict

KEPT = (Role.PRIMARY, Role.SUPPORTING)
_REJECTED = (Role.TANGENTIAL, Role.DISCARDED)
#: Whoever writes one passage has one passage kept, and perhaps a second that stands beside it. More agree.
FEW = 2


@dataclass(frozen=True, slots=True)
class Displacement:
    """``rejected``: the candidates that a person must see, and why."""

    rejected: dict[str, str]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the run's record says of them."""
        count = len(self.rejected)
        if not count:
            return ()
        what = "1 passage" if count == 1 else f"{count} passages"
        return (f"{what} above the noise rejected beside the few that the model keeps; held for review",)

    @property
    def artefacts(self) -> dict[str, str]:
        """Their number, for whoever shows the run."""
        return {"displaced": str(len(self.rejected))} if self.rejected else {}

    def marked(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """The verdicts, those on ``rejected`` candidates marked for a person."""
        return [
            verdict.for_person(self.rejected[verdict.candidate_id])
            if verdict.candidate_id in self.rejected
            else verdict
            for verdict in verdicts
        ]


def find_displacement(
    verdicts: Sequence[Verdict],
    *,
    above_noise: Callable[[str], bool],
    accepts: Callable[[str], bool],
    groups: Sequence[Collection[str]] = (),
) -> Displacement:
    """What a model rejects although it stands above the noise, where few passages or an unaccepted one are kept.

    ``groups`` are the candidates that were judged in one call; all of the model's are one group besides.
    """
    by_model = [verdict for verdict in verdicts if verdict.decided_by.kind == "llm"]
    rejected: dict[str, str] = {}
    for group in (None, *groups):
        together = [verdict for verdict in by_model if group is None or verdict.candidate_id in group]
        kept = [verdict.candidate_id for verdict in together if verdict.role in KEPT]
        reason = _reason(kept, accepts)
        if reason is None:
            continue
        for verdict in together:
            if verdict.role in _REJECTED and above_noise(verdict.candidate_id):
                rejected.setdefault(verdict.candidate_id, reason)
    return Displacement(rejected)


def _reason(kept: Sequence[str], accepts: Callable[[str], bool]) -> str | None:
    """Why rejections beside the kept passages are for a person; None where they may pass."""
    if not kept:
        return None
    if not all(accepts(identity) for identity in kept):
        return "displaced: above the noise, and the model that rejects it keeps what neither rules nor reranker accept"
    if len(kept) <= FEW:
        return f"displaced: above the noise, and the model rejects it beside the {len(kept)} it keeps"
    return None
