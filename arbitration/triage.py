"""Triage before any language model: gates, the reranker's probability, and who is left for a judge.

Rules and figures are those of engines.md, section 2. Every candidate gets a probability; gates only decide who
needs a judge, and what the reranker accepts is never removed by a later threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

from arbitration.features import FEATURE_NAMES
from arbitration.pool import CandidatePool

Unit = Annotated[float, Field(ge=0.0, le=1.0)]
Bias = Annotated[float, Field(ge=-1.0, le=1.0)]

#: A gate may reject only where calibration lost less than this share of the evidence.
MAX_EVIDENCE_LOST = 0.01
#: Share of the candidates a calibrated accept gate passes that must be evidence.
ACCEPT_PRECISION = 0.90
#: Cosine from which two questions count as the same in other words, measured for the shipped encoder (docs/adr/0010).
SAME_IN_OTHER_WORDS = 0.90
_MIN_ACCEPTED = 20  # evidence behind an accept gate, else it stays shut
_SHUT = 1.0

GateZone = Literal["accept", "verify", "reject"]
Route = Literal["accept", "reject", "judge"]
Decider = Literal["pattern", "gate", "reranker"]


class GateProfile(BaseModel):
    """Thresholds of one collection, on the cosine scale of one embedding space; all in [0, 1].

    ``minimum``, ``verify``, ``accept`` and ``gap`` are the gates. A keyword score counts from ``keyword``, a named
    section or alias from ``alias``. ``query`` is the cosine from which another wording is linked as the same question;
    only an answer at or above ``confident`` is kept for reuse. ``bias`` adds to the candidates of a section title.
    ``evidence_lost`` is the share of the evidence that calibration saw rejected, ``None`` if never calibrated.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = "uncalibrated"
    embedding_space: str | None = None
    minimum: Unit = 0.65
    verify: Unit = 0.70
    accept: Unit = 0.85
    gap: Unit = 0.20
    keyword: Unit = 0.70
    query: Unit = 0.65
    alias: Unit = 0.85
    confident: Unit = 0.85
    bias: dict[str, Bias] = Field(default_factory=dict)
    evidence_lost: Unit | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.minimum > self.accept:
            raise ValueError("the minimum lies above the accept gate; lower it or raise the gate")
        if self.verify > self.accept:
            raise ValueError("the verify gate lies above the accept gate; lower it or raise the accept gate")
        return self

    @property
    def may_reject(self) -> bool:
        """Whether the gates have shown on labels that they lose almost no evidence."""
        return self.evidence_lost is not None and self.evidence_lost < MAX_EVIDENCE_LOST


#: The figures ARF published for its own encoder. Cosine scales differ: for comparison, not for other encoders.
VOYAGE_3_LARGE = GateProfile(name="voyage-3-large", embedding_space="voyage-3-large")


@dataclass(frozen=True, slots=True)
class GateInput:
    """What the gates look at: cosine, keyword score in [0, 1], and the bias of its section."""

    semantic: float
    keyword: float = 0.0
    bias: float = 0.0


def total_score(candidate: GateInput, profile: GateProfile) -> float:
    """max(semantic, keyword score if it counts) + bias."""
    counts = candidate.keyword if candidate.keyword >= profile.keyword else 0.0
    return max(candidate.semantic, counts) + candidate.bias


def gate_zones(candidates: Sequence[GateInput], profile: GateProfile) -> list[GateZone]:
    """The zone of each candidate: accept from ``accept`` with a cosine of at least ``minimum``, verify from
    ``verify``, else reject; then what is more than ``gap`` below the top is rejected too."""
    totals = [total_score(candidate, profile) for candidate in candidates]
    top = max(totals, default=0.0)
    return [
        _zone(candidate.semantic, total, top, profile)
        for candidate, total in zip(candidates, totals, strict=True)
    ]


def _zone(semantic: float, total: float, top: float, profile: GateProfile) -> GateZone:
    if top - total > profile.gap:
        return "reject"
    if total >= profile.accept and semantic >= profile.minimum:
        return "accept"
    return "verify" if total >= profile.verify else "reject"


