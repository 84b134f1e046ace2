from __future__ import annotations

import json
from pathlib import Path

import pytest

from arbitration.evaluation.datasets import load_dataset
from arbitration.evaluation.records import DatasetError, PageEvidence, PassageEvidence, SpanEvidence
from tests.arbitration.evaluation import folders


def test_the_set_is_told_by_the_labels_not_by_the_folder_name(tmp_path: Path) -> None:
    folder = folders.constitution_folder(tmp_path / "obliqa", [folders.section_label("a-1")])

    assert load_dataset(folder).name == "arf_us_constitution"


def test_obliqa_keeps_every_passage_as_a_section_and_nests_them_by_number(tmp_path: Path) -> None:
    folder = folders.obliqa_folder(tmp_path / "x", [folders.obliqa_label("1.1.1.(2)")])

    dataset = load_dataset(folder)

    units = dataset.documents[0].units
    assert [(unit.unit_id, unit.level) for unit in units] == [
        ("1.", 1),
        ("1.1", 2),
        ("1.1.1", 3),
        ("1.1.1.(1)", 4),
        ("1.1.1.(2)", 4),
        ("2.", 1),
        ("1.", 1),
    ]
    assert [unit.title for unit in units[:4]] == ["1. GENERAL", "1.1 Fees", "1.1.1", "1.1.1.(1)"]
    assert units[2].text == ""
    assert dataset.questions[0].evidence == (PassageEvidence("7", "1.1.1.(2)", 3),)
    assert dataset.questions[0].document_id is None


def test_obliqa_refuses_a_label_whose_passage_is_not_there(tmp_path: Path) -> None:
    folder = folders.obliqa_folder(tmp_path / "x", [folders.obliqa_label("9.9")])

    with pytest.raises(DatasetError, match=r"passage 9\.9 of document 7"):
        load_dataset(folder)


def test_the_constitution_reads_its_sections_file_only(tmp_path: Path) -> None:
    rows = [folders.section_label("a-1"), folders.section_label(qid="q2", answerable=False)]
    folder = folders.constitution_folder(tmp_path / "x", rows)
    (folder / "charter.md").write_text("# another rendering of the same text", encoding="utf-8")

    dataset = load_dataset(folder)

    assert [document.document_id for document in dataset.documents] == ["charter"]
    assert [unit.title for unit in dataset.documents[0].units] == [
        "Article I: Assembly",
        "Article II: Council",
    ]
    assert (dataset.question_count, dataset.answerable_count) == (2, 1)


def test_contracts_are_the_text_files_that_labels_name(tmp_path: Path) -> None:
    rows = [folders.span_label(0, 4), folders.span_label(5, 9, qid="q2", file="pdf/d1.pdf")]
    folder = folders.contract_folder(tmp_path / "x", "Fees are due.", rows)
    (folder / "txt" / "unlabelled.txt").write_text("no label needs this", encoding="utf-8")

    dataset = load_dataset(folder)

    assert [document.path for document in dataset.documents] == [folder / "txt" / "d1.txt"]
    assert [question.document_id for question in dataset.questions] == ["d1", "d1"]


def test_a_span_labelled_twice_is_one_unit_of_evidence(tmp_path: Path) -> None:
    piece = {"start": 0, "end": 4, "relevance": 3}
    folder = folders.contract_folder(
        tmp_path / "x", "Fees are due.", [folders.span_label(0, 4, evidence=[piece, piece])]
    )

    assert load_dataset(folder).questions[0].evidence == (SpanEvidence("d1", 0, 4, relevance=3),)


def test_h2o_pools_the_labels_of_its_sub_folders(tmp_path: Path) -> None:
    for name, first in (("one", 2), ("two", 5)):
        evidence = [{"page_from": first, "page_to": first + 1, "relevance": 3}]
        row = folders.label(
            qid=name, set="h2o_evals", doc_id=name, file="act.pdf", unit="page_range", evidence=evidence
        )
        folders.write_jsonl(tmp_path / name / "labels.jsonl", [row])
        (tmp_path / name / "act.pdf").write_bytes(b"%PDF-1.7")

    dataset = load_dataset(tmp_path)

    assert [document.path for document in dataset.documents] == [
        tmp_path / "one" / "act.pdf",
        tmp_path / "two" / "act.pdf",
    ]
    assert [question.evidence for question in dataset.questions] == [
        (PageEvidence("one", 2, 3, 3),),
        (PageEvidence("two", 5, 6, 3),),
    ]


