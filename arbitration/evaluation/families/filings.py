"""FinanceBench, MMLongBench and H2O: PDFs named by the labels' ``file``, evidence by page or page range."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arbitration.evaluation.labelfile import EvidenceRow, LabelRow
from arbitration.evaluation.records import DatasetDocument, DatasetError, EvalQuestion, PageEvidence


def load(folder: Path, rows: Sequence[LabelRow]) -> tuple[list[DatasetDocument], list[EvalQuestion]]:
    """The PDFs that labels name, each once, and one question per label."""
    documents: dict[str, DatasetDocument] = {}
    for row in rows:
        documents.setdefault(row.doc_id, _document(row))
    return list(documents.values()), [_question(row) for row in rows]


def _document(row: LabelRow) -> DatasetDocument:
    path = row.base / (row.file or f"{row.doc_id}.pdf")
    if not path.is_file():
        raise DatasetError(f"label {row.qid} names {row.file}, but {path} is missing; add the file")
    return DatasetDocument(document_id=row.doc_id, name=path.name, path=path)


def _question(row: LabelRow) -> EvalQuestion:
    pages = dict.fromkeys((*_page_range(piece), piece.relevance) for piece in row.evidence if piece.relevance)
    return EvalQuestion(
        qid=row.qid,
        text=row.question,
        answerable=row.answerable,
        evidence=tuple(PageEvidence(row.doc_id, first, last, relevance) for first, last, relevance in pages),
        lang=row.lang,
        document_id=row.doc_id,
        answer=row.answer,
    )


def _page_range(piece: EvidenceRow) -> tuple[int, int]:
    if piece.page is not None:
        return piece.page, piece.page
    return piece.page_from or 0, piece.page_to or 0
