"""The labels of a collection as a table: one row a pair, one column a judge, and the label that counts."""

from __future__ import annotations

from collections import defaultdict

from training.labels import LabelRow, LabelSource, resolve
from workbench.accounts.models import User
from workbench.documents.models import Collection
from workbench.infra.exports import csv_text
from workbench.review.blindness import require_sight_of_collection

from .agreement import names_of
from .models import Label
from .selectors import label_row

PLACE = ("question", "document", "page", "line_from", "page_to", "line_to")
FINAL = ("role", "label", "source", "disputed")


def labels_csv(*, actor: User, collection: Collection) -> str:
    """Question and place of every pair, the role and label that count, and what each judge said. Safe to open.

    Raises :class:`DecideFirst` for a person who decides blind on a card of the collection.
    """
    require_sight_of_collection(user=actor, collection=collection)
    labels = Label.objects.standing().filter(collection=collection).order_by("id")
    stored = {str(label.pk): label for label in labels.select_related("collection", "document", "guideline")}
    rows = [label_row(label) for label in stored.values()]
    resolution = resolve(rows)
    final = {row.pair: row for row in resolution.winners}
    disputed = {row.pair for row in resolution.disputed}
    by_pair: dict[tuple[str, str], dict[str, LabelRow]] = defaultdict(dict)
    for row in rows:
        by_pair[row.pair][_column(row)] = row
    names = names_of({row.judge for row in rows})
    columns = sorted({(_column(row), row.judge, row.source) for row in rows}, key=lambda column: column[0])
    header = [*PLACE, *FINAL, *(_heading(names[judge], source) for _, judge, source in columns)]
    return csv_text(
        header=header,
        rows=(
            [
                *_place(stored[next(iter(judged.values())).label_id]),
                *_final(final.get(pair), is_disputed=pair in disputed),
                *(judged[key].role.value if key in judged else "" for key, _, _ in columns),
            ]
            for pair, judged in by_pair.items()
        ),
    )


def _column(row: LabelRow) -> str:
    """A person has a column as annotator and another as adjudicator: the two are different words."""
    kind = "reviewer" if row.source in (LabelSource.OVERRIDE, LabelSource.APPROVE) else row.source.value
    return f"{row.judge} {kind}"


def _heading(name: str, source: LabelSource) -> str:
    if source in (LabelSource.ANNOTATOR, LabelSource.LLM):
        return name
    return f"{name} ({'adjudication' if source is LabelSource.ADJUDICATED else 'review'})"


def _place(label: Label) -> list[object]:
    return [
        label.question,
        label.document.name,
        label.page_start,
        label.line_start,
        label.page_end,
        label.line_end,
    ]


def _final(row: LabelRow | None, *, is_disputed: bool) -> list[object]:
    if row is None:
        return ["", "", "", "1" if is_disputed else "0"]
    return [row.role.value, row.label, row.source.value, "0"]
