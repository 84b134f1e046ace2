"""What carrying decisions over and marking signed runs share: the text of a version, and the way back to the queue."""

from __future__ import annotations

from arbitration.versions import VersionLine, body_text, section_key
from workbench.documents.models import Document, Line
from workbench.runs.models import Candidate, Run

from .models import CarriedState, ItemStage, ItemState, QueueItem

#: Codes of the queue that say what happened.
REOPENED_WHY = {CarriedState.CHANGED: "version_changed", CarriedState.GONE: "version_gone"}
#: What the comparison of texts says, as it is kept.
STATES = {
    "unchanged": CarriedState.CARRIED,
    "changed": CarriedState.CHANGED,
    "gone": CarriedState.GONE,
}
Span = tuple[tuple[int, int], tuple[int, int]]  # (page, line) of the first and last line


def body_lines(document: Document) -> list[VersionLine]:
    """The lines of a document that are text, with the key of their section's title; headings without numbers."""
    titles = dict(document.sections.values_list("section_id", "title"))
    rows = Line.objects.filter(document=document, is_furniture=False, is_hidden=False)
    return [
        VersionLine(
            page,
            number,
            body_text(text, title=titles.get(section_id, "")),
            section_key(titles.get(section_id, "")),
        )
        for page, number, text, section_id in rows.order_by("page_num", "line_num").values_list(
            "page_num", "line_num", "text", "section_id"
        )
    ]


def item_reopen(*, run: Run, candidate: Candidate | None, why: str) -> None:
    """The candidate, or the not-found without one, waits for a person again, before everything else. Its review begins
    anew: a second review and an adjudication belong to the decision on the text before. A signed run stays signed: it
    must be reopened by a person, with a reason, before the card can be decided."""
    item = QueueItem.objects.select_for_update().filter(run=run, candidate=candidate).first()
    if item is None:
        item = QueueItem(candidate=candidate, run=run, collection_id=run.collection_id)
    item.state, item.decided_at = ItemState.WAITING, None
    item.stage, item.first_reviewer, item.second_reviewer = ItemStage.FIRST, None, None
    item.is_required, item.priority = True, 1.0
    item.claimed_by, item.claimed_until = None, None
    item.why = [*(code for code in item.why if code not in REOPENED_WHY.values()), why]
    item.save()
