"""The bar that keeps a collection's promise, computed from its own decided questions.

Only what people decided without sight of the machine's role counts, and what an adjudicator settled: an approval given
with the verdict in view would make the machine look right. Questions that the serving model learned from are left out,
and questions in nearly the same words are one. Nothing of another collection is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from pydantic import ValidationError

from arbitration.errors import ArbitrationError
from arbitration.pool import CandidatePool
from training.bars import (
    LADDERS,
    BarCurve,
    DecidedQuestion,
    Decides,
    Measure,
    Replayed,
    bar_curve,
    measure_of,
    replayed,
    seen_bar,
    shipped_bar,
)
from training.labels import LabelSource
from training.snapshot import QuestionSides
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.collection_settings.bars import bars_in_use, engine_changes, proposal_unsaved
from workbench.collection_settings.models import BarProposal, BarState
from workbench.collection_settings.services import proposal_create
from workbench.documents.embedding import active_space
from workbench.documents.models import Collection
from workbench.errors import WorkbenchError
from workbench.infra.leases import LeaseLost, lease_claim, lease_free, leased, new_owner
from workbench.infra.storable import storable
from workbench.labeling.models import Label
from workbench.rerankers.champion import ServedModel, champion_model
from workbench.rerankers.models import ModelVersion, SnapshotLabel
from workbench.review.blindness import of_undecided_card
from workbench.runs.models import RunPool, RunStatus
from workbench.runs.reranking import reranker_state, reranking_services

from .calibration import NothingToLearn, calibration_of_collection

logger = structlog.get_logger(__name__)

#: The newest so many runs are replayed: enough for any promise, and minutes at most.
MOST_RUNS = 500
#: A request whose message should have arrived long ago.
LOST_AFTER = timedelta(seconds=10)

Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class DecidedRun:
    """What people decided of one run's candidates, by candidate id of its list, and with which chance each was drawn to
    be decided blind, where that is on record."""

    run_id: int
    question: str
    roles: dict[str, bool] = field(default_factory=dict)
    chances: dict[str, float] = field(default_factory=dict)

    def on(self, pool: CandidatePool) -> DecidedQuestion:
        """The decisions on their list."""
        evidence = frozenset(name for name, is_evidence in self.roles.items() if is_evidence)
        others = frozenset(self.roles) - evidence
        return DecidedQuestion(self.question, pool, evidence, others, self.chances)


@dataclass(frozen=True, slots=True)
class Computed:
    """A curve and what it holds for: ``reranker`` names what served, ``threshold`` is the model's, ``learned`` counts
    the questions that were left out because it learned from them."""

    curve: BarCurve
    measure: Measure
    reranker: str
    threshold: float | None
    learned: int


def decided_runs(*, collection: Collection) -> list[DecidedRun]:
    """The newest runs of the collection with decisions that count, the newest first."""
    counts = Q(source=LabelSource.ADJUDICATED.value) | Q(
        source__in=[LabelSource.APPROVE.value, LabelSource.OVERRIDE.value], blind=True
    )
    labels = (
        Label.objects.standing()
        .filter(counts, collection=collection, candidate__run__status=RunStatus.DONE)
        .exclude(of_undecided_card())
        .select_related("candidate__run__question")
        .order_by("id")
    )
    best: dict[int, Label] = {}
    for label in labels.iterator(chunk_size=2000):
        assert label.candidate is not None
        known = best.get(label.candidate.pk)
        if known is None or _authority(label) >= _authority(known):
            best[label.candidate.pk] = label
    runs: dict[int, DecidedRun] = {}
    for label in best.values():
        assert label.candidate is not None
        run = label.candidate.run
        decided = runs.setdefault(run.pk, DecidedRun(run.pk, run.question.text))
        decided.roles[label.candidate.candidate_id] = bool(label.binary_label)
        if label.blind_chance is not None:
            decided.chances[label.candidate.candidate_id] = label.blind_chance
    return [runs[key] for key in sorted(runs, reverse=True)][:MOST_RUNS]


def _authority(label: Label) -> int:
    return LabelSource(label.source).authority


def bar_compute(
    *, collection: Collection, decides: Decides, promised: float, tell: Tell = lambda done, total: None
) -> Computed:
    """Replays every decided question with each bar. ``tell`` is told how many of how many are done."""
    served, state = champion_model(), reranker_state()
    every = decided_runs(collection=collection)
    sides = QuestionSides.of([run.question for run in every])
    learned = _groups_learned(served, sides)
    fit = [run for run in every if sides.group(run.question) not in learned]
    base = engine_changes(collection=collection, without=decides)
    services = reranking_services()
    found: list[Replayed] = []
    groups: list[str] = []
    weights: list[float] = []
    has_late: bool | None = None
    for done, run in enumerate(fit):
        tell(done, len(fit))
        pool = _pool_of(run)
        if pool is None:
            continue
        here = any(candidate.signals.late is not None for candidate in pool.candidates)
        has_late = here if has_late is None else has_late
        question = run.on(pool)
        # A list from before the encoder gave vectors of tokens says nothing of the bars that serve now.
        if here is not has_late or not question.tells(decides):
            continue
        measure = measure_of(decides, has_model=served is not None, has_late=has_late)
        found.append(replayed(question, decides=decides, measure=measure, services=services, base=base))
        groups.append(sides.group(run.question))
        weights.append(question.weight(decides))
    tell(len(fit), len(fit))
    measure = measure_of(decides, has_model=served is not None, has_late=has_late is not False)
    ladder = LADDERS[decides, measure]
    curve = bar_curve(found, groups, ladder=ladder, promised=promised, weights=weights)
    threshold = served.threshold if served else None
    return Computed(curve, measure, state, threshold, len(every) - len(fit))


def _groups_learned(served: ServedModel | None, sides: QuestionSides) -> set[str]:
    """The groups that hold a question which the serving model was trained on."""
    if served is None:
        return set()
    snapshot = ModelVersion.objects.filter(number=served.number).values_list("snapshot_id", flat=True).first()
    labels = SnapshotLabel.objects.filter(snapshot_id=snapshot) if snapshot else SnapshotLabel.objects.none()
    texts = sorted(set(labels.values_list("label__question", flat=True)))
    for text in texts:
        sides.add(text)
    return {sides.group(text) for text in texts}


def _pool_of(run: DecidedRun) -> CandidatePool | None:
    """The run's list, where it is still kept and was made with the embedder in use."""
    body = RunPool.objects.filter(run=run.run_id).values_list("body", flat=True).first()
    if body is None:
        return None
    try:
        pool = CandidatePool.model_validate(body)
    except ValidationError:  # written by an engine whose records had another shape
        return None
    return pool if pool.embedding_space in (None, active_space().name) else None


