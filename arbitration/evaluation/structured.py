"""Documents that come as data take the same form as parsed files, and every line knows its way back.

Lines are cut by the plain-text parser's own rule, on virtual pages of the same length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from arbitration.documents import ParsedDocument
from arbitration.evaluation.linemap import LineMap, LinePosition
from arbitration.evaluation.records import DatasetDocument, DatasetError, LabelledSet, StructuredUnit
from arbitration.parsing.drafts import (
    Draft,
    DraftLine,
    DraftPage,
    DraftPassage,
    DraftSection,
    FinishedDraft,
    to_wire,
)
from arbitration.parsing.offsets import PAGE_LINES, line_spans, text_lines
from arbitration.parsing.passages import build_passages
from arbitration.parsing.toc import BREADCRUMB


@dataclass(frozen=True, slots=True)
class _Piece:
    """One printed line: what it says and which characters of its unit these are."""

    text: str
    start: int
    end: int
    starts_block: bool


def to_parsed_document(document: DatasetDocument) -> ParsedDocument:
    """The document as if a parser had read it: each unit a section; lines, passages and pages.

    Raises ``ValueError`` for a document that is a file.
    """
    if not document.is_structured:
        raise ValueError(f"{document.name} is a file; parse it instead")
    sections = _sections(document.units)
    lines: list[DraftLine] = []
    for section, piece, page, number in _with_sections(document, sections):
        if section.start_line is None:
            section.start_page, section.start_line = page, number
        section.end_page = page
        line = DraftLine(page, piece.text, number, section_id=section.section_id, parsing_method="text")
        line.starts_block = piece.starts_block
        lines.append(line)
    _close(sections)
    draft = Draft("text", [DraftPage(page) for page, _ in groupby(line.page_num for line in lines)], lines)
    draft.toc_source = "markup"
    passages = (
        _whole_passages(document, sections, lines) if document.whole_passages else build_passages(lines)
    )
    finished = FinishedDraft(draft, document.name, document.lang, sections, passages)
    return ParsedDocument.model_validate_json(to_wire(finished))


def line_map(document: DatasetDocument) -> LineMap | None:
    """From the document's lines to its units and characters; ``None`` for files without character offsets."""
    if document.is_structured:
        positions = [
            LinePosition(page, number, unit.unit_id, piece.start, piece.end)
            for unit, piece, page, number in _printed(document.units)
        ]
        return LineMap(positions, _texts(document.units))
    if document.path is None or document.path.suffix != ".txt":
        return None
    text = _read(document)
    return LineMap(
        [LinePosition(page, number, "", start, end) for page, number, start, end in line_spans(text)],
        {"": text},
    )


def line_maps(dataset: LabelledSet) -> Mapping[tuple[str, str], LineMap]:
    """The maps of all documents that have one, by (collection, document id): what the judge needs."""
    maps = {(d.collection, d.document_id): line_map(d) for d in dataset.documents}
    return {key: found for key, found in maps.items() if found is not None}


def _read(document: DatasetDocument) -> str:
    try:
        with open(str(document.path), encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{document.path} cannot be read as UTF-8 text ({error}); replace the file"
        ) from error


def _printed(units: Iterable[StructuredUnit]) -> Iterator[tuple[StructuredUnit, _Piece, int, int]]:
    """(unit, line, page number, line number) of the whole document in reading order."""
    count = 0
    for unit in units:
        for piece in _pieces(unit):
            yield unit, piece, count // PAGE_LINES + 1, count % PAGE_LINES + 1
            count += 1


def _pieces(unit: StructuredUnit) -> Iterator[_Piece]:
    """The unit's lines; an empty unit shows its title, so that it stands somewhere."""
    if unit.has_heading_line or not unit.text.strip():
        yield _Piece(unit.title, 0, 0, starts_block=True)
    for number, line in enumerate(text_lines(unit.text)):
        yield _Piece(unit.text[line.start : line.end], line.start, line.end, line.starts_block or not number)


def _texts(units: Iterable[StructuredUnit]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for unit in units:
        texts.setdefault(unit.unit_id, unit.text)
    return texts


def _sections(units: Iterable[StructuredUnit]) -> list[DraftSection]:
    """One section per unit, nested by level; pages and lines are filled in as lines are printed."""
    sections: list[DraftSection] = []
    open_sections: list[DraftSection] = []
    for number, unit in enumerate(units, start=1):
        del open_sections[unit.level - 1 :]
        parent = open_sections[-1] if open_sections else None
        section = DraftSection(
            section_id=f"s{number}",
            level=len(open_sections) + 1,
            parent_id=parent.section_id if parent else None,
            title=unit.title,
            breadcrumb=f"{parent.breadcrumb}{BREADCRUMB}{unit.title}" if parent else unit.title,
            start_page=1,
            end_page=1,
            start_y=None,
            start_line=None,
        )
        sections.append(section)
        open_sections.append(section)
    return sections


def _with_sections(
    document: DatasetDocument, sections: list[DraftSection]
) -> Iterator[tuple[DraftSection, _Piece, int, int]]:
    printed = groupby(_printed(document.units), key=lambda row: id(row[0]))
    for section, (_, rows) in zip(sections, printed, strict=True):
        for _unit, piece, page, number in rows:
            yield section, piece, page, number


def _close(sections: list[DraftSection]) -> None:
    """A section ends where the last one below it ends."""
    by_id = {section.section_id: section for section in sections}
    for section in reversed(sections):
        if section.parent_id is not None:
            parent = by_id[section.parent_id]
            parent.end_page = max(parent.end_page, section.end_page)


def _whole_passages(
    document: DatasetDocument, sections: list[DraftSection], lines: list[DraftLine]
) -> list[DraftPassage]:
    by_section = {key: list(run) for key, run in groupby(lines, key=lambda line: line.section_id)}
    passages: list[DraftPassage] = []
    for unit, section in zip(document.units, sections, strict=True):
        own = by_section[section.section_id]
        passages.append(
            DraftPassage(
                ordinal=len(passages),
                page_start=own[0].page_num,
                line_start=own[0].line_num,
                page_end=own[-1].page_num,
                line_end=own[-1].line_num,
                section_id=section.section_id,
                text=unit.text.strip() or unit.title,
            )
        )
    return passages
