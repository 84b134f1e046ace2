"""Finding the passage that a row of a file means: by page and lines, or by its words in the document."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
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
#: Characters of documents that are looked through for the passages of one file: about a minute.
MOST_SEARCHED = 50_000_000_000
#: Page, line, text.
_Line = tuple[int, int, str]


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


class DocumentTexts:
    """The documents of a collection. Each is read once for all rows that mean it, and one at a time."""

    def __init__(self, collection: Collection) -> None:
        documents = Document.objects.filter(collection=collection).ready().order_by("id")
        self._by_name: dict[str, int] = {}
        for pk, name, sha256 in documents.values_list("pk", "name", "sha256"):
            # The newest of a name: a later version replaces an earlier one.
            self._by_name |= {name: pk, str(pk): pk, f"d{pk}": pk, sha256: pk}

    def places(self, rows: Sequence[Mapping[str, str]]) -> list[Place | WorkbenchError]:
        """The passage of each row, or what is wrong with it.

        Raises :class:`TooMuchToSearch` where looking for so many passages by their words would take too long.
        """
        by_document: dict[int, list[int]] = {}
        found: dict[int, Place | WorkbenchError] = {}
        for number, raw in enumerate(rows):
            name = raw.get("document", "").strip()
            document_id = self._by_name.get(name)
            if document_id is not None:
                by_document.setdefault(document_id, []).append(number)
                continue
            found[number] = WorkbenchError(
                _("There is no ready document “%(name)s” in this collection.") % {"name": name[:120]}
            )
        searched = 0
        for document_id, numbers in by_document.items():
            text = _Text(document_id)
            for number in numbers:
                try:
                    found[number] = text.place(rows[number])
                except WorkbenchError as error:
                    found[number] = error
                if searched + text.searched > MOST_SEARCHED:
                    raise TooMuchToSearch
            searched += text.searched
        return [found[number] for number in range(len(rows))]


class TooMuchToSearch(WorkbenchError):
    """A file names more passages by their words than can be looked for in its documents."""

    code = "too_much_to_search"

    def __init__(self) -> None:
        super().__init__(
            _(
                "The file names too many passages of long documents by their text. Split it, or give page and lines."
            )
        )


class _Text:
    """A document's lines, and its words in one string; ``searched`` counts the characters looked through in it."""

    def __init__(self, document_id: int) -> None:
        self._document_id = document_id
        self._found: dict[str, int] = {}
        self.searched = 0

    @cached_property
    def _lines(self) -> tuple[_Line, ...]:
        rows = Line.objects.filter(document_id=self._document_id, is_furniture=False)
        cells = rows.order_by("page_num", "line_num").values_list("page_num", "line_num", "text")
        return tuple(cell for cell in cells if cell[2].strip())

    @cached_property
    def _words(self) -> tuple[str, tuple[int, ...]]:
        """The words of all lines, and the offset at which each line begins."""
        normal = [_normal(text) for _page, _line, text in self._lines]
        lengths = [len(words) + 1 for words in normal]
        return " ".join(normal), (0, *accumulate(lengths))[: len(normal)]

    def place(self, raw: Mapping[str, str]) -> Place:
        """The passage of a row. Raises :class:`WorkbenchError` that says what is wrong with it."""
        if raw.get("page", "").strip():
            return self._by_lines(raw)
        if raw.get("text", "").strip():
            return self._by_words(raw["text"])
        raise WorkbenchError(_("Say where the passage is: page and lines, or its text."))

    def _by_lines(self, raw: Mapping[str, str]) -> Place:
        page = _number(raw, "page")
        first = _number(raw, "line_from")
        last = _number(raw, "line_to", default=first)
        end_page = _number(raw, "page_to", default=page)
        start = bisect_left(self._lines, (page, first), key=_position)
        end = bisect_right(self._lines, (end_page, last), key=_position) - 1
        if start > end or _position(self._lines[start]) != (page, first):
            raise WorkbenchError(
                _("The document has no line %(line)d on page %(page)d.") % {"line": first, "page": page}
            )
        if _position(self._lines[end]) != (end_page, last):
            raise WorkbenchError(
                _("The document has no line %(line)d on page %(page)d.") % {"line": last, "page": end_page}
            )
        return self._from(start, end)

    def _by_words(self, text: str) -> Place:
        wanted = _normal(text)
        if len(wanted.split()) < LEAST_WORDS:
            raise WorkbenchError(_("The text is too short to be found; give page and lines."))
        words, starts = self._words
        if wanted not in self._found:  # most passages are labelled for several questions
            found = words.find(wanted)
            self._found[wanted] = found
            self.searched += len(words) if found < 0 else found + len(wanted)
        found = self._found[wanted]
        if found < 0:
            raise WorkbenchError(_("This text is not in the document."))
        first = bisect_right(starts, found) - 1
        last = bisect_right(starts, found + len(wanted) - 1) - 1
        return self._from(first, last)

    def _from(self, first: int, last: int) -> Place:
        chosen = self._lines[first : last + 1]
        text = "\n".join(words for _page, _line, words in chosen)
        self.searched += len(text)
        return Place(
            document_id=self._document_id,
            page_start=chosen[0][0],
            line_start=chosen[0][1],
            page_end=chosen[-1][0],
            line_end=chosen[-1][1],
            text_hash=text_hash(text),
        )


def _position(line: _Line) -> tuple[int, int]:
    return line[:2]


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
