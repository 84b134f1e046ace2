"""Writes small labelled folders in the layouts that the loaders know. All text is made up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_jsonl(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def label(**fields: Any) -> dict[str, Any]:
    row = {"qid": "q1", "doc_id": "d1", "lang": "en", "question": "Who pays?", "answerable": True}
    return {**row, **fields}


def obliqa_folder(folder: Path, labels: Sequence[Mapping[str, Any]]) -> Path:
    passages = [
        ("1.", "GENERAL"),
        ("1.1", "Fees"),
        ("1.1.1", ""),
        ("1.1.1.(1)", "A firm must pay its fee within thirty days."),
        ("1.1.1.(2)", "A late fee is increased by one tenth."),
        ("2.", "REPORTS"),
        ("1.", "a listed step that repeats a number;"),
    ]
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "7.json").write_text(
        json.dumps(
            [
                {"ID": str(i), "DocumentID": 7, "PassageID": number, "Passage": text}
                for i, (number, text) in enumerate(passages)
            ]
        ),
        encoding="utf-8",
    )
    write_jsonl(folder / "labels.jsonl", labels)
    return folder


def obliqa_label(passage_id: str, **fields: Any) -> dict[str, Any]:
    evidence = [{"document_id": 7, "passage_id": passage_id, "relevance": 3}]
    return label(set="obliqa", doc_id="corpus", unit="passage", evidence=evidence, **fields)


def contract_folder(folder: Path, text: str, labels: Sequence[Mapping[str, Any]]) -> Path:
    (folder / "txt").mkdir(parents=True)
    (folder / "txt" / "d1.txt").write_text(text, encoding="utf-8", newline="")
    write_jsonl(folder / "labels.jsonl", labels)
    return folder


def span_label(start: int, end: int, **fields: Any) -> dict[str, Any]:
    row = label(set="cuad", unit="char", evidence=[{"start": start, "end": end, "relevance": 3}])
    return {**row, **fields}


def constitution_folder(folder: Path, labels: Sequence[Mapping[str, Any]]) -> Path:
    sections = [
        {"section_id": "a-1", "label": "Article I", "heading": "Assembly", "text": "There is an assembly."},
        {"section_id": "a-2", "label": "Article II", "heading": "Council", "text": "There is a council."},
    ]
    folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(folder / "sections.jsonl", sections)
    write_jsonl(folder / "labels.jsonl", labels)
    return folder


def section_label(*section_ids: str, **fields: Any) -> dict[str, Any]:
    evidence = [{"section_id": section_id, "relevance": 3} for section_id in section_ids]
    return label(
        **{"set": "arf_us_constitution", "doc_id": "charter", "unit": "section", "evidence": evidence}
        | fields
    )


def squad_folder(folder: Path) -> Path:
    segments = [
        {
            "index": 1,
            "context": "We keep records for two years.",
            "qas": [
                {
                    "id": "p1",
                    "question": "How long are records kept?",
                    "type": "Retention",
                    "answers": [
                        {"text": "two years", "answer_start": 20},
                        {"text": "two years", "answer_start": 20},
                        {"text": "records for two years", "answer_start": 8},
                    ],
                }
            ],
        },
        {"index": 0, "context": "Privacy notice of a shop.", "qas": []},
    ]
    folder.mkdir(parents=True, exist_ok=True)
    content = {"version": "1", "data": [{"title": "shop.example", "paragraphs": segments}]}
    (folder / "raw_dev.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def xquad_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    passages = [
        {
            "passage_id": "x0",
            "title": "Lighthouse",
            "en": "The lamp was lit in 1850.",
            "es": "La lámpara se encendió.",
        },
        {"passage_id": "x1", "title": "Lighthouse", "en": "It burns oil.", "es": "Quema aceite."},
    ]
    labels = [
        {
            "qid": "x",
            "set": "xquad_en_es",
            "question_en": "When was the lamp lit?",
            "question_es": "¿Cuándo se encendió la lámpara?",
            "unit": "passage",
            "evidence": [{"passage_id": "x0", "relevance": 3}],
            "answerable": True,
        }
    ]
    write_jsonl(folder / "xquad_passages.jsonl", passages)
    write_jsonl(folder / "xquad_labels.jsonl", labels)
    return folder


def natural_folder(folder: Path, labels: Sequence[Mapping[str, Any]]) -> Path:
    """Labels in ``natural``, the document they name in the folder beside it."""
    (folder / "policies").mkdir(parents=True)
    (folder / "policies" / "leave.txt").write_text(
        "Staff may carry over five days of leave.", encoding="utf-8"
    )
    write_jsonl(folder / "natural" / "labels.jsonl", labels)
    return folder / "natural"


def natural_label(*anchors: tuple[str, str], **fields: Any) -> dict[str, Any]:
    evidence = [{"page": 1, "section": None, "anchor": text, "role": role} for text, role in anchors]
    row = {
        "qid": "n1",
        "set": "natural",
        "doc": "policies/leave.txt",
        "lang": "en",
        "kind": "ordinary",
        "question": "How much holiday can I keep for next year?",
        "answer": "Five days.",
        "answerable": bool(anchors),
        "evidence": evidence,
        "tangential": [],
    }
    return {**row, **fields}