def test_rows_whose_evidence_contradicts_them_are_left_out_of_ranking_but_kept(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    page = [{"page": 3, "relevance": 3}]
    rows = [
        folders.label(qid="plain", evidence=page),
        folders.label(qid="nothing to find", evidence=[]),
        folders.label(qid="evidence of nothing", answerable=False, evidence=page),
    ]
    folders.write_jsonl(
        tmp_path / "labels.jsonl",
        [{**row, "set": "mmlongbench_admin", "file": "a.pdf", "unit": "page"} for row in rows],
    )

    dataset = load_dataset(tmp_path)

    assert [question.qid for question in dataset.questions if question.is_ranked] == ["plain"]
    assert (dataset.question_count, dataset.answerable_count) == (3, 2)


def test_policyqa_needs_no_label_file(tmp_path: Path) -> None:
    dataset = load_dataset(folders.squad_folder(tmp_path / "x"))

    assert [unit.unit_id for unit in dataset.documents[0].units] == ["0", "1"]
    question = dataset.questions[0]
    assert question.document_id == "shop.example"
    assert question.evidence == (
        SpanEvidence("shop.example", 20, 29, unit_id="1"),
        SpanEvidence("shop.example", 8, 29, unit_id="1"),
    )


def test_a_question_of_policyqa_is_answered_wherever_it_or_its_practice_is_labelled(tmp_path: Path) -> None:
    def query(qid: str, question: str, practice: str, answer: str, start: int) -> dict[str, object]:
        return {
            "id": qid,
            "question": question,
            "type": practice,
            "answers": [{"text": answer, "answer_start": start}],
            "is_impossible": False,
        }

    paragraphs = [
        {"index": 0, "context": "We sell maps.", "qas": [query("a", "Do you sell data?", "Sale", "sell", 3)]},
        {"index": 1, "context": "Maps are sold.", "qas": [query("b", "Is data sold?", "Sale", "sold", 9)]},
        {"index": 2, "context": "We do it too.", "qas": [query("c", "do you sell  data?", "Use", "do", 3)]},
        {
            "index": 3,
            "context": "Cookies stay.",
            "qas": [query("d", "Do cookies stay?", "Cookie", "stay", 8)],
        },
    ]
    (tmp_path / "raw_dev.json").write_text(
        json.dumps({"data": [{"title": "shop.example", "paragraphs": paragraphs}]}), encoding="utf-8"
    )

    found = {q.qid: {unit.unit_id for unit in q.evidence} for q in load_dataset(tmp_path).questions}  # type: ignore[union-attr]

    assert found == {"a": {"0", "1", "2"}, "b": {"0", "1"}, "c": {"0", "2"}, "d": {"3"}}


def test_a_bilingual_question_is_asked_in_four_variants_and_counts_once(tmp_path: Path) -> None:
    dataset = load_dataset(folders.xquad_folder(tmp_path / "x"))

    assert dataset.question_count == 1
    assert dataset.collections == ("en", "es")
    assert [(q.variant, q.lang, q.collection, q.text[:4]) for q in dataset.questions] == [
        ("en-en", "en", "en", "When"),
        ("es-es", "es", "es", "¿Cuá"),
        ("es-en", "es", "en", "¿Cuá"),
        ("en-es", "en", "es", "When"),
    ]


def test_limit_keeps_the_first_questions_and_the_documents_they_need(tmp_path: Path) -> None:
    folder = folders.contract_folder(tmp_path / "x", "Fees.", [folders.span_label(0, 4)])
    (folder / "txt" / "d2.txt").write_text("Term.", encoding="utf-8")
    folders.write_jsonl(
        folder / "labels.jsonl",
        [folders.span_label(0, 4, qid="a"), folders.span_label(0, 4, qid="b", doc_id="d2")],
    )

    limited = load_dataset(folder).limited(1)

    assert [question.qid for question in limited.questions] == ["a"]
    assert [document.document_id for document in limited.documents] == ["d1"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (folders.span_label(0, 4, set="unheard"), "unknown set 'unheard'"),
        (folders.label(set="cuad", unit="char", evidence=[{"page": 1}]), "lacks start, end"),
        (folders.label(set="cuad", unit="line", evidence=[]), "line 1: unit"),
        (folders.span_label(0, 4, doc_id="gone"), "gone.txt is missing"),
    ],
)
def test_a_label_that_cannot_be_used_is_named(tmp_path: Path, row: dict[str, object], message: str) -> None:
    folder = folders.contract_folder(tmp_path / "x", "Fees.", [row])

    with pytest.raises(DatasetError, match=message):
        load_dataset(folder)


