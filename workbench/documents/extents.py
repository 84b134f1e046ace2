"""Where sections begin and end, in lines."""

from __future__ import annotations

from dataclasses import dataclass

from arbitration.documents import ParsedDocument, Section

Position = tuple[int, int]  # page, line


@dataclass(frozen=True, slots=True)
class SectionExtent:
    """First and last line of a section: of its whole subtree, and of its own lines."""

    page_start: int
    line_start: int
    page_end: int
    line_end: int
    own_page_end: int
    own_line_end: int
    has_children: bool


def section_extents(parsed: ParsedDocument) -> dict[str, SectionExtent]:
    """The extent of every section by section id; a section that owns no line sits at its heading's place."""
    own = _own_spans(parsed)
    children: dict[str, list[str]] = {}
    for section in parsed.sections:
        if section.parent_id:
            children.setdefault(section.parent_id, []).append(section.section_id)
    subtree_end: dict[str, Position] = {}
    for section in reversed(parsed.sections):  # children come after their parents
        ends = [subtree_end[child] for child in children.get(section.section_id, []) if child in subtree_end]
        subtree_end[section.section_id] = max([own[section.section_id][1], *ends])
    return {
        section.section_id: SectionExtent(
            *own[section.section_id][0],
            *subtree_end[section.section_id],
            *own[section.section_id][1],
            has_children=section.section_id in children,
        )
        for section in parsed.sections
    }


def _own_spans(parsed: ParsedDocument) -> dict[str, tuple[Position, Position]]:
    spans: dict[str, tuple[Position, Position]] = {}
    for line in parsed.lines:
        if not line.section_id or line.is_furniture:
            continue
        here = (line.page_num, line.line_num)
        first, last = spans.get(line.section_id, (here, here))
        spans[line.section_id] = (min(first, here), max(last, here))
    for section in parsed.sections:
        spans.setdefault(section.section_id, (_heading(section), _heading(section)))
    return spans


def _heading(section: Section) -> Position:
    return section.start_page, section.start_line or 1
