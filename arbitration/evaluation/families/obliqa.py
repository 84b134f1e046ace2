"""ObliQA: regulations as JSON lists of numbered passages, asked over the whole set.

Each passage is a section and a passage of its own, the empty ones too. An id that occurs more than once in a
document names all of its passages: any of them is evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from arbitration.evaluation.labelfile import LabelRow, question_of, read_json, validated
from arbitration.evaluation.records import (
    DatasetDocument,
    DatasetError,
    EvalQuestion,
    PassageEvidence,
    StructuredUnit,
)

_HEADING_WORDS = 14
_PART = re.compile(r"\([^)]{0,80}\)|[^.()]+")


class _Passage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    DocumentID: str
    PassageID: str
    Passage: str


def load(folder: Path, rows: Sequence[LabelRow]) -> tuple[list[DatasetDocument], list[EvalQuestion]]:
    """Documents of ``docs/*.json`` and one question per label.

    Raises :class:`DatasetError` when a label names a passage that no document holds.
    """
    documents = [_document(path) for path in sorted((folder / "docs").glob("*.json"), key=_natural)]
    known = {(document.document_id, unit.unit_id) for document in documents for unit in document.units}
    return documents, [_question(row, known) for row in rows]


def _natural(path: Path) -> tuple[int, str]:
    return (int(path.stem) if path.stem.isdigit() else 0, path.stem)


def _document(path: Path) -> DatasetDocument:
    passages = validated(_Passage, read_json(path), path=path, what="a list of numbered passages")
    document_id = passages[0].DocumentID if passages else path.stem
    return DatasetDocument(
        document_id=document_id,
        name=f"Regulation {document_id}",
        units=tuple(_units(passages)),
        whole_passages=True,
    )


def _units(passages: Iterable[_Passage]) -> Iterable[StructuredUnit]:
    """Sections nested by their numbers: 1.1.1.(2) lies in 1.1.1, which lies in 1.1, which lies in 1."""
    open_numbers: list[tuple[str, ...]] = []
    for passage in passages:
        number = tuple(_PART.findall(passage.PassageID.replace(" ", "")))
        while open_numbers and not _is_within(number, open_numbers[-1]):
            open_numbers.pop()
        open_numbers.append(number)
        yield StructuredUnit(
            unit_id=passage.PassageID,
            title=_title(passage),
            text=passage.Passage.strip(),
            level=len(open_numbers),
        )


def _is_within(number: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    return len(outer) < len(number) and number[: len(outer)] == outer


def _title(passage: _Passage) -> str:
    """The number, with the passage's text where that is a heading: short, one line, no sentence end."""
    text = passage.Passage.strip()
    is_heading = text and "\n" not in text and text[-1] not in ".;:," and len(text.split()) <= _HEADING_WORDS
    return f"{passage.PassageID} {text}" if is_heading else passage.PassageID


def _question(row: LabelRow, known: set[tuple[str, str]]) -> EvalQuestion:
    evidence = tuple(
        PassageEvidence(piece.document_id or "", piece.passage_id or "", piece.relevance)
        for piece in row.evidence
        if piece.relevance
    )
    for unit in evidence:
        if (unit.document_id, unit.unit_id) not in known:
            raise DatasetError(
                f"label {row.qid} names passage {unit.unit_id} of document {unit.document_id}, "
                "which is not in docs/; add the document or drop the label"
            )
    return question_of(row, evidence)
