"""Question sets: written once, asked of many documents by any number of workers, read in a fixed number of queries."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import threading

import docx
import pytest
from django.db import connection
from openpyxl import load_workbook

from tests.workbench.cast import Cast
from tests.workbench.review.signed import signed
from tests.workbench.scene import make_document
from workbench.accounts.models import User
from workbench.checklists import export
from workbench.checklists.docx import round_docx
from workbench.checklists.models import Cell, Entry, QuestionSet, Round
from workbench.checklists.selectors import Grid, grid
from workbench.checklists.services import (
    cell_retry,
    question_set_change,
    question_set_create,
    questions_in,
    round_fill,
    round_start,
)
from workbench.documents.models import Document, DocumentStatus
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.review.models import QueueItem, ReasonCode
from workbench.review.results import run_result
from workbench.review.services import (
    candidate_approve,
    candidate_override,
    candidate_unsure,
    not_found_confirm,
    not_found_refute,
)
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Run, RunStatus

pytestmark = pytest.mark.usefixtures("here")

FOUND, LOST = "How long are access records kept?", "Which unicorns pay stamp duty?"
TODAY = dt.date(2026, 3, 1)


def make_set(cast: Cast, questions: list[str] | None = None) -> QuestionSet:
    return question_set_create(
        actor=cast.analyst, collection=cast.alpha, name="Records", questions=questions or [FOUND, LOST]
    )


def make_round(cast: Cast, question_set: QuestionSet, documents: list[Document], **options: object) -> Round:
    return round_start(
        actor=cast.analyst,
        question_set=question_set,
        documents=documents,
        strategy="offline",
        **options,  # type: ignore[arg-type]
    )


@pytest.fixture
def documents(cast: Cast) -> list[Document]:
    return [make_document(collection=cast.alpha, owner=cast.analyst, name=f"{n}.txt") for n in (1, 2)]


@pytest.fixture
def round_(cast: Cast, documents: list[Document]) -> Round:
    started = make_round(cast, make_set(cast), documents)
    round_fill(round_id=started.pk)
    return started


def carry_out(round_: Round) -> None:
    for run in Run.objects.filter(cells__round=round_).exclude(status=RunStatus.DONE):
        for stage in (run_detect, run_arbitrate, run_answer):
            stage(run_id=run.pk)


def cell_of(round_: Round, question: str, name: str = "1.txt") -> Cell:
    return round_.cells.select_related("run").get(entry__text=question, document__name=name)


def state(round_: Round, question: str) -> tuple[str, bool | None]:
    shown = _grid(round_)
    column = [entry.text for entry in shown.entries].index(question)
    cell = shown.rows[0].cells[column]
    assert cell is not None
    return cell.state, cell.found


def _grid(round_: Round) -> Grid:
    return grid(round_=Round.objects.get(pk=round_.pk), today=TODAY, viewer=User.objects.system())


class TestQuestions:
    def test_one_a_line_without_list_marks(self) -> None:
        assert questions_in("- Who?\n\n * What?\r\n• Where?  ") == ["Who?", "What?", "Where?"]

    @pytest.mark.parametrize(
        "text", ["", " \n - \n", "Who?\nWho?", "a" * 2001, "\n".join(f"Question {n}?" for n in range(201))]
    )
    def test_refused(self, text: str) -> None:
        with pytest.raises(WorkbenchError):
            questions_in(text)

    def test_a_name_is_given_once_in_a_collection(self, cast: Cast) -> None:
        make_set(cast)
        with pytest.raises(Conflict):
            make_set(cast)
        question_set_create(actor=cast.outsider, collection=cast.beta, name="Records", questions=[FOUND])

    def test_a_round_keeps_what_it_asked(self, cast: Cast, round_: Round) -> None:
        question_set_change(actor=cast.analyst, question_set=round_.question_set, questions=["Other?"])

        assert {entry.text for entry in _grid(round_).entries} == {FOUND, LOST}
        assert [e.text for e in round_.question_set.entries.filter(is_current=True)] == ["Other?"]

    def test_rights(self, cast: Cast, documents: list[Document]) -> None:
        question_set = make_set(cast)
        for actor in (cast.auditor, cast.outsider):
            with pytest.raises(NotAllowed):
                question_set_change(actor=actor, question_set=question_set, questions=["x?"])
            with pytest.raises(NotAllowed):
                round_start(actor=actor, question_set=question_set, documents=documents)


class TestRounds:
    def test_every_question_of_every_document(self, cast: Cast, round_: Round) -> None:
        assert round_.cells.count() == 4
        assert not round_.cells.filter(run__isnull=True).exists()

    def test_filling_again_asks_nothing(self, round_: Round) -> None:
        runs = Run.objects.count()

        assert round_fill(round_id=round_.pk) == 0
        assert Run.objects.count() == runs

    def test_a_document_named_twice_is_asked_once(self, cast: Cast, documents: list[Document]) -> None:
        assert make_round(cast, make_set(cast), [documents[0], documents[0]]).cells.count() == 2

    def test_refusals(self, cast: Cast, documents: list[Document]) -> None:
        question_set = make_set(cast)
        elsewhere = make_document(collection=cast.beta, owner=cast.outsider)
        for chosen in ([], [documents[0], elsewhere]):
            with pytest.raises(WorkbenchError):
                make_round(cast, question_set, chosen)
        assert not Round.objects.exists()

    def test_a_document_that_is_not_ready_fails_its_cells_only(
        self, cast: Cast, documents: list[Document]
    ) -> None:
        Document.objects.filter(pk=documents[0].pk).update(status=DocumentStatus.QUEUED)
        started = make_round(cast, make_set(cast), documents)

        assert round_fill(round_id=started.pk) == 4

        assert started.cells.filter(run__isnull=True).count() == 2
        assert all("not ready" in c.failure for c in started.cells.filter(run__isnull=True))

    def test_a_failed_cell_is_asked_again(self, cast: Cast, round_: Round) -> None:
        cell = cell_of(round_, FOUND)
        Run.objects.filter(pk=cell.run_id).update(status=RunStatus.FAILED, failure_reason="why")

        cell_retry(actor=cast.analyst, cell=cell)
        round_fill(round_id=round_.pk)

        assert cell_of(round_, FOUND).run_id not in (None, cell.run_id)

    @pytest.mark.parametrize("status", [RunStatus.QUEUED, RunStatus.ARBITRATING, RunStatus.DONE])
    def test_a_cell_on_its_way_or_answered_is_not(self, cast: Cast, round_: Round, status: str) -> None:
        cell = cell_of(round_, FOUND)
        Run.objects.filter(pk=cell.run_id).update(status=status)

        with pytest.raises(Conflict):
            cell_retry(actor=cast.analyst, cell=cell)
        assert cell_of(round_, FOUND).run_id == cell.run_id


class TestGrid:
    def test_its_queries_do_not_grow(self, cast: Cast, round_: Round, django_assert_num_queries) -> None:
        carry_out(round_)
        many = [make_document(collection=cast.alpha, owner=cast.analyst, name=f"m{n}") for n in range(6)]
        larger = make_round(
            cast,
            question_set_create(
                actor=cast.analyst,
                collection=cast.alpha,
                name="More",
                questions=[FOUND, LOST, "Who?", "Why so?"],
            ),
            many,
        )
        round_fill(round_id=larger.pk)

        viewer = User.objects.system()
        for one in (round_, larger):
            with django_assert_num_queries(1):
                shown = grid(round_=one, today=TODAY, viewer=viewer)
            assert shown.total == one.cells.count()

    def test_documents_and_questions_stand_in_their_order(self, round_: Round) -> None:
        shown = _grid(round_)

        assert [row.document.name for row in shown.rows] == ["1.txt", "2.txt"]
        assert [entry.text for entry in shown.entries] == [FOUND, LOST]

    def test_states(self, cast: Cast, round_: Round) -> None:
        assert state(round_, FOUND) == ("waiting", None)
        run = cell_of(round_, FOUND).run
        assert run is not None
        run_detect(run_id=run.pk)
        assert state(round_, FOUND) == ("running", None)

        carry_out(round_)
        assert state(round_, FOUND) == ("to_review", True)
        assert state(round_, LOST) == ("to_review", False)

        for item in QueueItem.objects.filter(run=run, is_required=True).select_related("candidate__verdict"):
            assert item.candidate is not None
            candidate_approve(actor=cast.reviewer, candidate=item.candidate)
        assert state(round_, FOUND) == ("decided", True)

        signed(run)
        assert state(round_, FOUND) == ("signed", True)
        Run.objects.filter(pk=run.pk).update(status=RunStatus.FAILED, failure_reason="why")
        assert state(round_, FOUND)[0] == "failed"

    def test_disputes(self, cast: Cast, round_: Round) -> None:
        carry_out(round_)
        cell = cell_of(round_, FOUND)
        assert cell.run is not None
        candidate = cell.run.candidates.filter(verdict__role="primary").first() or cell.run.candidates.first()
        assert candidate is not None
        candidate_unsure(actor=cast.reviewer, candidate=candidate)
        first = candidate_approve(actor=cast.second_reviewer, candidate=candidate)
        assert state(round_, FOUND)[0] != "disputed", "who cannot tell does not dispute"

        candidate_override(
            actor=cast.reviewer,
            candidate=candidate,
            role="tangential" if first.role != "tangential" else "primary",
            reason_code=ReasonCode.WRONG_ROLE,
            seen_review_id=first.pk,
        )
        assert state(round_, FOUND)[0] == "disputed"

    def test_a_refuted_not_found_is_a_dispute(self, cast: Cast, round_: Round) -> None:
        carry_out(round_)
        lost = cell_of(round_, LOST).run
        assert lost is not None
        not_found_confirm(actor=cast.reviewer, run=lost)
        assert state(round_, LOST) == ("decided", False)

        not_found_refute(actor=cast.reviewer, run=lost, comment="Page 3.")
        assert state(round_, LOST)[0] == "disputed"

    def test_found_is_what_the_record_says(self, cast: Cast, round_: Round) -> None:
        """People's roles count here as everywhere."""
        carry_out(round_)
        run = cell_of(round_, FOUND).run
        assert run is not None
        for candidate in run.candidates.select_related("verdict"):
            if candidate.verdict.role != "discarded":
                candidate_override(
                    actor=cast.reviewer,
                    candidate=candidate,
                    role="discarded",
                    reason_code=ReasonCode.WRONG_PASSAGE,
                )
        run.refresh_from_db()
        assert run_result(run).not_found
        assert state(round_, FOUND)[1] is False

        last = run.candidates.order_by("pk").last()
        assert last is not None
        role = "primary" if last.verdict.role != "primary" else "supporting"
        candidate_override(actor=cast.reviewer, candidate=last, role=role, reason_code=ReasonCode.WRONG_ROLE)
        assert not run_result(Run.objects.get(pk=run.pk)).not_found
        assert state(round_, FOUND)[1] is True

    @pytest.mark.parametrize(("due", "overdue"), [(-1, 4), (0, 0), (1, 0), (None, 0)])
    def test_overdue_is_after_the_day(self, cast: Cast, round_: Round, due: int | None, overdue: int) -> None:
        due_on = None if due is None else TODAY + dt.timedelta(days=due)
        Round.objects.filter(pk=round_.pk).update(due_on=due_on)

        assert _grid(round_).overdue == overdue


