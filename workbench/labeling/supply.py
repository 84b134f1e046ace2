"""Where pairs come from: finished runs, and random samples of what the machine discarded."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext as _

from arbitration.evaluation.question_groups import question_hash
from training.snapshot import QuestionSides, Side
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.checklists.models import QuestionSet
from workbench.documents.models import readable
from workbench.errors import WorkbenchError
from workbench.review.blindness import of_undecided_card
from workbench.review.enqueue import disagreement, uncertainty
from workbench.review.selectors import REVIEWS, current_review, effective_role
from workbench.runs.models import Candidate, RoleChoice, RunStatus

from .models import ElusionSample, Pair, PairOrigin, PairState, Project, Slot
from .passages import pair_fields, place_of
from .projects import require_manage
from .selectors import question_sides

#: Candidates of a holdout question that go to two annotators, drawn over all roles.
HOLDOUT_PER_QUESTION = 12
MAX_PAIRS = 2000
#: Candidates looked through for pairs, the newest first.
MAX_LOOKED_AT = 20_000

#: (question hash, document, first page and line, last page and line)
PairKey = tuple[str, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Supplied:
    """How many pairs were added, how many of them go to two people, and how many were there already."""

    added: int
    double: int
    known: int


def pairs_add_from_runs(
    *, actor: User, project: Project, limit: int, question_set: QuestionSet | None = None
) -> Supplied:
    """Adds candidates of finished runs as pairs: the most uncertain, a random share, and of every holdout question a
    random sample over all roles that goes to two people.

    ``limit`` bounds the pairs of training questions. What is a pair of the collection already is not added again.
    """
    require_manage(actor=actor, collection=project.collection)
    limit = max(0, min(limit, MAX_PAIRS))
    sides = question_sides()
    with transaction.atomic():
        candidates = _one_per_pair(_candidates(project, question_set)[:MAX_LOOKED_AT])
        fresh, known = _without_known(project, candidates)
        held_out, others = _by_side(fresh, sides)
        chosen = _chosen(others, limit=limit, random_share=project.random_share)
        pairs = [_pair(project, candidate, is_holdout=True) for candidate in _holdout_sample(held_out)]
        pairs += [_pair(project, candidate, is_holdout=False) for candidate in chosen]
        supplied = pairs_store(project=project, pairs=pairs, known=known)
        if supplied.added or not actor.is_system:  # beat looks every hour; that nothing was new is no event
            _record(actor, project, Action.LABELING_PAIRS_ADDED, supplied)
    return supplied


def projects_to_fill() -> list[int]:
    """Open projects where fewer pairs wait than they are to keep waiting. One query."""
    waiting = Count("pairs", filter=Q(pairs__state=PairState.OPEN) & readable("pairs__document"))
    projects = Project.objects.filter(is_open=True, keep_waiting__gt=0).annotate(waiting=waiting)
    return list(projects.filter(waiting__lt=F("keep_waiting")).order_by("pk").values_list("pk", flat=True))


def project_fill(*, project_id: int) -> Supplied | None:
    """Adds pairs from finished runs until as many wait as the project is to keep waiting; None where enough do.

    One filling of a project at a time; a second one finds nothing left to do.
    """
    with transaction.atomic():
        locked = Project.objects.select_for_update(of=("self",)).select_related("collection")
        project = locked.filter(pk=project_id, is_open=True).first()
        if project is None:
            return None
        waiting = project.pairs.filter(readable("document"), state=PairState.OPEN).count()
        missing = project.keep_waiting - waiting
        if missing <= 0:
            return None
        return pairs_add_from_runs(actor=User.objects.system(), project=project, limit=missing)


def elusion_draw(
    *, actor: User, project: Project, size: int, question_set: QuestionSet | None = None, seed: int
) -> ElusionSample:
    """Draws discarded candidates at random for people to look at, whatever the machine's probability.

    The sample is of different question-passage pairs; one that was labelled already counts with its label. A card that
    waits for a blind decision is neither drawn nor counted: the size of the population would tell its role. Raises
    :class:`WorkbenchError` when nothing was discarded.
    """
    require_manage(actor=actor, collection=project.collection)
    with transaction.atomic():
        population = _one_per_pair(
            candidate
            for candidate in _candidates(project, question_set).exclude(of_undecided_card(candidate="pk"))
            if effective_role(machine_role=candidate.verdict.role, review=current_review(candidate))
            == RoleChoice.DISCARDED
        )
        if not population:
            raise WorkbenchError(_("No finished run here discarded anything yet."), code="nothing_discarded")
        keys = random.Random(seed).sample(sorted(population), min(size, len(population), MAX_PAIRS))  # noqa: S311
        drawn = {key: population[key] for key in keys}
        sides = question_sides()
        fresh, known = _without_known(project, drawn)
        pairs = [
            _pair(
                project,
                candidate,
                is_holdout=_is_held_out(candidate, sides),
                origin=PairOrigin.DISCARDED,
            )
            for candidate in fresh.values()
        ]
        supplied = pairs_store(project=project, pairs=pairs, known=known)
        sample = ElusionSample.objects.create(
            project=project, question_set=question_set, population=len(population), drawn_by=actor
        )
        sample.pairs.set([pair for pair in _known_pairs(project) if pair_key(pair) in drawn])
        _record(
            actor,
            project,
            Action.LABELING_ELUSION_DRAWN,
            supplied,
            sample=sample.pk,
            population=len(population),
        )
    return sample


def pairs_store(*, project: Project, pairs: Sequence[Pair], known: int = 0) -> Supplied:
    """Writes new pairs with their places: two for holdout questions and for the double-coded share, else one. A pair
    that somebody else adds at the same moment is left to them."""
    before = Pair.objects.filter(project=project).count()
    Pair.objects.bulk_create(pairs, ignore_conflicts=True, batch_size=1000)
    stored = list(Pair.objects.filter(project=project, slots__isnull=True))
    slots = [Slot(pair=pair, number=1) for pair in stored]
    second = [Slot(pair=pair, number=2) for pair in stored if is_double(pair, share=project.double_share)]
    Slot.objects.bulk_create([*slots, *second], batch_size=1000)
    added = Pair.objects.filter(project=project).count() - before
    return Supplied(added=added, double=len(second), known=known + len(pairs) - added)


def is_double(pair: Pair, *, share: float) -> bool:
    """Whether two people get the pair: every holdout pair, and a share of the others by hash."""
    return pair.is_holdout or part(f"double:{pair.collection_id}:{pair_key(pair)}") < share


def part(name: str) -> float:
    """A number in [0, 1) that follows from a name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64


