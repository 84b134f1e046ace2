"""Files of labels and pairs: checked row by row, taken in whole or not at all, each file once."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbitration.contracts import Role
from tests.workbench.cast import Cast
from tests.workbench.labeling.makers import make_project
from workbench.accounts.models import User
from workbench.documents.models import Document
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.labeling.models import Label, LabelImport, Pair, Project
from workbench.labeling.selectors import labels_for_gold
from workbench.labeling.transfer import labels_import, pairs_import

pytestmark = pytest.mark.usefixtures("here")
ClientAs = Callable[[User | None], Client]


@pytest.fixture
def project(cast: Cast) -> Project:
    return make_project(cast)


def jsonl(*rows: dict[str, object]) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


ROW = {
    "question": "How long are access records kept?",
    "document": "policy.txt",
    "page": 1,
    "line_from": 5,
    "role": "primary",
    "judge": "annotator@example.org",
}


def take_in(cast: Cast, content: bytes, **options: object):  # type: ignore[no-untyped-def]
    arguments = {"source": "annotator", "file_name": "labels.jsonl"} | options
    return labels_import(actor=cast.admin, collection=cast.alpha, content=content, **arguments)


class TestLabels:
    def test_rows_become_labels_of_members_and_of_outsiders(self, cast: Cast, project: Project) -> None:
        outside = {"judge": "Somebody else", "label": 0, "role": "", "line_from": 6, "seconds": 4.5}
        report = take_in(cast, jsonl(ROW, ROW | outside))

        assert (report.rows, report.added, report.bad_count) == (2, 2, 0)
        member, other = Label.objects.order_by("id")
        assert (member.person, member.judge_name, member.role) == (cast.annotator, "", "primary")
        assert (other.person, other.judge_name, other.role) == (None, "Somebody else", "discarded")
        assert (other.judge, other.seconds) == ("annotator:Somebody else", 4.5)
        assert member.blind is False
        assert labels_for_gold() == ()

    def test_a_passage_is_found_by_its_words(self, cast: Cast, project: Project) -> None:
        row = {name: value for name, value in ROW.items() if name not in {"page", "line_from"}}
        words = (
            "Access records are kept for\n  twenty-four MONTHS. The period starts on the day of the access."
        )
        take_in(cast, jsonl(row | {"text": words}))

        label = Label.objects.get()
        lines = label.document.lines.filter(page_num=1, line_num__range=(label.line_start, label.line_end))
        assert [line.text for line in lines] == [
            "Access records are kept for twenty-four months.",
            "The period starts on the day of the access.",
        ]

    def test_the_same_place_by_lines_and_by_words_is_one_passage(self, cast: Cast, project: Project) -> None:
        by_words = {"page": "", "line_from": "", "text": "Access records are kept for twenty-four months."}
        take_in(cast, jsonl(ROW, ROW | by_words | {"judge": "b"}))

        assert len({label.passage_key for label in Label.objects.all()}) == 1

    def test_a_gold_set_may_stand_in_the_holdout(self, cast: Cast, project: Project) -> None:
        take_in(cast, jsonl(ROW), is_gold=True)

        assert [row.role for row in labels_for_gold()] == [Role.PRIMARY]
        with pytest.raises(WorkbenchError, match="never by a model"):
            take_in(cast, jsonl(ROW), is_gold=True, source="llm")

    def test_a_model_needs_a_name_and_weighs_little(self, cast: Cast, project: Project) -> None:
        nameless = {name: value for name, value in ROW.items() if name != "judge"}
        assert take_in(cast, jsonl(nameless), source="llm").bad_count == 1

        take_in(cast, jsonl(nameless), source="llm", judge="small-model")
        label = Label.objects.get()
        assert (label.judge, label.person, label.source) == ("llm:small-model", None, "llm")
        assert label.weight < 0.5

    def test_a_csv_with_semicolons_and_our_own_apostrophes(self, cast: Cast, project: Project) -> None:
        text = (
            "Question;Document;Page;Line_From;Role;Judge\r\n"
            "'=How long are records kept?;policy.txt;1;5;primary;a\r\n"
        )
        assert take_in(cast, b"\xef\xbb\xbf" + text.encode()).added == 1
        assert Label.objects.get().question == "=How long are records kept?"


class TestBadRows:
    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            ({"question": " ?! "}, "question is missing"),
            ({"question": "long " * 2000}, "more than 4000"),
            ({"document": "other.txt"}, "no ready document"),
            ({"line_from": 4000}, "no line 4000"),
            ({"line_to": 4000}, "no line 4000"),
            ({"line_from": 6, "line_to": 5}, "no line"),
            ({"page": "one"}, "number from 1"),
            ({"page": "", "text": "This stands nowhere in it."}, "is not in the document"),
            ({"page": "", "text": "the of"}, "too short"),
            ({"page": "", "text": ""}, "page and lines, or its text"),
            ({"role": "important"}, "is not a role"),
            ({"role": "", "label": "2"}, "1 (evidence) or 0"),
            ({"role": ""}, "Give a role"),
            ({"judge": ""}, "Say who judged"),
            ({"seconds": "soon"}, "is a number"),
            ({"seconds": "-1"}, "from 0"),
        ],
    )
    def test_each_is_named_and_nothing_is_written(
        self, cast: Cast, project: Project, change: dict[str, object], problem: str
    ) -> None:
        report = take_in(cast, jsonl(ROW, ROW | change))

        assert [row.line for row in report.bad] == [2]
        assert problem in report.bad[0].problem
        assert report.added == 0
        assert not Label.objects.exists()
        assert not LabelImport.objects.exists()

    def test_a_dry_run_writes_nothing(self, cast: Cast, project: Project) -> None:
        report = take_in(cast, jsonl(ROW), dry_run=True)

        assert (report.good, report.added, report.dry_run) == (1, 0, True)
        assert not Label.objects.exists()

    def test_the_same_file_is_taken_in_once(self, cast: Cast, project: Project) -> None:
        take_in(cast, jsonl(ROW))
        with pytest.raises(Conflict):
            take_in(cast, jsonl(ROW), file_name="renamed.jsonl")
        assert Label.objects.count() == 1

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b"", "empty"),
            (b"\xff\xfe\x00", "UTF-8"),
            (b"a,b\n1,2\n", "must name the columns"),
            (b'question,document\n"broken', "not CSV"),
        ],
    )
    def test_no_such_file_at_all(self, cast: Cast, project: Project, content: bytes, problem: str) -> None:
        with pytest.raises(WorkbenchError, match=problem):
            take_in(cast, content)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
    @given(st.lists(st.text(max_size=40), max_size=4).map("\n".join))
    def test_hostile_files_end_in_words(self, cast: Cast, project: Project, text: str) -> None:
        """Whatever the file, it is a report or a refusal in words, never another error."""
        with contextlib.suppress(WorkbenchError):
            assert take_in(cast, text.encode("utf-8", "surrogatepass"), dry_run=True).good == 0

    def test_only_admins(self, cast: Cast, project: Project) -> None:
        for actor in (cast.annotator, cast.reviewer, cast.analyst, cast.auditor, cast.outsider):
            with pytest.raises(NotAllowed):
                labels_import(
                    actor=actor, collection=cast.alpha, content=jsonl(ROW), file_name="f", source="annotator"
                )
            with pytest.raises(NotAllowed):
                pairs_import(actor=actor, project=project, content=jsonl(ROW))


class TestPairs:
    def test_rows_become_pairs_and_a_role_is_the_known_answer(self, cast: Cast, project: Project) -> None:
        open_row = {
            "question": "Who lifts a legal hold?",
            "document": "policy.txt",
            "page": 1,
            "line_from": 9,
        }
        report = pairs_import(actor=cast.admin, project=project, content=jsonl(ROW, open_row, open_row))

        assert (report.added, report.known) == (2, 1)
        assert set(Pair.objects.values_list("gold_role", flat=True)) == {"primary", None}
        again = pairs_import(actor=cast.admin, project=project, content=jsonl(ROW, open_row))
        assert (again.added, again.known) == (0, 2)
        assert not Label.objects.exists()


class TestPageAndCommand:
    def test_the_page_checks_first_and_names_bad_rows(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        client, address = client_as(cast.admin), reverse("labeling:import", args=[project.pk])

        def send(content: bytes, **fields: str):  # type: ignore[no-untyped-def]
            file = SimpleUploadedFile("labels.jsonl", content)
            return client.post(address, {"file": file, "kind": "annotator", "judge": "", **fields})

        bad = send(jsonl(ROW, ROW | {"role": "important"}), dry_run="on")
        good = send(jsonl(ROW), dry_run="on")
        done = send(jsonl(ROW))

        assert bad.status_code == 422
        assert "is not a role" in bad.content.decode()
        assert "The file is valid" in good.content.decode()
        assert "The file was imported" in done.content.decode()
        assert Label.objects.count() == 1

    def test_the_command_prints_one_json_value(
        self, cast: Cast, project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "labels.jsonl"
        path.write_bytes(jsonl(ROW, ROW | {"line_from": 6}))
        arguments = ["import_labels", str(path), "--collection", "alpha", "--source", "annotator", "--json"]

        call_command(*arguments, "--dry-run")
        dry = json.loads(capsys.readouterr().out)
        call_command(*arguments)
        done = json.loads(capsys.readouterr().out)

        assert (dry["dry_run"], dry["good"], dry["added"]) == (True, 2, 0)
        assert (done["dry_run"], done["rows"], done["added"]) == (False, 2, 2)
        assert Label.objects.count() == 2

    def test_the_command_refuses_bad_rows_and_wrong_use(
        self, cast: Cast, project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "labels.jsonl"
        path.write_bytes(jsonl(ROW | {"role": "important"}))
        arguments = ["import_labels", str(path), "--source", "annotator", "--json", "--collection"]

        with pytest.raises(CommandError) as refused:
            call_command(*arguments, "alpha")
        assert refused.value.returncode == 1
        assert json.loads(capsys.readouterr().out)["bad"][0]["line"] == 1
        with pytest.raises(CommandError) as wrong:
            call_command(*arguments, "nowhere")
        assert wrong.value.returncode == 2

    def test_an_outsiders_document_is_not_found(self, cast: Cast, project: Project) -> None:
        Document.objects.update(collection=cast.beta)

        assert take_in(cast, jsonl(ROW)).bad_count == 1
