"""Labels in the files of others: what goes out is read by the field's own tools, and what they write comes in."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import ir_measures
import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, P

from arbitration.evaluation.question_groups import question_hash
from tests.workbench.cast import Cast
from tests.workbench.labeling.makers import make_pairs, make_project
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.documents.erasure import document_delete
from workbench.errors import NotAllowed, WorkbenchError
from workbench.labeling import label_studio, trec
from workbench.labeling.models import Label
from workbench.labeling.transfer import labels_import
from workbench.review.services import candidate_override
from workbench.runs.models import Candidate

ClientAs = Callable[[User | None], Client]
QUESTION = "How long are access records kept?"
TOPIC = question_hash(QUESTION)


def take_in(cast: Cast, content: bytes, reader: Any, **options: Any) -> Any:
    return labels_import(
        actor=cast.admin,
        collection=cast.alpha,
        content=content,
        file_name="labels",
        source="annotator",
        reader=reader,
        **options,
    )


def from_qrels(topics: str = f"{TOPIC}\t{QUESTION}\n") -> Any:
    return lambda content: trec.qrels_rows(content, topics=topics.encode())


# --- TREC ---------------------------------------------------------------------------------------------------


def test_ir_measures_reads_qrels_and_run_and_finds_what_is_so(
    scene: Scene, cast: Cast, tmp_path: Path
) -> None:
    """The reviewer's label and the machine's ranking meet under one topic and one passage."""
    best = Candidate.objects.filter(run=scene.run).order_by("verdict__order")[0]
    candidate_override(
        actor=cast.reviewer,
        candidate=Candidate.objects.get(pk=best.pk),
        role="supporting" if best.verdict.role == "primary" else "primary",
        reason_code="wrong_role",
    )
    role = Label.objects.filter(candidate=best).latest("pk").role
    (tmp_path / "qrels").write_text(trec.qrels_text(actor=cast.admin, collection=cast.alpha))
    (tmp_path / "run").write_text(trec.run_text(actor=cast.admin, collection=cast.alpha, strategy="offline"))
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels")))
    run = list(ir_measures.read_trec_run(str(tmp_path / "run")))
    passage = f"d{best.document_id}:p1_l{best.anchor_line_start}_l{best.anchor_line_end}"
    assert {one.query_id for one in qrels} == {one.query_id for one in run} == {TOPIC}
    assert {one.doc_id: one.relevance for one in qrels}[passage] == {"primary": 2, "supporting": 1}[role]
    assert run[0].doc_id == passage
    kept = Candidate.objects.filter(run=scene.run, verdict__role__in=["primary", "supporting", "tangential"])
    assert len(run) == kept.count()
    assert [one.score for one in run] == sorted((one.score for one in run), reverse=True)
    figures = ir_measures.calc_aggregate([RR, P @ 1], qrels, run)
    assert figures[RR] == figures[P @ 1] == 1.0


def test_topics_say_what_is_asked(scene: Scene, cast: Cast) -> None:
    assert trec.topics_text(collection=cast.alpha) == f"{TOPIC}\t{QUESTION}\n"
    assert trec.topics_text(collection=cast.alpha, strategy="offline") == f"{TOPIC}\t{QUESTION}\n"


def test_qrels_hold_no_text_and_only_what_counts(scene: Scene, cast: Cast) -> None:
    text = trec.qrels_text(actor=cast.admin, collection=cast.alpha)
    assert "record" not in text
    assert trec.qrels_text(actor=cast.admin, collection=cast.beta) == ""


def test_a_strategy_nobody_asked_under_is_told(scene: Scene, cast: Cast) -> None:
    with pytest.raises(WorkbenchError) as refused:
        trec.run_text(actor=cast.admin, collection=cast.alpha, strategy="imagined")
    assert refused.value.code == "no_runs"


def test_what_went_out_as_qrels_comes_in_again(cast: Cast, here: None) -> None:
    document = make_project(cast).collection.documents.get()
    qrels = "".join(
        f"{TOPIC} 0 d{document.pk}:p1_l{line}_l{line} {grade}\n" for line, grade in ((5, 2), (6, 1), (7, 0))
    )
    report = take_in(cast, qrels.encode(), from_qrels(), judge="A. Annotator")
    assert (report.added, report.bad) == (3, [])
    assert list(Label.objects.order_by("line_start").values_list("role", "judge_name")) == [
        ("primary", "A. Annotator"),
        ("supporting", "A. Annotator"),
        ("discarded", "A. Annotator"),
    ]
    assert sorted(trec.qrels_text(actor=cast.admin, collection=cast.alpha).splitlines()) == sorted(
        qrels.splitlines()
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (f"{TOPIC} 0 d1:p1_l5_l5", "four words"),
        ("other 0 d1:p1_l5_l5 1", "do not say what"),
        (f"{TOPIC} 0 FT911-3 1", "not a passage"),
        (f"{TOPIC} 0 d1:p1_l5_l5 high", "whole number"),
        (f"{TOPIC} 0 d999999:p1_l5_l5 1", "no ready document"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_taken(cast: Cast, here: None, line: str, problem: str) -> None:
    make_project(cast)
    report = take_in(cast, f"\n{line}\n".encode(), from_qrels(), judge="A")
    assert [(row.line, problem in row.problem) for row in report.bad] == [(2, True)]
    assert not Label.objects.exists()


def test_topics_that_are_none_are_told(cast: Cast, here: None) -> None:
    with pytest.raises(WorkbenchError) as refused:
        take_in(cast, b"t 0 d1:p1_l1_l1 1", from_qrels("only a question\n"), judge="A")
    assert refused.value.code == "bad_topics"


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_as_qrels_are_rows_or_a_refusal(content: bytes) -> None:
    try:
        rows = list(trec.qrels_rows(content, topics=b"t\tWhat?\n"))
    except WorkbenchError:
        return
    assert all(isinstance(row, str | Mapping) for _line, row in rows)


# --- Label Studio -------------------------------------------------------------------------------------------


def annotated(task: Any, role: str, **options: Any) -> dict[str, Any]:
    """The task as Label Studio exports it after somebody chose a role."""
    choice = {"from_name": "role", "to_name": "passage", "type": "choices", "value": {"choices": [role]}}
    annotation = {"completed_by": {"email": "annotator@example.org"}, "result": [choice], "lead_time": 4.5}
    return {**task, "annotations": [annotation | options], "predictions": []}


def test_tasks_go_out_and_come_back_as_labels(cast: Cast, here: None) -> None:
    project = make_project(cast)
    pairs = make_pairs(project, 2, gold_role="primary")
    tasks = label_studio.project_tasks(actor=cast.admin, project=project)
    assert {task["id"] for task in tasks} == {pair.pk for pair in pairs}
    assert all(task["data"]["passage"] for task in tasks)
    assert "gold" not in json.dumps(tasks), "annotators judge without sight of the known answer"
    assert AuditEvent.objects.get(action="labeling.tasks_exported").after == {"pairs": 2}
    first, second = json.loads(json.dumps(tasks))
    export = [annotated(first, "supporting"), annotated(second, "discarded", completed_by=17)]
    report = take_in(cast, json.dumps(export).encode(), label_studio.task_rows)
    assert (report.added, report.bad) == (2, [])
    labels = {label.question: label for label in Label.objects.all()}
    known, outside = labels[first["data"]["question"]], labels[second["data"]["question"]]
    assert (known.person, known.role, known.seconds) == (cast.annotator, "supporting", 4.5)
    assert (outside.judge_name, outside.role) == ("Label Studio 17", "discarded")
    assert (known.page_start, known.line_start) == (first["data"]["page"], first["data"]["line_from"])


def test_no_task_holds_the_text_of_a_deleted_document(cast: Cast, here: None) -> None:
    project = make_project(cast)
    (pair,) = make_pairs(project, 1)
    document_delete(actor=cast.admin, document=pair.document, reason="The client asked for it.")
    assert label_studio.project_tasks(actor=cast.admin, project=project) == []
    assert label_studio.Passages([pair.document_id]).text(pair) == ""


def test_the_document_shows_the_configuration_that_fits_the_tasks() -> None:
    document = Path(__file__).resolve().parents[3] / "docs" / "labelling.md"
    assert label_studio.CONFIGURATION in document.read_text("utf-8")


def test_only_those_who_manage_take_text_out(cast: Cast, here: None) -> None:
    project = make_project(cast)
    for person in (cast.annotator, cast.reviewer, cast.auditor, cast.outsider):
        with pytest.raises(NotAllowed):
            label_studio.project_tasks(actor=person, project=project)


def test_a_task_made_elsewhere_is_found_by_its_words_and_skipped_ones_are_left_out(
    cast: Cast, here: None
) -> None:
    make_project(cast)
    task = {
        "data": {
            "question": QUESTION,
            "document": "policy.txt",
            "passage": "Access records are kept for twenty-four months.",
        }
    }
    export = [annotated(task, "primary"), annotated(task, "discarded", was_cancelled=True)]
    report = take_in(cast, json.dumps(export).encode(), label_studio.task_rows)
    assert (report.rows, report.added) == (1, 1)


@pytest.mark.parametrize(
    "task",
    [
        "not a task",
        {"data": {}},
        {"data": {}, "annotations": ["none"]},
        {"data": {}, "annotations": [{"result": []}]},
        {"data": {}, "annotations": [{"result": [{"type": "choices", "from_name": "role", "value": None}]}]},
        annotated({"data": {"question": QUESTION, "document": "policy.txt", "page": 1, "line_from": 5}}, "best"),
        annotated({"data": {"question": QUESTION, "document": "other.txt", "page": 1, "line_from": 5}}, "primary"),
    ],
)  # fmt: skip
def test_a_bad_task_is_named_and_nothing_is_taken(cast: Cast, here: None, task: Any) -> None:
    make_project(cast)
    good = annotated(
        {"data": {"question": QUESTION, "document": "policy.txt", "page": 1, "line_from": 5}}, "primary"
    )
    report = take_in(cast, json.dumps([good, task]).encode(), label_studio.task_rows)
    assert [row.line for row in report.bad] == [2]
    assert not Label.objects.exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"question,document\n", b"[" * 100_000, b"\xff"])
def test_what_is_no_export_is_refused(cast: Cast, here: None, content: bytes) -> None:
    with pytest.raises(WorkbenchError):
        take_in(cast, content, label_studio.task_rows)


# --- API ----------------------------------------------------------------------------------------------------


def test_the_api_hands_them_out_and_takes_them_in(
    client_as: ClientAs, scene: Scene, cast: Cast, settings: Any
) -> None:
    client = client_as(cast.admin)
    qrels = client.get("/api/v1/labels/alpha/qrels/")
    topics = client.get("/api/v1/labels/alpha/topics/")
    assert qrels.content.decode() == trec.qrels_text(actor=cast.admin, collection=cast.alpha)
    assert client.get("/api/v1/labels/alpha/trec-run/?strategy=offline").content.count(b" Q0 ") >= 1
    assert client.get("/api/v1/labels/alpha/trec-run/").status_code == 400
    before = Label.objects.count()
    body = {"file_format": "trec", "source": "llm", "judge": "a model"}

    def files(**others: Any) -> dict[str, Any]:
        return body | {"file": SimpleUploadedFile("q", qrels.content)} | others

    assert client.post("/api/v1/labels/alpha/import/", files()).status_code == 400
    for dry_run, added in ((True, 0), (False, 1)):
        sent = files(topics=SimpleUploadedFile("t", topics.content), dry_run=dry_run)
        report = client.post("/api/v1/labels/alpha/import/", sent)
        assert report.status_code == 200, report.content
        assert (report.json()["good"], report.json()["added"]) == (1, added)
    assert Label.objects.count() == before + 1
    again = client.post("/api/v1/labels/alpha/import/", files(topics=SimpleUploadedFile("t", topics.content)))
    assert again.status_code == 409


def test_the_api_hands_out_tasks(client_as: ClientAs, cast: Cast, here: None) -> None:
    project = make_project(cast)
    make_pairs(project, 1)
    answer = client_as(cast.admin).get(f"/api/v1/labeling-projects/{project.pk}/label-studio/")
    assert [task["data"]["question"] for task in answer.json()] == [project.pairs.get().question]
    for person in (cast.annotator, cast.outsider):
        refused = client_as(person).get(f"/api/v1/labeling-projects/{project.pk}/label-studio/")
        assert refused.status_code in {403, 404}


# --- Hugging Face -------------------------------------------------------------------------------------------


def test_the_dataset_is_json_lines_beside_a_card_that_names_them(
    scene: Scene, cast: Cast, client_as: ClientAs
) -> None:
    best = Candidate.objects.filter(run=scene.run).order_by("verdict__order")[0]
    role = "supporting" if best.verdict.role == "primary" else "primary"
    candidate_override(actor=cast.reviewer, candidate=best, role=role, reason_code="wrong_role")
    answer = client_as(cast.admin).get("/api/v1/labels/alpha/dataset/")
    assert answer["Content-Disposition"] == 'attachment; filename="labels-alpha.zip"'
    with zipfile.ZipFile(BytesIO(answer.content)) as archive:
        card = archive.read("README.md").decode()
        facts = yaml.safe_load(card.split("---")[1])
        (named,) = facts["configs"][0]["data_files"]
        rows = [json.loads(line) for line in archive.read(named["path"]).decode().splitlines()]
    (row,) = [row for row in rows if row["question"] == QUESTION]
    assert (row["label"], row["role"], row["question_id"]) == (1, role, TOPIC)
    assert row["passage"]
    assert f"{len(rows)} pairs" in card
    assert AuditEvent.objects.filter(action="labels.dataset_exported").count() == 1