def test_broken_json_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text('{"qid": "a"\n', encoding="utf-8")

    with pytest.raises(DatasetError, match=r"labels\.jsonl, line 1: not valid JSON"):
        load_dataset(tmp_path)


def test_a_question_id_used_twice_is_refused(tmp_path: Path) -> None:
    folder = folders.contract_folder(tmp_path / "x", "Fees.", [folders.span_label(0, 4)] * 2)

    with pytest.raises(DatasetError, match="occurs twice"):
        load_dataset(folder)


@pytest.mark.parametrize("missing", ["nowhere", "."])
def test_a_folder_without_labels_is_refused(tmp_path: Path, missing: str) -> None:
    with pytest.raises(DatasetError, match=r"not a folder|holds no labels"):
        load_dataset(tmp_path / missing)


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "questions", "answerable", "ranked", "documents"),
    [
        ("obliqa", 2788, 2788, 2788, 40),
        ("arf_us_constitution", 75, 65, 65, 1),
        ("cuad", 10660, 3412, 3412, 260),
        ("contractnli", 1037, 614, 614, 61),
        ("financebench", 40, 40, 40, 19),
        ("h2o_evals", 967, 967, 967, 13),
        ("mmlongbench_admin", 49, 39, 38, 6),
        ("policyqa", 3809, 3809, 3809, 20),
        ("bilingual_es_en", 612, 612, 2448, 48),
    ],
)
def test_every_labelled_folder_loads_whole(
    shared_data: Path, folder: str, questions: int, answerable: int, ranked: int, documents: int
) -> None:
    dataset = load_dataset(shared_data / folder)

    assert (dataset.question_count, dataset.answerable_count) == (questions, answerable)
    assert sum(question.is_ranked for question in dataset.questions) == ranked
    assert len(dataset.documents) == documents


@pytest.mark.data
def test_policyqa_offsets_point_at_the_answers(shared_data: Path) -> None:
    raw = json.loads((shared_data / "policyqa" / "raw_dev.json").read_text(encoding="utf-8"))
    answers = {
        query["id"]: {answer["text"] for answer in query["answers"]}
        for site in raw["data"]
        for segment in site["paragraphs"]
        for query in segment["qas"]
    }
    dataset = load_dataset(shared_data / "policyqa")
    texts = {(d.document_id, unit.unit_id): unit.text for d in dataset.documents for unit in d.units}

    said: dict[tuple[str | None, str], set[str]] = {}
    for question in dataset.questions:
        for matter in (question.text.casefold().strip(), question.category):
            said.setdefault((question.document_id, matter), set()).update(answers[question.qid])
    for question in dataset.questions:
        shown = {
            texts[unit.document_id, unit.unit_id][unit.start : unit.end]
            for unit in question.evidence
            if isinstance(unit, SpanEvidence)
        }
        assert answers[question.qid] <= shown
        matters = (question.text.casefold().strip(), question.category)
        assert shown <= set().union(*(said[question.document_id, matter] for matter in matters))


def test_natural_questions_name_a_document_of_the_folder_beside_them(tmp_path: Path) -> None:
    quotes = (("carry over five days", "primary"), ("of leave", "supporting"))
    folder = folders.natural_folder(
        tmp_path, [folders.natural_label(*quotes), folders.natural_label(qid="n2", kind="absent_keywords")]
    )

    loaded = load_dataset(folder)

    assert [document.path for document in loaded.documents] == [tmp_path / "policies" / "leave.txt"]
    asked, absent = loaded.questions
    assert asked.document_id == "policies/leave.txt"
    assert [(unit.text, unit.relevance) for unit in asked.evidence] == [
        ("carry over five days", 2),
        ("of leave", 1),
    ]
    assert (asked.kind, asked.is_ranked) == ("ordinary", True)
    assert (absent.answerable, absent.is_ranked) == (False, False)


@pytest.mark.parametrize("name", ["policies/missing.txt", "../outside.txt", "/etc/hostname"])
def test_a_natural_question_reads_no_file_outside_the_folder_above(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside.txt").write_text("outside")
    folder = folders.natural_folder(
        tmp_path / "data", [folders.natural_label(("five days", "primary"), doc=name)]
    )

    with pytest.raises(DatasetError, match="has no such file"):
        load_dataset(folder)