def gate_inputs(pool: CandidatePool, profile: GateProfile) -> list[GateInput]:
    """What the gates look at, for each candidate in the pool's order. The keyword score is the weighted share of
    the question's keywords in the anchor. A passage the embedder did not return is at most as close as the last
    one it did, and counts as that close: no gate rejects for what was not measured."""
    known = [c.signals.semantic for c in pool.candidates if c.signals.semantic is not None]
    unseen = max(0.0, min(known, default=0.0))
    return [
        GateInput(
            semantic=unseen if candidate.signals.semantic is None else candidate.signals.semantic,
            keyword=candidate.signals.coverage if candidate.signals.keyword_match else 0.0,
            bias=profile.bias.get(candidate.section_title or "", 0.0),
        )
        for candidate in pool.candidates
    ]


@dataclass(frozen=True, slots=True)
class Triaged:
    """Where a candidate goes and who sent it there."""

    route: Route
    by: Decider
    zone: GateZone


def triage(
    *,
    zone: GateZone,
    probability: float,
    named: float,
    profile: GateProfile,
    accept: float = 0.60,
    reject: float = 0.40,
) -> Triaged:
    """The route of one candidate.

    A section the question names (``named``: pattern score) goes straight through. Otherwise p >= ``accept``
    accepts and p <= ``reject`` rejects; between them the gates decide where they are sure, and a judge where
    they are not. A gate that accepts what the reranker rejects is a disagreement, and goes to the judge.
    """
    if named >= profile.alias:
        return Triaged("accept", "pattern", zone)
    if zone == "accept":
        return Triaged("accept", "gate", zone) if probability > reject else Triaged("judge", "reranker", zone)
    if probability >= accept:
        return Triaged("accept", "reranker", zone)
    if zone == "reject" and profile.may_reject:
        return Triaged("reject", "gate", zone)
    return Triaged("reject" if probability <= reject else "judge", "reranker", zone)


#: The feature that is blended with the probability. The weight is tuned on this one, so it is served on no other.
BLEND_FEATURE = "semantic_score"
_BLENDED = FEATURE_NAMES.index(BLEND_FEATURE)


def blended(
    features: npt.NDArray[np.float64], probabilities: npt.NDArray[np.float64], *, weight: float
) -> npt.NDArray[np.float64]:
    """``weight`` * semantic + (1 - ``weight``) * p of each row; training and serving both rank by it. ARF ranks with
    weight .4; our weight is chosen on validation questions."""
    return weight * features[:, _BLENDED] + (1.0 - weight) * probabilities


VERIFIER_ACCEPTS = 5
VERIFIER_SCALE = 9


def verifier_accepts(score: int) -> bool:
    """Whether the verifier's 0-9 score accepts: 5 and above do, 4 and below reject."""
    return score >= VERIFIER_ACCEPTS


def verified_score(base: float, score: int) -> float:
    """The base score times .5 + score / 9, capped at 1. It only reorders, it never accepts or rejects."""
    return min(1.0, base * (0.5 + score / VERIFIER_SCALE))


# --- calibration ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LabelledGateInput:
    """A candidate of a labelled question: what the gates see of it, and whether it is evidence."""

    question: str
    candidate: GateInput
    is_evidence: bool


@dataclass(frozen=True, slots=True)
class GateCalibration:
    """The proposed profile and what it does to the labels it was fitted on."""

    profile: GateProfile
    questions: int
    evidence: int
    evidence_lost: float
    rejected_share: float
    accepted_share: float
    accepted_precision: float | None


def calibrate_gates(
    samples: Sequence[LabelledGateInput], *, base: GateProfile, name: str, embedding_space: str
) -> GateCalibration:
    """Gates from labels: the highest ``verify`` and smallest ``gap`` that together reject less than 1 % of the
    evidence, and the lowest ``accept`` above which at least 90 % is evidence (else the gate stays shut).

    Raises ``ValueError`` without any evidence in the samples.
    """
    table = _GateTable.of(samples, base)
    if not table.evidence.any():
        raise ValueError("no labelled evidence among the candidates; label some before calibrating gates")
    verify, gap = table.rejecting_gates()
    accept = max(verify, table.accept_gate())
    minimum = min(accept, table.minimum_gate(accept))
    profile = base.model_copy(
        update={
            "name": name,
            "embedding_space": embedding_space,
            "verify": verify,
            "gap": gap,
            "accept": accept,
            "minimum": minimum,
        }
    )
    return table.calibration(GateProfile.model_validate(profile.model_dump()))


