"""The US Constitution: 76 sections in ``sections.jsonl``, graded evidence, asked over the whole set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from arbitration.evaluation.labelfile import LabelRow, jsonl_records, question_of, validated
from arbitration.evaluation.records import (
    DatasetDocument,
    DatasetError,
    EvalQuestion,
    PassageEvidence,
    StructuredUnit,
)

SECTIONS_FILE = "sections.jsonl"
DOCUMENT_ID = "us_constitution"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    section_id: str
    label: str = ""
    heading: str = ""
    text: str


def load(folder: Path, rows: Sequence[LabelRow]) -> tuple[list[DatasetDocument], list[EvalQuestion]]:
    """One document of all sections, and one question per label."""
    path = folder / SECTIONS_FILE
    records = (record for _, record in jsonl_records(path))
    sections = validated(_Section, records, path=path, what="a list of sections")
    document = DatasetDocument(
        document_id=next((row.doc_id for row in rows if row.doc_id), DOCUMENT_ID),
        name="Constitution of the United States",
        units=tuple(_unit(section) for section in sections),
    )
    known = {section.section_id for section in sections}
    return [document], [_question(row, document.document_id, known) for row in rows]


def _unit(section: _Section) -> StructuredUnit:
    title = section.label
    if section.heading and section.heading != section.label:
        title = f"{section.label}: {section.heading}" if section.label else section.heading
    return StructuredUnit(
        section.section_id, title or section.section_id, section.text, has_heading_line=True
    )


def _question(row: LabelRow, document_id: str, known: set[str]) -> EvalQuestion:
    evidence = tuple(
        PassageEvidence(document_id, piece.section_id or "", piece.relevance)
        for piece in row.evidence
        if piece.relevance
    )
    unknown = [unit.unit_id for unit in evidence if unit.unit_id not in known]
    if unknown:
        raise DatasetError(f"label {row.qid} names section {unknown[0]}, which {SECTIONS_FILE} does not hold")
    return question_of(row, evidence, category=row.qid.rsplit("-", 1)[0])