class TestExport:
    def test_no_cell_is_a_formula(self, cast: Cast) -> None:
        hostile = '=HYPERLINK("http://evil.example","x")'
        document = make_document(collection=cast.alpha, owner=cast.analyst, name="@SUM(A1).txt")
        started = make_round(cast, make_set(cast, [f"{hostile} who?", "+1 what?"]), [document])
        round_fill(round_id=started.pk)

        text = export.round_csv(grid=_grid(started))

        assert text.startswith("\ufeff")
        rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
        assert {row["question"] for row in rows} == {f"'{hostile} who?", "'+1 what?"}
        assert {row["document"] for row in rows} == {"'@SUM(A1).txt"}
        assert {row["found"] for row in rows} == {""}

        pages = docx.Document(io.BytesIO(round_docx(round_=started, grid=_grid(started))))
        assert [p.text for p in pages.paragraphs if p.style.name == "Heading 2"] == [document.title]
        header, *lines = ([cell.text for cell in row.cells] for row in pages.tables[0].rows)
        assert header == ["Question", "State", "Found", "Run"]
        assert {line[0] for line in lines} == {f"{hostile} who?", "+1 what?"}
        assert all(line[3].isdecimal() for line in lines)

        sheet = load_workbook(io.BytesIO(export.round_xlsx(round_=started, grid=_grid(started)))).active
        header, *cells = list(sheet.iter_rows())
        assert [cell.value for cell in header] == list(export.COLUMNS)
        assert {row[1].value for row in cells} == {f"{hostile} who?", "+1 what?"}
        assert "f" not in {cell.data_type for row in cells for cell in row}  # no formula
        assert all(row[0].quotePrefix for row in cells)

    def test_json_lines_hold_the_same(self, round_: Round) -> None:
        carry_out(round_)
        lines = export.round_jsonl(round_=round_, grid=_grid(round_)).splitlines()

        assert len(lines) == 4
        found = {(row["document"], row["question"]): row["found"] for row in map(json.loads, lines)}
        assert found == {
            (name, question): question == FOUND for name in ("1.txt", "2.txt") for question in (FOUND, LOST)
        }