# --- a proposal -------------------------------------------------------------------------------------


def bar_propose(
    *, actor: User, collection: Collection, decides: Decides, promised: float, tell: Tell
) -> BarProposal:
    """Computes at once, for a command. Raises :class:`WorkbenchError` for a share out of range."""
    proposal = proposal_unsaved(actor=actor, collection=collection, decides=decides, promised=promised)
    computed = bar_compute(collection=collection, decides=decides, promised=promised, tell=tell)
    with transaction.atomic():
        for name, value in _values(proposal, computed).items():
            setattr(proposal, name, value)
        proposal.save(force_insert=True)
        proposal.refresh_from_db()
        _record(proposal, actor)
    return proposal


def bars_compute(*, proposal_id: int) -> None:
    """Computes what an admin asked for. Safe to repeat: it is computed once, and a lost worker's is begun anew."""
    rows = BarProposal.objects.filter(pk=proposal_id)
    owner = new_owner()
    if not lease_claim(rows.filter(state=BarState.WAITING), owner=owner):
        return
    with leased(rows, owner=owner) as heartbeat:
        proposal = rows.select_related("collection", "requested_by").get()

        def tell(done: int, total: int) -> None:
            heartbeat.check()
            rows.update(done=done, total=total)

        try:
            if proposal.attempts > settings.MAX_ATTEMPTS:
                raise WorkbenchError(
                    _("This stopped its worker three times and was given up. Request it again.")
                )
            computed = bar_compute(
                collection=proposal.collection,
                decides=Decides(proposal.decides),
                promised=proposal.promised,
                tell=tell,
            )
            heartbeat.check()
            _end(proposal, owner, **_values(proposal, computed))
            if proposal.decides == Decides.DISCARD:
                _gates_propose(proposal)
        except LeaseLost:
            return
        except (WorkbenchError, ArbitrationError) as error:
            _end(proposal, owner, state=BarState.FAILED, failure=storable(str(error)))
        except Exception as error:
            # Nothing fails silently: whatever it was stands on the page, and the log has the rest.
            logger.exception("bars.failed", proposal=proposal.pk)
            failure = _("An error of the program stopped this: %(kind)s. The log says more.")
            _end(proposal, owner, state=BarState.FAILED, failure=failure % {"kind": type(error).__name__})
            raise


