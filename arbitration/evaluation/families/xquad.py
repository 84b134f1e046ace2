"""XQuAD, English and Spanish: every question in both languages, asked of the passages of each.

The four variants are named question language - document language: ``en-en``, ``es-es``, ``es-en`` (a Spanish
question of English passages) and ``en-es``. The two languages are separate collections.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from arbitration.evaluation.labelfile import LabelRow, jsonl_records, validated
from arbitration.evaluation.records import (
    DatasetDocument,
    DatasetError,
    EvalQuestion,
    PassageEvidence,
    StructuredUnit,
)

PASSAGES_FILE = "xquad_passages.jsonl"
Lang = Literal["en", "es"]
VARIANTS: tuple[tuple[Lang, Lang], ...] = (("en", "en"), ("es", "es"), ("es", "en"), ("en", "es"))


class _Passage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    passage_id: str
    title: str = ""
    en: str
    es: str

    def text(self, lang: Lang) -> str:
        return self.en if lang == "en" else self.es


def load(folder: Path, rows: Sequence[LabelRow]) -> tuple[list[DatasetDocument], list[EvalQuestion]]:
    """One document per article and language, and each question in its four variants."""
    path = folder / PASSAGES_FILE
    records = (record for _, record in jsonl_records(path))
    passages = validated(_Passage, records, path=path, what="a list of bilingual passages")
    documents = _documents(passages, "en") + _documents(passages, "es")
    owners = {unit.unit_id: document.document_id for document in documents for unit in document.units}
    questions = [_question(row, ask, read, owners) for row in rows for ask, read in VARIANTS]
    return documents, questions


def _documents(passages: Sequence[_Passage], lang: Lang) -> list[DatasetDocument]:
    return [
        DatasetDocument(
            document_id=title,
            name=f"{title.replace('_', ' ')} ({lang})",
            units=tuple(
                StructuredUnit(passage.passage_id, f"{title.replace('_', ' ')} {number}", passage.text(lang))
                for number, passage in enumerate(group, start=1)
            ),
            collection=lang,
            lang=lang,
            whole_passages=True,
        )
        for title, group in groupby(sorted(passages, key=lambda p: p.title), key=lambda p: p.title)
    ]


def _question(row: LabelRow, ask: Lang, read: Lang, owners: dict[str, str]) -> EvalQuestion:
    passage_ids = [piece.passage_id or "" for piece in row.evidence if piece.relevance]
    unknown = [passage_id for passage_id in passage_ids if passage_id not in owners]
    if unknown:
        raise DatasetError(f"label {row.qid} names passage {unknown[0]}, which {PASSAGES_FILE} does not hold")
    return EvalQuestion(
        qid=row.qid,
        text=row.question_en if ask == "en" else row.question_es,
        answerable=row.answerable,
        evidence=tuple(PassageEvidence(owners[p], p, relevance=1) for p in dict.fromkeys(passage_ids)),
        lang=ask,
        collection=read,
        variant=f"{ask}-{read}",
    )