# --- several at once ----------------------------------------------------------------------------------


def together(*work: object) -> None:
    both = threading.Barrier(len(work), timeout=120)

    def one(task: object) -> None:
        try:
            both.wait()
            task()  # type: ignore[operator]
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(task,)) for task in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


@pytest.mark.django_db(transaction=True)
def test_two_workers_ask_each_cell_once(cast: Cast) -> None:
    documents = [make_document(collection=cast.alpha, owner=cast.analyst, name=f"{n}.txt") for n in range(4)]
    started = make_round(cast, make_set(cast), documents)
    asked: list[int] = []

    def work() -> None:
        asked.append(round_fill(round_id=started.pk))

    together(work, work)

    assert sum(asked) == 8
    assert Run.objects.count() == 8
    assert not started.cells.filter(run__isnull=True).exists()


@pytest.mark.django_db(transaction=True)
def test_two_changes_at_once_leave_one_of_them(cast: Cast) -> None:
    question_set = make_set(cast)
    errors: list[BaseException] = []

    def change(questions: list[str]) -> None:
        try:
            question_set_change(actor=cast.analyst, question_set=question_set, questions=questions)
        except BaseException as error:
            errors.append(error)

    together(lambda: change(["One?", "Two?"]), lambda: change(["Three?", "Four?"]))

    current = list(Entry.objects.filter(is_current=True).order_by("ordinal").values_list("text", flat=True))
    assert errors == []
    assert current in (["One?", "Two?"], ["Three?", "Four?"])
