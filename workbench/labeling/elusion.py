"""How much evidence was missed: the share of a random sample of discarded candidates that people call evidence."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Prefetch
from django.utils.translation import gettext as _

from arbitration.evaluation.intervals import Interval
from training.elusion import missed_rate
from training.labels import resolve
from workbench.documents.models import Collection

from .models import ElusionSample, Label, Pair, PairState
from .selectors import label_row


@dataclass(frozen=True, slots=True)
class ElusionRate:
    """The samples of one question set (or of all questions) together.

    ``drawn`` pairs of a ``population``; ``rate`` is over the ``n`` of them that people have settled.
    """

    name: str
    population: int
    drawn: int
    rate: Interval


def elusion_rates(*, collection: Collection) -> list[ElusionRate]:
    """The rate of missed evidence for each question set that was sampled, with its 95 % interval."""
    samples = ElusionSample.objects.filter(project__collection=collection).select_related("question_set")
    settled = Prefetch("pairs", queryset=Pair.objects.only("pk", "state", "question_hash", "document_id"))
    by_set: dict[int | None, list[ElusionSample]] = {}
    for sample in samples.prefetch_related(settled).order_by("id"):
        by_set.setdefault(sample.question_set_id, []).append(sample)
    return [_rate(collection, rows) for rows in by_set.values()]


def _rate(collection: Collection, samples: list[ElusionSample]) -> ElusionRate:
    pairs = {pair.pk: pair for sample in samples for pair in sample.pairs.all()}
    settled = [pk for pk, pair in pairs.items() if pair.state == PairState.SETTLED]
    missed = _evidence_among(collection, settled)
    question_set = samples[-1].question_set
    return ElusionRate(
        name=question_set.name if question_set else _("All questions"),
        population=samples[-1].population,
        drawn=len(pairs),
        rate=missed_rate(missed=missed, judged=len(settled)),
    )


def _evidence_among(collection: Collection, pair_ids: list[int]) -> int:
    """How many of the pairs people call evidence; the last word of the highest authority counts."""
    standing = Label.objects.standing().select_related("collection", "document", "guideline")
    words = [standing.filter(slot__pair__in=pair_ids), standing.filter(adjudication__pair__in=pair_ids)]
    rows = [label_row(label) for labels in words for label in labels]
    return sum(row.label for row in resolve(rows).winners)
