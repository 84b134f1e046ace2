"""Labels of files, each question about one: contracts as text with spans of characters (CUAD, ContractNLI), PDFs with
pages or page ranges (FinanceBench, MMLongBench, H2O), files of any kind with quoted evidence.

Offsets count characters of the file read as UTF-8 without newline translation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from arbitration.evaluation.labelfile import EvidenceRow, LabelRow, question_of
from arbitration.evaluation.records import (
    DatasetDocument,
    DatasetError,
    EvalQuestion,
    PageEvidence,
    SpanEvidence,
    TextEvidence,
)

_Loaded = tuple[list[DatasetDocument], list[EvalQuestion]]
_RELEVANCE = {"primary": 2, "supporting": 1}


def load_contracts(folder: Path, rows: Sequence[LabelRow]) -> _Loaded:
    """The contracts that labels name (``txt/<doc_id>.txt``), and one question per label."""
    documents = _documents(rows, lambda row: (row.doc_id, folder / "txt" / f"{row.doc_id}.txt"))
    return documents, [
        question_of(row, _spans(row), document_id=row.doc_id, category=row.category) for row in rows
    ]


def load_filings(_folder: Path, rows: Sequence[LabelRow]) -> _Loaded:
    """The PDFs that labels name by ``file``, and one question per label."""
    documents = _documents(rows, lambda row: (row.doc_id, row.base / (row.file or f"{row.doc_id}.pdf")))
    return documents, [question_of(row, _pages(row), document_id=row.doc_id) for row in rows]


def load_natural(_folder: Path, rows: Sequence[LabelRow]) -> _Loaded:
    """The documents that labels name by ``doc``, a path inside the folder above theirs, and one question per label."""
    documents = _documents(rows, lambda row: (row.doc, _inside(row)))
    return documents, [question_of(row, _quotes(row), document_id=row.doc, kind=row.kind) for row in rows]


def _documents(
    rows: Sequence[LabelRow], place: Callable[[LabelRow], tuple[str, Path]]
) -> list[DatasetDocument]:
    """Each file once. Raises :class:`DatasetError` for one that is not there."""
    documents: dict[str, DatasetDocument] = {}
    for row in rows:
        document_id, path = place(row)
        if not path.is_file():
            raise DatasetError(f"label {row.qid} names {document_id}, but {path} is missing; add the file")
        documents.setdefault(document_id, DatasetDocument(document_id, path.name, path=path))
    return list(documents.values())


def _inside(row: LabelRow) -> Path:
    above = row.base.parent.resolve()
    path = (above / row.doc).resolve()
    if not path.is_relative_to(above) or not path.is_file():
        raise DatasetError(f"label {row.qid} names {row.doc}, but {above} has no such file; add it")
    return path


def _spans(row: LabelRow) -> list[SpanEvidence]:
    spans = dict.fromkeys(
        (piece.start or 0, piece.end or 0, piece.relevance) for piece in row.evidence if piece.relevance
    )
    return [SpanEvidence(row.doc_id, start, end, relevance=relevance) for start, end, relevance in spans]


def _pages(row: LabelRow) -> list[PageEvidence]:
    pages = dict.fromkeys((*_page_range(piece), piece.relevance) for piece in row.evidence if piece.relevance)
    return [PageEvidence(row.doc_id, first, last, relevance) for first, last, relevance in pages]


def _page_range(piece: EvidenceRow) -> tuple[int, int]:
    if piece.page is not None:
        return piece.page, piece.page
    return piece.page_from or 0, piece.page_to or 0


def _quotes(row: LabelRow) -> list[TextEvidence]:
    return [
        TextEvidence(row.doc, piece.anchor or "", _RELEVANCE.get(piece.role, 1)) for piece in row.evidence
    ]
