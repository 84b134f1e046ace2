"""Pairs and labels in the JSON of Label Studio: tasks out, annotated tasks in.

A task holds ``question``, ``passage`` and where the passage stands. Its labelling configuration names the choice
``role``; the machine's verdict and known answers are never in a task, since annotators judge without sight of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from arbitration import bounded_json
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Document, Line, readable
from workbench.errors import WorkbenchError
from workbench.infra.imports import file_text

from .models import Label, Pair, PairState, Project
from .projects import require_manage
from .transfer import MAX_MEGABYTES, Row

#: Tasks of one file.
MOST_TASKS = 10_000
#: What Label Studio is told of these tasks.
CONFIGURATION = """<View>
  <Header value="$question"/>
  <Text name="passage" value="$passage"/>
  <Choices name="role" toName="passage" choice="single" required="true">
    <Choice value="primary"/>
    <Choice value="supporting"/>
    <Choice value="tangential"/>
    <Choice value="discarded"/>
  </Choices>
</View>
"""
_PLACE = ("document", "page", "line_from", "line_to", "page_to")


# --- out ----------------------------------------------------------------------------------------------------


def project_tasks(*, actor: User, project: Project) -> list[dict[str, Any]]:
    """The open pairs of a project with their passages, those first that annotators would get first. On record: text of
    documents leaves the product.

    Raises :class:`NotAllowed` for those who do not manage the collection.
    """
    require_manage(actor=actor, collection=project.collection)
    waiting = project.pairs.filter(readable("document"), state=PairState.OPEN)
    pairs = list(waiting.select_related("document")[:MOST_TASKS])
    passages = Passages({pair.document_id for pair in pairs})
    tasks = [_task(pair, passages.text(pair)) for pair in pairs]
    with transaction.atomic():
        audit_record(
            actor=actor, action=Action.LABELING_TASKS_EXPORTED, obj=project, after={"pairs": len(tasks)}
        )
    return tasks


def _task(pair: Pair, passage: str) -> dict[str, Any]:
    return {
        "id": pair.pk,
        "data": {
            "question": pair.question,
            "passage": passage,
            "name": pair.document.name,
            "document": f"d{pair.document_id}",
            "page": pair.page_start,
            "line_from": pair.line_start,
            "page_to": pair.page_end,
            "line_to": pair.line_end,
        },
    }


class Passages:
    """The lines of documents, each document read once."""

    def __init__(self, documents: Iterable[int]) -> None:
        self._lines: dict[int, list[tuple[tuple[int, int], str]]] = {pk: [] for pk in documents}
        there = Document.objects.filter(pk__in=list(self._lines)).readable()
        rows = Line.objects.filter(document__in=there, is_furniture=False)
        cells = rows.order_by("document_id", "page_num", "line_num")
        for document, page, line, text in cells.values_list("document_id", "page_num", "line_num", "text"):
            self._lines[document].append(((page, line), text))

    def text(self, pair: Pair | Label) -> str:
        """The lines of a pair or label; empty where their document was deleted."""
        lines = self._lines[pair.document_id]
        first = bisect_left(lines, (pair.page_start, pair.line_start), key=lambda line: line[0])
        last = bisect_right(lines, (pair.page_end, pair.line_end), key=lambda line: line[0])
        return "\n".join(text for _place, text in lines[first:last])


# --- in -----------------------------------------------------------------------------------------------------


def task_rows(content: bytes) -> Iterator[Row]:
    """Each annotation of an export (JSON) as a row, as :func:`~workbench.labeling.transfer.labels_import` reads rows,
    under the number of its task; a problem in words where one cannot be read. Skipped annotations are left out.

    Raises :class:`WorkbenchError` for what is no such file.
    """
    for number, task in enumerate(_tasks(content), start=1):
        annotations = task.get("annotations") if isinstance(task, Mapping) else None
        data = task.get("data") if isinstance(task, Mapping) else None
        if not isinstance(annotations, list) or not isinstance(data, Mapping):
            yield number, _("This is not a task with “data” and “annotations”.")
            continue
        for annotation in annotations:
            if isinstance(annotation, Mapping) and annotation.get("was_cancelled"):
                continue
            yield number, _row(data, annotation)


def _tasks(content: bytes) -> list[Any]:
    text = file_text(content, max_megabytes=MAX_MEGABYTES)
    try:
        tasks = bounded_json.loads(text)
    except ValueError as error:
        raise WorkbenchError(
            _("The file is not JSON. Export the project from Label Studio as JSON."), code="not_json"
        ) from error
    if not isinstance(tasks, list):
        raise WorkbenchError(
            _("The file is not a list of tasks. Export the project from Label Studio as JSON."),
            code="not_tasks",
        )
    return tasks


def _row(data: Mapping[str, Any], annotation: Any) -> Mapping[str, str] | str:
    if not isinstance(annotation, Mapping):
        return _("An annotation of this task cannot be read.")
    role = _choice(annotation.get("result"))
    if role is None:
        return _("An annotation of this task has no single choice “role”.")
    row = {name: _cell(data.get(name)) for name in ("question", *_PLACE)}
    if not row["page"]:
        row["text"] = _cell(data.get("passage"))
    return row | {
        "role": role,
        "judge": _judge(annotation.get("completed_by")),
        "seconds": _cell(annotation.get("lead_time")),
    }


def _choice(result: Any) -> str | None:
    """The one choice of the control ``role``; None where there is none, or more than one."""
    if not isinstance(result, list):
        return None
    chosen = [
        choice
        for region in result
        if isinstance(region, Mapping)
        and region.get("type") == "choices"
        and region.get("from_name") == "role"
        for choice in _choices_of(region.get("value"))
    ]
    return str(chosen[0]) if len(chosen) == 1 else None


def _choices_of(value: Any) -> list[Any]:
    choices = value.get("choices") if isinstance(value, Mapping) else None
    return choices if isinstance(choices, list) else []


def _judge(completed_by: Any) -> str:
    """The annotator's address where the export holds it, else their number there; empty where it holds neither."""
    if isinstance(completed_by, Mapping):
        return _cell(completed_by.get("email")) or _judge(completed_by.get("id"))
    return f"Label Studio {completed_by}" if isinstance(completed_by, int) else ""


def _cell(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
