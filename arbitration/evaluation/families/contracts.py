"""CUAD and ContractNLI: contracts as text files, clauses as character spans, one contract per question.

Offsets count characters of the file read as UTF-8 without newline translation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arbitration.evaluation.labelfile import LabelRow
from arbitration.evaluation.records import DatasetDocument, DatasetError, EvalQuestion, SpanEvidence


def load(folder: Path, rows: Sequence[LabelRow]) -> tuple[list[DatasetDocument], list[EvalQuestion]]:
    """The contracts that labels name (``txt/<doc_id>.txt``), and one question per label."""
    documents = {
        document_id: _document(folder, document_id) for document_id in dict.fromkeys(r.doc_id for r in rows)
    }
    return list(documents.values()), [_question(row) for row in rows]


def _document(folder: Path, document_id: str) -> DatasetDocument:
    path = folder / "txt" / f"{document_id}.txt"
    if not path.is_file():
        raise DatasetError(f"labels name {document_id}, but {path} is missing; add the file")
    return DatasetDocument(document_id=document_id, name=path.name, path=path)


def _question(row: LabelRow) -> EvalQuestion:
    spans = dict.fromkeys(
        (piece.start or 0, piece.end or 0, piece.relevance) for piece in row.evidence if piece.relevance
    )
    return EvalQuestion(
        qid=row.qid,
        text=row.question,
        answerable=row.answerable,
        evidence=tuple(
            SpanEvidence(row.doc_id, start, end, relevance=relevance) for start, end, relevance in spans
        ),
        lang=row.lang,
        document_id=row.doc_id,
        answer=row.answer,
        category=row.category,
    )
