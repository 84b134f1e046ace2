"""Whether people judge alike, and the language models like people, by the core's figures (``training.agreement``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.core.cache import caches
from django.db.models import Max

from arbitration.contracts import Role
from arbitration.evaluation.intervals import Interval
from training.agreement import Agreement, Rating, agreement
from training.labels import LabelRow, LabelSource, resolve
from workbench.accounts.models import User
from workbench.documents.models import Collection

from .models import Label, LabelRetraction
from .selectors import label_rows

#: Of one collection's figures, kept until a label comes or goes.
_KEPT_SECONDS = 24 * 3600
PEOPLE = "people"


@dataclass(frozen=True, slots=True)
class Slice:
    """A model against people on some of the pairs."""

    name: str
    percent: Interval
    alpha: Interval


@dataclass(frozen=True, slots=True)
class ModelAgreement:
    """One model against people. ``is_blind``: people who had not seen its verdict; else reviewers who had.

    ``confusion[i][j]`` counts pairs that people gave role i and the model role j, in role order.
    """

    model: str
    is_blind: bool
    percent: Interval
    kappa: Interval
    alpha: Interval
    confusion: tuple[tuple[int, ...], ...]
    by_role: tuple[Slice, ...]
    by_type: tuple[Slice, ...]
    by_month: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class CollectionAgreement:
    """Annotators among each other, and each model against people. ``names`` gives a judge's name to read."""

    people: Agreement
    models: tuple[ModelAgreement, ...]
    names: dict[str, str]


def collection_agreement(*, collection: Collection) -> CollectionAgreement:
    """The figures of one collection, computed once for each state of its labels; each blind decision brings one."""
    labels = Label.objects.filter(collection=collection).aggregate(last=Max("pk"))["last"] or 0
    taken_back = (
        LabelRetraction.objects.filter(label__collection=collection).aggregate(last=Max("pk"))["last"] or 0
    )
    key = f"labeling.agreement:{collection.pk}:{labels}:{taken_back}"
    found = caches["process"].get(key)
    if not isinstance(found, CollectionAgreement):
        found = _compute(list(label_rows(collections=[collection], only_settled=True)))
        caches["process"].set(key, found, timeout=_KEPT_SECONDS)
    return found


def _compute(rows: Sequence[LabelRow]) -> CollectionAgreement:
    annotators = [row for row in rows if row.source is LabelSource.ANNOTATOR]
    return CollectionAgreement(
        people=agreement(_ratings(annotators)),
        models=tuple(_models(rows, is_blind=True) + _models(rows, is_blind=False)),
        names=names_of({row.judge for row in rows}),
    )


def _ratings(rows: Iterable[LabelRow], *, judge: str | None = None) -> list[Rating]:
    return [Rating(item="|".join(row.pair), judge=judge or row.judge, role=row.role) for row in rows]


def _models(rows: Sequence[LabelRow], *, is_blind: bool) -> list[ModelAgreement]:
    """Each model against the last word of people on the same pairs."""
    human = [row for row in rows if row.source.is_human and row.blind is is_blind]
    people = {row.pair: row for row in resolve(human).winners}
    by_model: dict[str, list[LabelRow]] = defaultdict(list)
    for row in rows:
        if row.source is LabelSource.LLM and row.pair in people:
            by_model[row.judge].append(row)
    return [
        _model(judge, {row.pair: row for row in judged}, people, is_blind=is_blind)
        for judge, judged in sorted(by_model.items())
    ]


Pairs = dict[tuple[str, str], LabelRow]


def _model(judge: str, judged: Pairs, people: Pairs, *, is_blind: bool) -> ModelAgreement:
    together = _against(judged, people, judged)
    (pair,) = together.pairs
    return ModelAgreement(
        model=judge.partition(":")[2],
        is_blind=is_blind,
        percent=pair.percent,
        kappa=pair.kappa,
        alpha=together.alpha,
        # Judges stand in the order of their names; people come first here.
        confusion=pair.confusion if pair.first == PEOPLE else tuple(zip(*pair.confusion, strict=True)),
        by_role=_slices(judged, people, lambda row: row.role.value, order=[role.value for role in Role]),
        by_type=_slices(judged, people, lambda row: row.document_type or "–"),
        by_month=_slices(judged, people, lambda row: f"{row.created_at:%Y-%m}"),
    )


def _slices(
    judged: Pairs, people: Pairs, name_of: Callable[[LabelRow], str], *, order: Sequence[str] = ()
) -> tuple[Slice, ...]:
    """The pairs apart by a property of people's label."""
    parts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for pair in judged:
        parts[name_of(people[pair])].append(pair)
    names = [name for name in order if name in parts] or sorted(parts)
    found = [(name, _against(judged, people, parts[name])) for name in names]
    return tuple(Slice(name, percent=figures.percent, alpha=figures.alpha) for name, figures in found)


def _against(judged: Pairs, people: Pairs, pairs: Iterable[tuple[str, str]]) -> Agreement:
    chosen = list(pairs)
    return agreement(
        [
            *_ratings([people[pair] for pair in chosen], judge=PEOPLE),
            *_ratings([judged[pair] for pair in chosen]),
        ]
    )


def names_of(judges: set[str]) -> dict[str, str]:
    """A name to read for each judge (``Label.judge``). One query."""
    people = {int(judge.removeprefix("person:")): judge for judge in judges if judge.startswith("person:")}
    named = {people[user.pk]: str(user) for user in User.objects.filter(pk__in=list(people))}
    return {judge: judge.partition(":")[2] for judge in judges} | named