@dataclass(frozen=True, slots=True)
class _GateTable:
    questions: npt.NDArray[np.intp]
    semantic: npt.NDArray[np.float64]
    totals: npt.NDArray[np.float64]
    evidence: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, samples: Sequence[LabelledGateInput], base: GateProfile) -> _GateTable:
        numbers: dict[str, int] = {}
        return cls(
            np.array([numbers.setdefault(s.question, len(numbers)) for s in samples], dtype=np.intp),
            np.array([s.candidate.semantic for s in samples], dtype=np.float64),
            np.array([total_score(s.candidate, base) for s in samples], dtype=np.float64),
            np.array([s.is_evidence for s in samples], dtype=np.bool_),
        )

    @property
    def below_top(self) -> npt.NDArray[np.float64]:
        """How far each candidate is below the best of its question."""
        tops = np.full(self.questions.max() + 1, -np.inf)
        np.maximum.at(tops, self.questions, self.totals)
        return np.asarray(tops[self.questions] - self.totals)

    def rejecting_gates(self) -> tuple[float, float]:
        """The pair (verify, gap) that rejects most, losing less than 1 % of the evidence together."""
        totals, below = self.totals[self.evidence], self.below_top[self.evidence]
        allowed = int(np.ceil(MAX_EVIDENCE_LOST * len(totals))) - 1  # strictly less than the share
        pairs = [
            _gates_losing(totals, below, by_total, allowed - by_total) for by_total in range(allowed + 1)
        ]
        return max(pairs, key=lambda pair: self._rejected(*pair))

    def _rejected(self, verify: float, gap: float) -> int:
        return int(((self.totals < verify) | (self.below_top > gap)).sum())

    def accept_gate(self) -> float:
        """The lowest total from which on at least 90 % is evidence; shut when there is none."""
        order = np.argsort(-self.totals, kind="stable")
        evidence = np.cumsum(self.evidence[order])
        precise = (evidence / np.arange(1, len(order) + 1) >= ACCEPT_PRECISION) & (evidence >= _MIN_ACCEPTED)
        if not precise.any():
            return _SHUT
        return _rounded_up(float(self.totals[order][np.flatnonzero(precise)[-1]]))

    def minimum_gate(self, accept: float) -> float:
        """The least cosine of the evidence that the accept gate passes. A shut gate asks for a cosine of 1 too:
        the keyword score alone reaches a total of 1."""
        if accept >= _SHUT:
            return _SHUT
        passed = self.semantic[self.evidence & (self.totals >= accept)]
        return _rounded_down(float(np.quantile(passed, 0.01))) if len(passed) else accept

    def calibration(self, profile: GateProfile) -> GateCalibration:
        rejected = (self.totals < profile.verify) | (self.below_top > profile.gap)
        accepted = ~rejected & (self.totals >= profile.accept) & (self.semantic >= profile.minimum)
        lost = float((rejected & self.evidence).sum() / self.evidence.sum())
        return GateCalibration(
            profile=profile.model_copy(update={"evidence_lost": lost}),
            questions=int(self.questions.max()) + 1,
            evidence=int(self.evidence.sum()),
            evidence_lost=lost,
            rejected_share=float(rejected.mean()),
            accepted_share=float(accepted.mean()),
            accepted_precision=float(self.evidence[accepted].mean()) if accepted.any() else None,
        )


def _gates_losing(
    totals: npt.NDArray[np.float64], below: npt.NDArray[np.float64], by_total: int, by_gap: int
) -> tuple[float, float]:
    """The gates that lose at most so many of the evidence each."""
    verify = float(np.sort(totals)[by_total])
    gap = float(np.sort(below)[len(below) - 1 - by_gap])
    return _rounded_down(verify), _rounded_up(gap)


def _rounded_down(value: float) -> float:
    return float(np.clip(np.floor(value * 1000) / 1000, 0.0, 1.0))


def _rounded_up(value: float) -> float:
    return float(np.clip(np.ceil(value * 1000) / 1000, 0.0, 1.0))


#: No calibration, no opinion: everything is verified.
OPEN_GATES = GateProfile(
    name="open", minimum=_SHUT, verify=0.0, accept=_SHUT, gap=1.0, query=SAME_IN_OTHER_WORDS
)