def pair_key(pair: Pair) -> PairKey:
    """What makes a pair one of its kind in its collection."""
    return (pair.question_hash, pair.document_id, *pair.scope)


# --- parts ------------------------------------------------------------------------------------------


def _candidates(project: Project, question_set: QuestionSet | None) -> QuerySet[Candidate]:
    candidates = Candidate.objects.filter(
        readable("document"),
        run__collection_id=project.collection_id,
        run__status=RunStatus.DONE,
        verdict__isnull=False,
    )
    if question_set is not None:
        candidates = candidates.filter(run__cells__round__question_set=question_set).distinct()
    return (
        candidates.select_related("verdict", "run__question")
        .defer(
            "features", "ranks", "scores", "whys", "matched_keywords", "run__parsed_question", "run__stages"
        )
        .prefetch_related(REVIEWS)
        .order_by("-run_id", "position")
    )


def _one_per_pair(candidates: Iterable[Candidate]) -> dict[PairKey, Candidate]:
    """The newest candidate of each pair."""
    found: dict[PairKey, Candidate] = {}
    for candidate in candidates:
        found.setdefault(_candidate_key(candidate), candidate)
    return found


def _candidate_key(candidate: Candidate) -> PairKey:
    return (
        question_hash(candidate.run.question.text),
        candidate.document_id,
        candidate.anchor_page_start,
        candidate.anchor_line_start,
        candidate.anchor_page_end,
        candidate.anchor_line_end,
    )


def _known_pairs(project: Project) -> QuerySet[Pair]:
    return Pair.objects.filter(collection_id=project.collection_id)


def _without_known(
    project: Project, candidates: dict[PairKey, Candidate]
) -> tuple[dict[PairKey, Candidate], int]:
    known = {pair_key(pair) for pair in _known_pairs(project).iterator(chunk_size=2000)}
    fresh = {key: candidate for key, candidate in candidates.items() if key not in known}
    return fresh, len(candidates) - len(fresh)


def _is_held_out(candidate: Candidate, sides: QuestionSides) -> bool:
    return sides.side(candidate.run.question.text) is Side.HOLDOUT


def _by_side(
    candidates: dict[PairKey, Candidate], sides: QuestionSides
) -> tuple[list[Candidate], list[Candidate]]:
    held_out: list[Candidate] = []
    others: list[Candidate] = []
    for candidate in candidates.values():
        (held_out if _is_held_out(candidate, sides) else others).append(candidate)
    return held_out, others


def _holdout_sample(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Of each question a fixed number, drawn by hash and so without regard to the machine's role."""
    by_question: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_question[question_hash(candidate.run.question.text)].append(candidate)
    return [
        candidate
        for rows in by_question.values()
        for candidate in sorted(rows, key=_shuffle)[:HOLDOUT_PER_QUESTION]
    ]


def _chosen(candidates: Sequence[Candidate], *, limit: int, random_share: float) -> list[Candidate]:
    """The most uncertain, and a random share of the rest."""
    by_priority = sorted(candidates, key=lambda candidate: (-_priority(candidate), candidate.pk))
    at_random = min(round(limit * random_share), len(by_priority))
    first = by_priority[: max(0, limit - at_random)]
    rest = sorted(by_priority[len(first) :], key=_shuffle)
    return [*first, *rest[:at_random]]


def _priority(candidate: Candidate) -> float:
    """Half uncertainty (p near .5), half disagreement between detectors; in [0, 1]."""
    return 0.5 * uncertainty(candidate.verdict.probability) + 0.5 * disagreement(candidate)


def _shuffle(candidate: Candidate) -> float:
    return part(f"shuffle:{_candidate_key(candidate)}")


def _pair(project: Project, candidate: Candidate, *, is_holdout: bool, origin: str = PairOrigin.RUN) -> Pair:
    shuffle = _shuffle(candidate)
    # A sample is only as good as it is complete: its pairs mix evenly with the uncertain ones.
    is_sampled = is_holdout or origin == PairOrigin.DISCARDED
    return Pair(
        project=project,
        collection_id=project.collection_id,
        **pair_fields(question=candidate.run.question.text, place=place_of(candidate)),
        candidate=candidate,
        origin=origin,
        is_holdout=is_holdout,
        priority=shuffle if is_sampled else round(_priority(candidate), 4),
        shuffle=shuffle,
    )


def _record(actor: User, project: Project, action: str, supplied: Supplied, **more: object) -> None:
    audit_record(
        actor=actor,
        action=action,
        obj=project,
        after={"added": supplied.added, "double": supplied.double, "known": supplied.known, **more},
    )
