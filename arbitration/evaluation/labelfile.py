"""Reads label files: one JSON object a line, checked as it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from arbitration import bounded_json
from arbitration.evaluation.records import DatasetError, EvalQuestion, EvidenceUnit

Record = TypeVar("Record", bound=BaseModel)

LABEL_FILES = ("labels.jsonl", "xquad_labels.jsonl")


class EvidenceRow(BaseModel):
    """Evidence as the file has it; which fields are set depends on the row's ``unit``."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    section_id: str | None = None
    document_id: str | None = None
    passage_id: str | None = None
    page: Annotated[int, Field(ge=0)] | None = None  # 0 stands in some sources for no page: never a hit
    page_from: Annotated[int, Field(ge=0)] | None = None
    page_to: Annotated[int, Field(ge=0)] | None = None
    start: Annotated[int, Field(ge=0)] | None = None
    end: Annotated[int, Field(ge=0)] | None = None
    anchor: str | None = None
    role: str = ""
    relevance: int = Field(default=1, ge=0)


Unit = Literal["section", "passage", "page", "page_range", "char", "text"]

_NEEDED: dict[Unit, tuple[str, ...]] = {
    "section": ("section_id",),
    "passage": ("passage_id",),
    "page": ("page",),
    "page_range": ("page_from", "page_to"),
    "char": ("start", "end"),
    "text": ("anchor",),
}


class LabelRow(BaseModel):
    """One line of a label file. ``base`` is the folder it lies in: paths in the row are relative to it."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    qid: str
    set: str
    unit: Unit
    evidence: tuple[EvidenceRow, ...] = ()
    answerable: bool
    doc_id: str = ""
    file: str | None = None
    lang: str = "en"
    question: str = ""
    question_en: str = ""
    question_es: str = ""
    answer: str | None = None
    category: str = ""
    doc: str = ""
    kind: str = ""
    base: Path = Path()

    @model_validator(mode="after")
    def _evidence_fits_the_unit(self) -> LabelRow:
        for piece in self.evidence:
            missing = [name for name in _NEEDED[self.unit] if getattr(piece, name) is None]
            if missing:
                raise ValueError(f"evidence of unit {self.unit!r} lacks {', '.join(missing)}")
        return self


def label_files(folder: Path) -> list[Path]:
    """Label files of a folder, or of its sub-folders when it has none itself, in name order."""
    own = [folder / name for name in LABEL_FILES if (folder / name).is_file()]
    return own or sorted(path for name in LABEL_FILES for path in folder.glob(f"*/{name}"))


def read_labels(path: Path) -> list[LabelRow]:
    """The rows of one label file.

    Raises :class:`DatasetError` naming file and line of the first row that cannot be used.
    """
    return [_label_row(path, number, record) for number, record in jsonl_records(path)]


def jsonl_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each non-empty line of a JSON-lines file."""
    if not path.is_file():
        raise DatasetError(f"{path.name} is missing from {path.parent}; put it beside the labels")
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, _json_object(path, number, line)


def _json_object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = bounded_json.loads(line)
    except ValueError as error:
        problem = getattr(error, "msg", error)
        raise DatasetError(f"{path}, line {number}: not valid JSON ({problem}); correct it") from error
    if not isinstance(record, dict):
        raise DatasetError(f"{path}, line {number}: expected a JSON object; correct the line")
    return record


def _label_row(path: Path, number: int, record: dict[str, Any]) -> LabelRow:
    try:
        return LabelRow.model_validate(
            # Rows that quote their evidence name a document and no unit.
            ({"unit": "text"} if "doc" in record else {})
            | {**record, "lang": record.get("lang") or "en", "base": path.parent}
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "row"
        raise DatasetError(f"{path}, line {number}: {where}: {first['msg']}; correct the label") from error


def validated(kind: type[Record], records: Iterable[Any], *, path: Path, what: str) -> list[Record]:
    """The records of a file as objects, or a :class:`DatasetError` that says ``what`` the file is not."""
    try:
        return [kind.model_validate(record) for record in records]
    except (ValidationError, TypeError) as error:
        raise DatasetError(f"{path} is not {what}; replace the file") from error


def question_of(
    row: LabelRow,
    evidence: Iterable[EvidenceUnit],
    *,
    document_id: str | None = None,
    category: str = "",
    kind: str = "",
) -> EvalQuestion:
    """The question of a label with its evidence."""
    return EvalQuestion(
        qid=row.qid,
        text=row.question,
        answerable=row.answerable,
        evidence=tuple(evidence),
        lang=row.lang,
        document_id=document_id,
        answer=row.answer,
        category=category,
        kind=kind,
    )


def read_json(path: Path) -> Any:
    """The content of one JSON file, or a :class:`DatasetError` that names it."""
    try:
        return bounded_json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path} cannot be read as JSON ({error}); replace the file") from error
