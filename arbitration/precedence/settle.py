"""Roles by precedence: the rule in force is primary and stands first, what it replaces is supporting, both with why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arbitration.contracts import DecidedBy, Role
from arbitration.pool import CandidatePool, Precedence
from arbitration.strategies.base import Verdict

_ARTEFACT = "precedence"
_DECIDED = DecidedBy(kind="rule", name="precedence", version="1")
_KEPT = (Role.PRIMARY, Role.SUPPORTING)
_NO_SUCCESSOR = "precedence: the text is over and nothing that follows it was found"
_MODEL_PARTS = "precedence: the model treats as in force what another text replaces"


@dataclass(frozen=True, slots=True)
class Settled:
    """The verdicts in their new order, and the pairs that were used."""

    verdicts: tuple[Verdict, ...]
    used: tuple[Precedence, ...] = ()

    @property
    def artefacts(self) -> dict[str, str]:
        """The pairs for the record, as JSON."""
        if not self.used:
            return {}
        return {_ARTEFACT: json.dumps([one.model_dump() for one in self.used], ensure_ascii=False)}


def precedence_of(artefacts: Mapping[str, str]) -> tuple[Precedence, ...]:
    """The pairs that a decision used, from its artefacts."""
    return tuple(Precedence.model_validate(one) for one in json.loads(artefacts.get(_ARTEFACT, "[]")))


def settled(verdicts: Sequence[Verdict], pool: CandidatePool) -> Settled:
    """The verdicts after precedence. A pair counts where either text is kept; a text that seems to give orders
    replaces nothing, and neither does one that says nothing of what is asked."""
    ordered = {verdict.candidate_id: verdict for verdict in verdicts}
    place = {verdict.candidate_id: float(number) for number, verdict in enumerate(verdicts)}
    used = []
    for one in pool.precedence:
        if _is_used(one, ordered):
            used.append(one)
            _settle(one, ordered, place)
    changed = sorted(ordered.values(), key=lambda verdict: place[verdict.candidate_id])
    return Settled(tuple(changed), tuple(used))


def _is_used(one: Precedence, verdicts: Mapping[str, Verdict]) -> bool:
    under = verdicts.get(one.replaced_id)
    over = verdicts.get(one.in_force_id or "")
    if under is None or under.decided_by.kind == "baseline" or (one.in_force_id and over is None):
        return False
    if over is not None and (over.injection_suspected or over.role is Role.DISCARDED):
        return False
    return under.role in _KEPT or (over is not None and over.role in _KEPT)


def _settle(one: Precedence, verdicts: dict[str, Verdict], place: dict[str, float]) -> None:
    under, over = verdicts[one.replaced_id], verdicts.get(one.in_force_id or "")
    if not under.may_be_revised or (over is not None and not over.may_be_revised):
        if under.role is Role.PRIMARY:
            verdicts[one.replaced_id] = under.for_person(f"{_MODEL_PARTS} ({one.reason})")
        return
    if over is not None:
        verdicts[over.candidate_id] = _in_force(over, one)
        ahead = place[under.candidate_id] - 0.5 / (1 + len(verdicts))
        place[over.candidate_id] = min(place[over.candidate_id], ahead)
    verdicts[under.candidate_id] = _replaced(under, one)


def _in_force(verdict: Verdict, one: Precedence) -> Verdict:
    if verdict.decided_by == _DECIDED and verdict.role is Role.PRIMARY:
        return verdict
    return _changed(verdict, Role.PRIMARY, one.in_force_reason)


def _replaced(verdict: Verdict, one: Precedence) -> Verdict:
    changed = _changed(verdict, Role.SUPPORTING, one.reason)
    return changed if one.in_force_id else changed.for_person(_NO_SUCCESSOR)


def _changed(verdict: Verdict, role: Role, why: str) -> Verdict:
    """The verdict in its new role."""
    changes: dict[str, object] = {"reason": f"{why} {verdict.reason}".strip()}
    if verdict.role is not role:
        changes |= {"role": role, "decided_by": _DECIDED}
    settled = verdict.without_uncertainty() if verdict.role is Role.TANGENTIAL is not role else verdict
    return settled.model_copy(update=changes)
