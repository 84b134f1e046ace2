"""Questions in people's own words: one document each, evidence quoted. Documents lie in the folders beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arbitration.evaluation.labelfile import EvidenceRow, LabelRow
from arbitration.evaluation.records import DatasetDocument, DatasetError, EvalQuestion, TextEvidence

_RELEVANCE = {"primary": 2, "supporting": 1}


def load(folder: Path, rows: Sequence[LabelRow]) -> tuple[list[DatasetDocument], list[EvalQuestion]]:
    """The documents that labels name, each once, and one question per label. ``doc`` is a path inside the folder
    above ``folder``."""
    documents: dict[str, DatasetDocument] = {}
    for row in rows:
        documents.setdefault(row.doc, _document(row))
    return list(documents.values()), [_question(row) for row in rows]


def _document(row: LabelRow) -> DatasetDocument:
    above = row.base.parent.resolve()
    path = (above / row.doc).resolve()
    if not path.is_relative_to(above) or not path.is_file():
        raise DatasetError(f"label {row.qid} names {row.doc}, but {above} has no such file; add it")
    return DatasetDocument(document_id=row.doc, name=path.name, path=path)


def _question(row: LabelRow) -> EvalQuestion:
    return EvalQuestion(
        qid=row.qid,
        text=row.question,
        answerable=row.answerable,
        evidence=tuple(_evidence(row.doc, piece) for piece in row.evidence),
        lang=row.lang,
        document_id=row.doc,
        answer=row.answer,
        kind=row.kind,
    )


def _evidence(document_id: str, piece: EvidenceRow) -> TextEvidence:
    return TextEvidence(document_id, piece.anchor or "", _RELEVANCE.get(piece.role, 1))
