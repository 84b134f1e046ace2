"""PolicyQA in raw SQuAD form: one document per site, its segments in ``index`` order, spans in segments.

The set has no label file; its ``raw_*.json`` files are recognised by their shape.

Its questions were written for one segment each. Asked of the whole policy, the same question is answered by every
segment that it, or another question on the same practice (``type``), is labelled with: all of them are its evidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from arbitration.evaluation.labelfile import LabelRow, read_json
from arbitration.evaluation.records import (
    DatasetDocument,
    DatasetError,
    EvalQuestion,
    SpanEvidence,
    StructuredUnit,
)


class _Raw(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Answer(_Raw):
    text: str
    answer_start: int


class _Query(_Raw):
    id: str
    question: str
    type: str = ""
    answers: tuple[_Answer, ...] = ()
    is_impossible: bool = False


class _Segment(_Raw):
    index: int
    context: str
    qas: tuple[_Query, ...] = ()


class _Site(_Raw):
    title: str
    paragraphs: tuple[_Segment, ...]


class _Squad(_Raw):
    data: tuple[_Site, ...]


def is_squad(folder: Path) -> bool:
    """Whether the folder holds raw files in SQuAD form."""
    return any(_has_squad_shape(path) for path in folder.glob("raw_*.json"))


def load(folder: Path, rows: Sequence[LabelRow]) -> tuple[list[DatasetDocument], list[EvalQuestion]]:
    """One document per site and its questions; with label rows, only the questions they name."""
    sites = [site for path in sorted(folder.glob("raw_*.json")) for site in _sites(path)]
    if not sites:
        raise DatasetError(f"{folder} holds no raw_*.json in SQuAD form; add the labels' file")
    wanted = {row.qid for row in rows}
    spans = {site.title: _spans_by_matter(site) for site in sites}
    questions = [
        _question(site.title, query, spans[site.title])
        for site in sites
        for segment in _in_order(site)
        for query in segment.qas
        if not rows or query.id in wanted
    ]
    missing = wanted - {question.qid for question in questions}
    if missing:
        raise DatasetError(f"label {min(missing)} names no question of the raw_*.json files; drop the label")
    return [_document(site) for site in sites], questions


def _has_squad_shape(path: Path) -> bool:
    content = read_json(path)
    return isinstance(content, dict) and isinstance(content.get("data"), list)


def _sites(path: Path) -> tuple[_Site, ...]:
    if not _has_squad_shape(path):
        return ()
    try:
        return _Squad.model_validate(read_json(path)).data
    except ValidationError as error:
        raise DatasetError(f"{path} is not in SQuAD form ({error.errors()[0]['msg']})") from error


def _in_order(site: _Site) -> Iterable[_Segment]:
    return sorted(site.paragraphs, key=lambda segment: segment.index)


def _document(site: _Site) -> DatasetDocument:
    return DatasetDocument(
        document_id=site.title,
        name=site.title,
        units=tuple(
            StructuredUnit(str(segment.index), f"Segment {segment.index + 1}", segment.context)
            for segment in _in_order(site)
        ),
    )


def _spans_by_matter(site: _Site) -> dict[str, list[SpanEvidence]]:
    """The spans that answer each question and each practice of a site, in the order of its segments."""
    found: dict[str, list[SpanEvidence]] = defaultdict(list)
    for segment in _in_order(site):
        for query in segment.qas:
            for answer in () if query.is_impossible else query.answers:
                end = answer.answer_start + len(answer.text)
                span = SpanEvidence(site.title, answer.answer_start, end, unit_id=str(segment.index))
                for matter in _matters(query):
                    found[matter].append(span)
    return found


def _matters(query: _Query) -> list[str]:
    """What a question is about: its own words, and its practice where it names one."""
    words = f"words {' '.join(query.question.casefold().split())}"
    return [words, f"practice {query.type}"] if query.type else [words]


def _question(site: str, query: _Query, spans: Mapping[str, Sequence[SpanEvidence]]) -> EvalQuestion:
    is_answered = bool(query.answers) and not query.is_impossible
    evidence = dict.fromkeys(span for matter in _matters(query) for span in spans.get(matter, ()))
    return EvalQuestion(
        qid=query.id,
        text=query.question,
        answerable=is_answered,
        evidence=tuple(evidence) if is_answered else (),
        document_id=site,
        answer=query.answers[0].text if query.answers else None,
        category=query.type,
    )