def _gates_propose(proposal: BarProposal) -> None:
    """The thresholds of r-flow come along, from every decision: a collection's admin needs no shell for them."""
    try:
        gates = calibration_of_collection(collection=proposal.collection)
        source = _("decisions in %(name)s") % {"name": proposal.collection.slug}
        proposal_create(
            actor=proposal.requested_by, collection=proposal.collection, calibration=gates, source=source
        )
    except (NothingToLearn, WorkbenchError) as error:
        logger.info("gates.not_proposed", proposal=proposal.pk, reason=str(error))


def bars_to_wake() -> list[int]:
    """Keys of computations whose message was lost or whose worker is gone."""
    lost = Now() - LOST_AFTER
    rows = BarProposal.objects.filter(lease_free(), state=BarState.WAITING, created_at__lt=lost)
    return list(rows.order_by("pk").values_list("pk", flat=True)[:100])


def _end(proposal: BarProposal, owner: str, **values: Any) -> None:
    with transaction.atomic():
        rows = BarProposal.objects.filter(pk=proposal.pk, lease_owner=owner, state=BarState.WAITING)
        if not rows.update(**{"finished_at": Now(), **values}):
            raise LeaseLost
        proposal.refresh_from_db()
        _record(proposal, User.objects.system())


def _values(proposal: BarProposal, computed: Computed) -> dict[str, Any]:
    curve, decides = computed.curve, Decides(proposal.decides)

    def seen(bar: float) -> float:
        return round(seen_bar(decides, computed.measure, bar, threshold=computed.threshold), 6)

    ways = [
        {
            "bar": way.bar,
            "seen": seen(way.bar),
            "lost": round(way.lost, 6),
            "bound": round(way.bound, 6),
            "cards": round(way.cards, 4),
        }
        for way in curve.ways
    ]
    return {
        "state": BarState.READY,
        "finished_at": Now(),
        "measure": computed.measure.value,
        "space": active_space().name,
        "reranker": computed.reranker,
        "questions": curve.questions,
        "groups": curve.groups,
        "needed": curve.needed,
        "learned": computed.learned,
        "bar": None if curve.chosen is None else curve.ways[curve.chosen].bar,
        "in_use": _in_use(proposal.collection, decides, computed.measure),
        "ways": ways,
    }


def _in_use(collection: Collection, decides: Decides, measure: Measure) -> float:
    row = bars_in_use(collection=collection).filter(decides=decides, measure=measure).first()
    return row.bar if row else shipped_bar(decides, measure)


def _record(proposal: BarProposal, actor: User) -> None:
    audit_record(
        actor=actor,
        action=Action.RISK_COMPUTED,
        obj=proposal,
        after={
            "decides": proposal.decides,
            "promised": proposal.promised,
            "state": proposal.state,
            "measure": proposal.measure,
            "bar": proposal.bar,
            "questions": proposal.groups,
            "needed": proposal.needed,
        },
        reason=proposal.failure[:300],
    )
