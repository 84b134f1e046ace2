"""Labels as the learning loop reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from django.db.models import CharField, Q
from django.db.models.functions import Cast

from arbitration.contracts import Role
from training.labels import LabelRow, LabelSource, Resolution, resolve
from workbench.documents.models import Collection
from workbench.documents.restrictions import hidden_from
from workbench.review.blindness import of_undecided_card

from .models import Label, Pair
from .sides import question_sides

if TYPE_CHECKING:
    from workbench.accounts.models import User

__all__ = [
    "events_hidden",
    "label_row",
    "label_rows",
    "labels_for_gold",
    "labels_for_training",
    "labels_read",
    "labels_resolved",
    "question_sides",
]

_BATCH = 2000
#: Whose blind word alone is gold: an adjudicator's, and a reviewer's on a card that hid the machine's role.
_SURE = frozenset({LabelSource.ADJUDICATED, LabelSource.APPROVE, LabelSource.OVERRIDE})


def label_rows(
    *, collections: Iterable[Collection] | None = None, only_settled: bool = False
) -> Iterator[LabelRow]:
    """Every label that was not taken back, in the order given; ``label_id`` is the primary key as text.

    ``collections`` limits to those; None means all. ``only_settled`` leaves out what was said of cards that wait for
    somebody's blind decision.
    """
    labels = Label.objects.standing().select_related("collection", "document", "guideline")
    if only_settled:
        labels = labels.exclude(of_undecided_card())
    if collections is not None:
        labels = labels.filter(collection__in=[collection.pk for collection in collections])
    return map(label_row, labels.order_by("id").iterator(chunk_size=_BATCH))


def labels_resolved(*, collections: Iterable[Collection] | None = None) -> Resolution:
    """Which label speaks for each pair, which are overruled and by which, and which annotators dispute."""
    return resolve(label_rows(collections=collections))


def labels_for_training(*, collections: Iterable[Collection] | None = None) -> tuple[LabelRow, ...]:
    """The one label of each pair with the highest authority; disputed pairs are absent.

    Holdout questions are among them: the snapshot leaves them out (``training.snapshot.build_snapshot``).
    """
    return labels_resolved(collections=collections).winners


def labels_for_gold(*, collections: Iterable[Collection] | None = None) -> tuple[LabelRow, ...]:
    """The one label of each pair that may be a yardstick: people's, given without sight of the machine's verdict.

    A pair is gold when a reviewer decided its card blind, when two annotators agree on its binary label, when an
    adjudicator settled it, or when it came with an imported gold set. Whether its question stands in the holdout is for
    ``training.gold.gold_labels`` to say.
    """
    labels = Label.objects.standing().filter(blind=True).exclude(source=LabelSource.LLM.value)
    if collections is not None:
        labels = labels.filter(collection__in=[collection.pk for collection in collections])
    labels = labels.select_related("collection", "document", "guideline", "label_import").order_by("id")
    return _gold_of(
        (label_row(label), _is_of_gold_set(label)) for label in labels.iterator(chunk_size=_BATCH)
    )


def labels_read() -> tuple[Resolution, tuple[LabelRow, ...], int]:
    """``labels_resolved`` and ``labels_for_gold`` of all collections that contribute to the installation's model, from
    one reading of the table, and how many labels the other collections keep: those neither train it nor judge it, and
    overrule no label of a contributing one. What was said of a card that waits for a blind decision comes once the card
    is settled."""
    labels = Label.objects.standing().exclude(of_undecided_card())
    labels = labels.select_related("collection", "document", "guideline", "label_import")
    rows: list[LabelRow] = []
    blind: list[tuple[LabelRow, bool]] = []
    kept = 0
    for label in labels.order_by("id").iterator(chunk_size=_BATCH):
        if not label.collection.contributes_to_training:
            kept += 1
            continue
        row = label_row(label)
        rows.append(row)
        if row.blind and row.source is not LabelSource.LLM:
            blind.append((row, _is_of_gold_set(label)))
    return resolve(rows), _gold_of(blind), kept


def gold_read() -> tuple[LabelRow, ...]:
    labels = Label.objects.standing().filter(blind=True, collection__contributes_to_training=True)
    labels = labels.exclude(source=LabelSource.LLM.value).exclude(of_undecided_card())
    labels = labels.select_related("collection", "document", "guideline", "label_import").order_by("id")
    return _gold_of(
        (label_row(label), _is_of_gold_set(label)) for label in labels.iterator(chunk_size=_BATCH)
    )


def _is_of_gold_set(label: Label) -> bool:
    return label.label_import is not None and label.label_import.is_gold


def _gold_of(blind: Iterable[tuple[LabelRow, bool]]) -> tuple[LabelRow, ...]:
    """The gold among people's blind labels, each with whether it came with an imported gold set."""
    rows: list[LabelRow] = []
    judges: dict[tuple[str, str], set[str]] = {}
    sure: set[tuple[str, str]] = set()
    for row, is_of_gold_set in blind:
        rows.append(row)
        judges.setdefault(row.pair, set()).add(row.judge)
        if row.source in _SURE or is_of_gold_set:
            sure.add(row.pair)
    winners = resolve(rows).winners
    return tuple(row for row in winners if row.pair in sure or len(judges[row.pair]) > 1)


def label_row(label: Label) -> LabelRow:
    """A stored label as the core reads it."""
    return LabelRow(
        label_id=str(label.pk),
        question=label.question,
        candidate=label.passage_key,
        role=Role(label.role),
        source=LabelSource(label.source),
        judge=label.judge,
        created_at=label.created_at,
        collection=label.collection.slug,
        document_type=label.document.document_type,
        guideline_version=str(label.guideline) if label.guideline else "",
        blind=label.blind,
        chance=label.blind_chance,
        seconds=label.seconds,
    )


def events_hidden(user: User) -> Q:
    """The condition for audit events of labels and pairs on documents hidden from the person, because people quote the
    document in their reasons."""
    hidden = hidden_from(user).values("pk")
    labels = Label.objects.filter(document__in=hidden).order_by().values(key=Cast("pk", CharField()))
    pairs = Pair.objects.filter(document__in=hidden).order_by().values(key=Cast("pk", CharField()))
    return Q(object_type="label", object_id__in=labels) | Q(object_type="pair", object_id__in=pairs)
