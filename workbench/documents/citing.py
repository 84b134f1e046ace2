"""Citations of places in documents, with the quote: "Master Services Agreement, 5.3, p. 2, lines 9–10"."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from arbitration.parsing.numbering import heading_number
from workbench.errors import WorkbenchError
from workbench.infra.addresses import number_in

from .models import Document, Line, Section
from .selectors import Position, lines_between

#: Lines that one citation quotes; no page or line has a higher number.
LONGEST, _HIGHEST = 60, 2**31 - 1


@dataclass(frozen=True, slots=True)
class Citation:
    """The place in words, and the quote. ``clause`` is empty if the section has no number."""

    page_start: int
    line_start: int
    page_end: int
    line_end: int
    clause: str
    place: str
    quote: str

    @property
    def text(self) -> str:
        """Place and quote in one."""
        return f"{self.place}: “{self.quote}”"


def position_in(raw: str) -> Position | None:
    """The place given in an address as ``page:line``; None for anything else."""
    page, _colon, line = raw.partition(":")
    found = number_in(page) or 0, number_in(line) or 0
    return found if all(0 < number <= _HIGHEST for number in found) else None


def citation(*, document: Document, first: Position | None, last: Position | None) -> Citation:
    """Cites the lines from first to last, in either order, without running heads. Raises :class:`WorkbenchError` for a
    place that is not in the document, or too long. Two queries."""
    if first is None:
        raise WorkbenchError(_("Name the lines as page:line."), code="bad_lines")
    start, end = sorted((first, last or first))
    rows = list(lines_between(document=document, first=start, last=end)[: LONGEST + 1])
    if not rows:
        raise WorkbenchError(_("This document has no such lines."), code="bad_lines")
    if len(rows) > LONGEST:
        raise WorkbenchError(
            _("Cite at most %(most)d lines at once.") % {"most": LONGEST}, code="too_many_lines"
        )
    start, end = [(row.page_num, row.line_num) for row in (rows[0], rows[-1])]
    clause = clause_of(document=document, line=rows[0])
    parts = [str(document), clause, _range(start, end)]
    return Citation(
        *start, *end, clause, ", ".join(part for part in parts if part), " ".join(row.text for row in rows)
    )


def clause_of(*, document: Document, line: Line) -> str:
    """The number of the clause that a line begins or belongs to: "5.3", "Article 20"."""
    own = _clause(line.text)
    if own or not line.section_id:
        return own
    title = Section.objects.filter(document=document, section_id=line.section_id).values_list(
        "title", flat=True
    )
    return _clause(title.first() or "", is_title=True)


def _clause(text: str, *, is_title: bool = False) -> str:
    """The number at the beginning of a heading or clause. A single number at the start of a line belongs to a list or
    is a figure; "5.3" is a clause."""
    number = heading_number(text.strip())
    if number is None or not (is_title or number.is_named or (number.depth > 1 and text[:1].isdigit())):
        return ""
    return number.text.strip(" .:)–—-§")


def _range(start: Position, end: Position) -> str:
    a, b, c, d = *start, *end
    if a != c:
        return _("p. %(a)s, line %(b)s – p. %(c)s, line %(d)s") % {"a": a, "b": b, "c": c, "d": d}
    if b == d:
        return _("p. %(a)s, line %(b)s") % {"a": a, "b": b}
    return _("p. %(a)s, lines %(b)s–%(c)s") % {"a": a, "b": b, "c": d}
