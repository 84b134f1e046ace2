"""Opens a folder of labelled documents; the format is told by ``set`` in the labels, never by a name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from arbitration.evaluation.families import constitution, files, obliqa, policyqa, xquad
from arbitration.evaluation.labelfile import LabelRow, label_files, read_labels
from arbitration.evaluation.records import DatasetDocument, DatasetError, EvalQuestion, LabelledSet

Family = Callable[[Path, Sequence[LabelRow]], tuple[list[DatasetDocument], list[EvalQuestion]]]

POLICYQA = "policyqa"
FAMILIES: dict[str, Family] = {
    "obliqa": obliqa.load,
    "arf_us_constitution": constitution.load,
    "cuad": files.load_contracts,
    "contractnli": files.load_contracts,
    "financebench": files.load_filings,
    "mmlongbench_admin": files.load_filings,
    "h2o_evals": files.load_filings,
    POLICYQA: policyqa.load,
    "natural": files.load_natural,
    "xquad_en_es": xquad.load,
}


def load_dataset(folder: Path) -> LabelledSet:
    """The labelled set in ``folder``.

    Labels are read from ``labels.jsonl`` (or ``xquad_labels.jsonl``), of the folder or pooled from its
    sub-folders; raw SQuAD files need none. Only files that a label needs have to be present.

    Raises :class:`DatasetError` with what is wrong and what to do about it.
    """
    if not folder.is_dir():
        raise DatasetError(f"{folder} is not a folder; name a folder with labels and documents")
    labels = label_files(folder)
    if not labels and policyqa.is_squad(folder):
        return _labelled_set(POLICYQA, *policyqa.load(folder, ()))
    rows = [row for path in labels for row in read_labels(path)]
    if not rows:
        raise DatasetError(f"{folder} holds no labels; expected labels.jsonl in it or in its sub-folders")
    name = _set_name(rows)
    return _labelled_set(name, *FAMILIES[name](_documents_folder(folder, labels), rows))


def _set_name(rows: Sequence[LabelRow]) -> str:
    names = list(dict.fromkeys(row.set for row in rows))
    if len(names) > 1:
        raise DatasetError(f"the labels mix the sets {', '.join(names)}; keep one set in a folder")
    if names[0] not in FAMILIES:
        raise DatasetError(f"unknown set {names[0]!r} in the labels; known are {', '.join(sorted(FAMILIES))}")
    return names[0]


def _documents_folder(folder: Path, files: Sequence[Path]) -> Path:
    return files[0].parent if len(files) == 1 else folder


def _labelled_set(
    name: str, documents: Sequence[DatasetDocument], questions: Sequence[EvalQuestion]
) -> LabelledSet:
    seen: set[str] = set()
    for question in questions:
        if question.key in seen:
            raise DatasetError(f"question id {question.key} occurs twice in the labels; make ids unique")
        seen.add(question.key)
    return LabelledSet(name, tuple(documents), tuple(questions))
