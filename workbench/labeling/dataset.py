"""The labels of a collection as a dataset that Hugging Face's ``datasets`` loads: JSON lines beside a card."""

from __future__ import annotations

import io
import json
import zipfile

from django.db import transaction
from django.utils import timezone

from training.labels import LabelRow
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.direction import shown_in_json
from workbench.documents.models import Collection
from workbench.review.blindness import require_sight_of_collection
from workbench.version import version

from .label_studio import Passages
from .models import Label
from .selectors import labels_for_training

FILE = "data/train.jsonl"
_CARD = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: {file}
task_categories:
- text-ranking
- text-classification
size_categories:
- {size}
---

# Labels of {name}

Questions and passages with the role that counts, from the Arbiter Workbench {version}, made on {day}.
{rows} pairs of {questions} questions, {positive} of them evidence. Pairs on which people disagree are absent.

| column | meaning |
|---|---|
| `question` | the question |
| `passage` | the text of the passage; empty where its document was deleted |
| `label` | 1 for evidence (primary, supporting), 0 for none (tangential, discarded) |
| `role` | primary, supporting, tangential or discarded |
| `source` | who said so: a reviewer's override or approval, an annotator, an adjudication, a model |
| `document`, `page`, `line_from`, `page_to`, `line_to` | where the passage stands |
| `question_id` | the same for the same words: split by it, so that no question is on both sides |

```python
from datasets import load_dataset

labels = load_dataset("path/to/this/folder", split="train")
```

The passages are text of the documents of this collection and under their licence. Check it before you pass them on.
"""


def labels_dataset(*, actor: User, collection: Collection) -> bytes:
    """The dataset as a ZIP. On record: text of documents leaves the product.

    Raises :class:`DecideFirst` for a person who decides blind on a card of the collection.
    """
    require_sight_of_collection(user=actor, collection=collection)
    winners = {int(row.label_id): row for row in labels_for_training(collections=[collection])}
    labels = list(Label.objects.filter(pk__in=list(winners)).select_related("document").order_by("pk"))
    passages = Passages({label.document_id for label in labels})
    rows = [_row(label, winners[label.pk], passages.text(label)) for label in labels]
    lines = "".join(shown_in_json(json.dumps(row, ensure_ascii=False)) + "\n" for row in rows)
    with transaction.atomic():
        audit_record(
            actor=actor,
            action=Action.LABELS_DATASET_EXPORTED,
            obj=collection,
            after={"labels": len(rows)},
        )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.md", _card(collection, rows))
        archive.writestr(FILE, lines)
    return target.getvalue()


def _row(label: Label, counts: LabelRow, passage: str) -> dict[str, str | int]:
    return {
        "question_id": label.question_hash,
        "question": label.question,
        "passage": passage,
        "label": int(counts.label),
        "role": counts.role.value,
        "source": counts.source.value,
        "document": label.document.name,
        "page": label.page_start,
        "line_from": label.line_start,
        "page_to": label.page_end,
        "line_to": label.line_end,
    }


def _card(collection: Collection, rows: list[dict[str, str | int]]) -> str:
    return _CARD.format(
        file=FILE,
        name=" ".join(collection.name.split()),
        size=_size(len(rows)),
        version=version(),
        day=timezone.localdate().isoformat(),
        rows=len(rows),
        questions=len({row["question_id"] for row in rows}),
        positive=sum(int(row["label"]) for row in rows),
    )


def _size(rows: int) -> str:
    for most, name in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K")):
        if rows < most:
            return name
    return "100K<n<1M"
