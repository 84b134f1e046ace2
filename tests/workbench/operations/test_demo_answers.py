"""The demo keeps its promises: each example question finds what it says, without any language model, whether the
rules estimate or the model that ships."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from django.db.models import QuerySet

from workbench.accounts.selectors import system_user
from workbench.documents.intake import Waiting, documents_await
from workbench.documents.models import Collection, Document
from workbench.operations.demo.questions import DEMO_QUESTIONS, DemoQuestion
from workbench.operations.demo.services import demo_create
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Candidate, Run
from workbench.runs.services import question_ask


@pytest.mark.django_db(transaction=True)
def test_every_example_question_finds_what_it_promises(
    settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WORKBENCH_HOME = tmp_path
    default = dict(settings.STORAGES["default"])
    default["OPTIONS"] = {**default["OPTIONS"], "location": str(tmp_path / "files")}
    settings.STORAGES = {**settings.STORAGES, "default": default}
    monkeypatch.setattr("workbench.infra.dispatch.dispatch", lambda *_, **__: True)

    demo = demo_create(actor=system_user())
    documents_await(document_ids=demo.document_ids, waiting=Waiting(patience=0.0))

    assert {
        document.name: document.failure_reason for document in Document.objects.exclude(status="ready")
    } == {}
    for question in DEMO_QUESTIONS:
        check(question, answered(question), estimated_by="rule")
    # The index holds document text, and the folder around it may be passable.
    assert stat.S_IMODE((tmp_path / "index").stat().st_mode) == 0o700


def answered(question: DemoQuestion) -> Run:
    collection = Collection.objects.get(slug="demo")
    document = Document.objects.get(name=question.document) if question.document else None
    run = question_ask(
        actor=system_user(), collection=collection, document=document, text=question.text, strategy="offline"
    ).run
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=run.pk)
    run.refresh_from_db()
    return run


def check(question: DemoQuestion, run: Run, *, estimated_by: str) -> None:
    assert run.status == "done", run.failure_reason
    assert run.not_found is not question.is_answerable
    if run.not_found:  # a rule proves it, whoever estimates
        assert run.not_found_reason.startswith("no_keyword_match")
        return
    candidates = Candidate.objects.filter(run=run)
    assert estimated_by in {kind for (kind,) in candidates.values_list("verdict__decided_by_kind")}
    evidence = candidates.filter(verdict__role__in=["primary", "supporting"])
    for name, words in question.expects.items():
        assert holds(evidence, name, words), f"{question.text}: {words!r} of {name}"
    for name, words in question.completes.items():
        known = evidence | candidates.filter(verdict__needs_person=True)
        assert holds(known, name, words), f"{question.text}: {words!r} of {name}"


def holds(candidates: QuerySet[Candidate], name: str, words: str) -> bool:
    found = candidates.filter(document__name=name).values_list("text__context", flat=True)
    return any(words in " ".join(text.split()) for text in found)
