"""Finding the passage that a row of a file means: by page and lines, or by its words in the document."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

from django.utils.translation import gettext as _

from arbitration.evaluation.question_groups import question_hash
from workbench.documents.ingest import text_hash
from workbench.documents.models import Collection, Document, Line
from workbench.errors import WorkbenchError
from workbench.infra.addresses import number_in
from workbench.runs.models import Candidate

#: Shortest passage that is looked for by its words: less is found everywhere.
LEAST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage stands, and the hash of its lines."""

    document_id: int
    page_start: int
    line_start: int
    page_end: int
    line_end: int
    text_hash: str


def place_of(candidate: Candidate) -> Place:
    """Where a candidate's anchor stands."""
    return Place(
        document_id=candidate.document_id,
        page_start=candidate.anchor_page_start,
        line_start=candidate.anchor_line_start,
        page_end=candidate.anchor_page_end,
        line_end=candidate.anchor_line_end,
        text_hash=candidate.text_hash,
    )


def pair_fields(*, question: str, place: Place) -> dict[str, Any]:
    """The fields that name a question-passage pair, the same in labels and in pairs to be labelled."""
    return {"question": question, "question_hash": question_hash(question), **asdict(place)}


@dataclass(frozen=True, slots=True)
class _Text:
    """A document's lines, and its words in one string with the offset at which each line begins."""

    lines: tuple[tuple[int, int, str], ...]  # page, line, text
    words: str
    starts: tuple[int, ...]


class DocumentTexts:
    """The documents of a collection, each read once."""

    def __init__(self, collection: Collection) -> None:
        documents = Document.objects.filter(collection=collection).ready().order_by("id")
        self._by_name: dict[str, int] = {}
        for pk, name, sha256 in documents.values_list("pk", "name", "sha256"):
            # The newest of a name: a later version replaces an earlier one.
            self._by_name |= {name: pk, str(pk): pk, f"d{pk}": pk, sha256: pk}
        self._texts: dict[int, _Text] = {}

    def place(self, raw: Mapping[str, str]) -> Place:
        """The passage of a row. Raises :class:`WorkbenchError` that says what is wrong with it."""
        name = raw.get("document", "").strip()
        document_id = self._by_name.get(name)
        if document_id is None:
            raise WorkbenchError(
                _("There is no ready document “%(name)s” in this collection.") % {"name": name[:120]}
            )
        if raw.get("page", "").strip():
            return self._by_lines(document_id, raw)
        if raw.get("text", "").strip():
            return self._by_words(document_id, raw["text"])
        raise WorkbenchError(_("Say where the passage is: page and lines, or its text."))

    def _by_lines(self, document_id: int, raw: Mapping[str, str]) -> Place:
        page = _number(raw, "page")
        first = _number(raw, "line_from")
        last = _number(raw, "line_to", default=first)
        end_page = _number(raw, "page_to", default=page)
        text = self._text(document_id)
        inside = [
            position
            for position, (page_num, line_num, _words) in enumerate(text.lines)
            if (page, first) <= (page_num, line_num) <= (end_page, last)
        ]
        if not inside or text.lines[inside[0]][:2] != (page, first):
            raise WorkbenchError(
                _("The document has no line %(line)d on page %(page)d.") % {"line": first, "page": page}
            )
        if text.lines[inside[-1]][:2] != (end_page, last):
            raise WorkbenchError(
                _("The document has no line %(line)d on page %(page)d.") % {"line": last, "page": end_page}
            )
        return _place(document_id, text, inside[0], inside[-1])

    def _by_words(self, document_id: int, words: str) -> Place:
        wanted = _normal(words)
        if len(wanted.split()) < LEAST_WORDS:
            raise WorkbenchError(_("The text is too short to be found; give page and lines."))
        text = self._text(document_id)
        found = text.words.find(wanted)
        if found < 0:
            raise WorkbenchError(_("This text is not in the document."))
        first = bisect_right(text.starts, found) - 1
        last = bisect_right(text.starts, found + len(wanted) - 1) - 1
        return _place(document_id, text, first, last)

    def _text(self, document_id: int) -> _Text:
        if document_id not in self._texts:
            rows = Line.objects.filter(document_id=document_id, is_furniture=False)
            cells = rows.order_by("page_num", "line_num").values_list("page_num", "line_num", "text")
            lines = tuple(cell for cell in cells if cell[2].strip())
            normal = [_normal(text) for _page, _line, text in lines]
            lengths = [len(words) + 1 for words in normal]
            starts = (0, *accumulate(lengths))[: len(lines)]
            self._texts[document_id] = _Text(lines, " ".join(normal), starts)
        return self._texts[document_id]


def _place(document_id: int, text: _Text, first: int, last: int) -> Place:
    chosen = text.lines[first : last + 1]
    return Place(
        document_id=document_id,
        page_start=chosen[0][0],
        line_start=chosen[0][1],
        page_end=chosen[-1][0],
        line_end=chosen[-1][1],
        text_hash=text_hash("\n".join(words for _page, _line, words in chosen)),
    )


def _normal(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()


def _number(raw: Mapping[str, str], name: str, *, default: int | None = None) -> int:
    cell = raw.get(name, "").strip()
    if not cell and default is not None:
        return default
    number = number_in(cell)
    if number is None or not 1 <= number < 2**31:
        raise WorkbenchError(_("“%(name)s” is a number from 1 on.") % {"name": name})
    return number
