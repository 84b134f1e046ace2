"""``manage.py ingest``: every file gets an outcome, in the order asked, and wrong use is refused before anything."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now

from arbitration.errors import ParseFailure
from workbench.accounts.selectors import system_user
from workbench.audit.models import AuditEvent
from workbench.documents import intake
from workbench.documents.intake import Waiting, collection_ensure, documents_await, files_ingest
from workbench.documents.models import Collection, Document, DocumentStatus

MARKDOWN = "# Rules\n\n## 1 Scope\n\nThis applies to everyone.\n\n## 2 Retention\n\nRecords are kept for ten years.\n"
KEYS = ["file", "status", "reason", "pages", "lines", "sections", "section_depth", "passages", "seconds"]


@pytest.fixture(autouse=True)
def storage(settings, tmp_path: Path) -> None:
    default = dict(settings.STORAGES["default"])
    default["OPTIONS"] = {**default["OPTIONS"], "location": str(tmp_path / "storage")}
    settings.STORAGES = {**settings.STORAGES, "default": default}


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Nobody takes a message; the ids that were sent."""
    sent: list[int] = []
    monkeypatch.setattr("workbench.infra.dispatch.dispatch", lambda _, document_id: sent.append(document_id))
    return sent


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker runs, and the command does not wait for one."""
    monkeypatch.setattr(intake.Waiting, "__init__", _impatient)


def _impatient(self: Waiting, **_: object) -> None:
    object.__setattr__(self, "monotonic", lambda: 0.0)
    object.__setattr__(self, "sleep", lambda _: pytest.fail("it waited"))
    object.__setattr__(self, "patience", 0.0)


def write(folder: Path, name: str, content: str | bytes = MARKDOWN) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def ingest(*arguments: object) -> list[dict]:
    output = StringIO()
    call_command("ingest", "--json", "--collection", "papers", *map(str, arguments), stdout=output)
    return json.loads(output.getvalue())


# --- outcomes ---------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_broker", "impatient")
class TestOutcomes:
    """With the real parser and encoder, in this process: no worker runs."""

    def test_a_ready_file_has_its_figures(self, tmp_path: Path) -> None:
        path = write(tmp_path, "rules.md")

        (row,) = ingest(path)

        assert list(row) == KEYS
        assert (row["file"], row["status"], row["reason"]) == (str(path), "ready", "")
        assert (row["sections"], row["section_depth"]) == (3, 2)
        assert row["lines"] >= 5
        assert row["passages"] >= 1
        assert row["pages"] == 1
        assert row["seconds"] > 0

    def test_the_collection_is_created_once_and_by_the_system(self, tmp_path: Path) -> None:
        ingest(write(tmp_path, "a.md"))
        ingest(write(tmp_path, "b.md", MARKDOWN + "\nMore.\n"))

        collection = Collection.objects.get(slug="papers")
        assert collection.name == "Papers"
        assert collection.documents.count() == 2
        assert set(AuditEvent.objects.filter(actor_kind="system").values_list("actor_name", flat=True)) == {
            "system"
        }

    def test_the_same_bytes_are_a_duplicate_with_the_figures_of_the_first(self, tmp_path: Path) -> None:
        first, second = ingest(write(tmp_path, "a.md"), write(tmp_path, "b.md"))
        (third,) = ingest(tmp_path / "b.md")

        assert first["status"] == "ready"
        for row in (second, third):
            assert row["status"] == "duplicate"
            assert "a.md" in row["reason"]
            assert [row[key] for key in KEYS[3:]] == [first[key] for key in KEYS[3:]]

    def test_bad_files_fail_with_a_reason_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        rows = ingest(
            write(tmp_path, "empty.md", ""),
            write(tmp_path, "program.exe", b"MZ\x90\x00" + bytes(range(256))),
            write(tmp_path, "rules.md"),
        )

        assert [row["status"] for row in rows] == ["failed", "failed", "ready"]
        assert all(row["reason"] for row in rows[:2])
        assert rows[0]["pages"] == 0

    def test_a_duplicate_of_a_failure_says_why_that_failed(self, tmp_path: Path) -> None:
        path = write(tmp_path, "program.exe", b"MZ\x90\x00" + bytes(range(256)))
        (failed,) = ingest(path)

        (row,) = ingest(path)

        assert row["status"] == "duplicate"
        assert failed["reason"] in row["reason"]

    def test_a_folder_means_its_files_sorted(self, tmp_path: Path) -> None:
        for name in ("b.md", "a.md", "deeper/c.md"):
            write(tmp_path / "in", name, MARKDOWN + name)

        rows = ingest(tmp_path / "in", tmp_path / "in" / "a.md")

        names = [Path(row["file"]).name for row in rows]
        assert names == ["a.md", "b.md", "c.md"]

    def test_people_read_a_table_with_reasons_below(self, tmp_path: Path) -> None:
        out, err = StringIO(), StringIO()
        paths = [str(write(tmp_path, "rules.md")), str(write(tmp_path, "empty.md", ""))]
        call_command("ingest", *paths, "--collection", "papers", stdout=out, stderr=err)

        assert "ready" in out.getvalue()
        assert "empty.md: The file is empty" in out.getvalue()
        assert "uploaded" in err.getvalue()

    def test_a_pattern_chooses_among_the_files_of_folders(self, tmp_path: Path) -> None:
        for name in ("a.MD", "b.txt", "deeper/c.md", "d.json"):
            write(tmp_path / "in", name, MARKDOWN + name)

        rows = ingest(tmp_path / "in", tmp_path / "in" / "d.json", "--only", "*.md", "--only", "c.*")

        assert [Path(row["file"]).name for row in rows] == ["a.MD", "c.md", "d.json"]

    def test_a_summary_counts_outcomes_and_groups_failures_by_reason(self, tmp_path: Path) -> None:
        paths = [write(tmp_path, "rules.md"), write(tmp_path, "again.md")]
        paths += [write(tmp_path, f"empty{n}.md", "") for n in range(7)]
        out = StringIO()
        call_command("ingest", *map(str, paths), "--collection", "papers", stdout=out, stderr=StringIO())

        summary = out.getvalue().rsplit("\n\n", 1)[1]
        assert "9 files in" in summary
        assert "1 ready, 1 duplicate, 7 failed." in summary
        assert "7 x The file is empty. Choose another one. (empty0.md, " in summary
        assert "empty4.md and 2 more)" in summary

    def test_a_resumed_command_tells_what_it_took_in_from_copies_of_other_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "in"
        for name in ("1.md", "2.md", "4.md"):
            write(folder, name, f"{MARKDOWN}\n{name}\n")
        write(folder, "3-copy-of-1.md", f"{MARKDOWN}\n1.md\n")
        write(folder, "deeper/2.md", f"{MARKDOWN}\n2.md\n")
        write(folder, "program.exe", b"MZ\x90\x00" + bytes(range(256)))
        self._interrupt_at_the_third_wait(monkeypatch, folder)
        out = StringIO()

        call_command("ingest", str(folder), "--collection", "papers", stdout=out, stderr=StringIO())

        table, reasons, summary = out.getvalue().rsplit("\n\n", 2)
        words = {line.split()[-1]: line.rsplit(maxsplit=7)[0] for line in table.splitlines()[1:]}
        here, copy = "already taken in", "duplicate"
        assert {str(Path(path).relative_to(folder)): word for path, word in words.items()} == {
            "1.md": here,
            "2.md": here,
            "3-copy-of-1.md": copy,
            "4.md": here,
            "deeper/2.md": copy,
            "program.exe": here,
        }
        assert "3-copy-of-1.md: The same bytes are here already as 1.md." in reasons
        assert "deeper/2.md: The same bytes are here already as 2.md." in reasons
        assert "/4.md: This file was imported already" in reasons
        # The command was stopped after two documents: of the others one was read while it waited, and one failed.
        assert "4 already taken in, 2 duplicate." in summary
        assert "New: 1 pages, 3 passages, " in summary
        assert "1 x " in summary
        assert "(program.exe)" in summary

    @staticmethod
    def _interrupt_at_the_third_wait(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        work, done = intake._ingest_here, []

        def interrupted(document_id: int) -> None:
            if len(done) == 2:
                raise KeyboardInterrupt
            done.append(work(document_id))

        with monkeypatch.context() as patch:
            patch.setattr(intake, "_ingest_here", interrupted)
            with pytest.raises(CommandError, match="Interrupted"):
                ingest(folder)

    def test_scripts_read_the_same_fields_of_what_was_taken_in_before(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.md")
        (first,) = ingest(path)

        (row,) = ingest(path)

        assert list(row) == KEYS
        assert row["status"] == "duplicate"
        assert row["reason"].startswith("This file was imported already")
        assert [row[key] for key in KEYS[3:]] == [first[key] for key in KEYS[3:]]

    def test_what_failed_is_tried_again_when_asked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = write(tmp_path, "rules.md")
        with monkeypatch.context() as patch:
            patch.setattr("workbench.documents.ingest._parse", out_of_order)
            (failed,) = ingest(path)
        (unchanged,) = ingest(path)
        (again,) = ingest(path, "--retry-failed")

        assert [row["status"] for row in (failed, unchanged, again)] == ["failed", "duplicate", "ready"]

    def test_ctrl_c_says_what_is_done_and_the_same_command_goes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        paths = [write(tmp_path, f"{n}.md", f"{MARKDOWN}\n{n}\n") for n in range(3)]
        upload, seen = intake.document_upload, []

        def interrupted(**given: object) -> object:
            seen.append(given["name"])
            if len(seen) == 3:
                raise KeyboardInterrupt
            return upload(**given)

        with monkeypatch.context() as patch:
            patch.setattr(intake, "document_upload", interrupted)
            with pytest.raises(CommandError, match="2 of 3 files are uploaded and 0 of these") as caught:
                ingest(*paths)

        assert caught.value.returncode == 130
        assert "Run the same command again" in str(caught.value)
        assert [row["status"] for row in ingest(*paths)] == ["duplicate", "duplicate", "ready"]
        assert Document.objects.filter(status=DocumentStatus.READY).count() == 3

    def test_ctrl_c_while_reading_counts_what_has_ended(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        paths = [write(tmp_path, f"{n}.md", f"{MARKDOWN}\n{n}\n") for n in range(2)]
        work, done = intake._ingest_here, []

        def interrupted(document_id: int) -> None:
            if done:
                raise KeyboardInterrupt
            done.append(work(document_id))

        monkeypatch.setattr(intake, "_ingest_here", interrupted)
        with pytest.raises(CommandError, match="2 of 2 files are uploaded and 1 of these are finished"):
            ingest(*paths)

    def test_an_encrypted_file_opens_with_its_password(self, tmp_path: Path, locked_pdf: bytes) -> None:
        path = write(tmp_path, "locked.pdf", locked_pdf)

        (refused,) = ingest(path)
        (opened,) = ingest(path, "--password", "locked.pdf=let me in")

        assert refused["status"] == "failed"
        assert "password" in refused["reason"].lower()
        assert (opened["status"], opened["reason"]) == ("ready", "")
        assert opened["pages"] == 1
        trail = json.dumps(list(AuditEvent.objects.values("before", "after", "reason")))
        assert "let me in" not in trail

    def test_a_first_upload_with_a_password_needs_no_second_try(
        self, tmp_path: Path, locked_pdf: bytes
    ) -> None:
        path = write(tmp_path, "locked.pdf", locked_pdf)

        (row,) = ingest(path, "--password", f"{path}=let me in")

        assert row["status"] == "ready"
        assert Document.objects.get().attempts == 1

    def test_a_name_with_the_sign_between_name_and_word_still_names_its_file(
        self, tmp_path: Path, locked_pdf: bytes
    ) -> None:
        path = write(tmp_path, "for=board.pdf", locked_pdf)

        (row,) = ingest(path, "--password", "for=board.pdf=let me in")

        assert row["status"] == "ready"

    def test_a_wrong_password_fails_and_a_password_changes_nothing_about_a_duplicate(
        self, tmp_path: Path, locked_pdf: bytes
    ) -> None:
        path = write(tmp_path, "locked.pdf", locked_pdf)

        (wrong,) = ingest(path, "--password", "locked.pdf=wrong")
        (opened,) = ingest(path, "--password", "locked.pdf=let me in")
        (again,) = ingest(path, "--password", "locked.pdf=wrong")

        assert [row["status"] for row in (wrong, opened, again)] == ["failed", "ready", "duplicate"]


def out_of_order(*_: object, **__: object) -> None:
    raise ParseFailure("out_of_order", "The reader is out of order.")


@pytest.fixture
def locked_pdf() -> bytes:
    from io import BytesIO

    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    buffer = BytesIO()
    canvas = Canvas(buffer, encrypt=StandardEncryption("let me in", strength=128))
    canvas.drawString(72, 700, "Records are kept for ten years.")
    canvas.save()
    return buffer.getvalue()


# --- refusals ---------------------------------------------------------------------------------------


@pytest.mark.django_db
class TestRefusals:
    """Nothing is uploaded and no collection is made."""

    def test_a_missing_file_is_refused_before_anything(self, tmp_path: Path) -> None:
        present = write(tmp_path, "here.md")

        with pytest.raises(CommandError, match=r"gone\.md") as caught:
            ingest(present, tmp_path / "gone.md")

        assert caught.value.returncode == 1
        assert not Collection.objects.exists()

    def test_a_pattern_that_no_file_of_a_folder_has_is_refused(self, tmp_path: Path) -> None:
        write(tmp_path, "a.md")

        with pytest.raises(CommandError, match=r"no files named \*\.pdf"):
            ingest(tmp_path, "--only", "*.pdf")

    def test_an_empty_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="no files"):
            ingest(tmp_path)

    def test_a_password_for_no_file_is_wrong_use(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match=r"other\.pdf") as caught:
            ingest(write(tmp_path, "a.md"), "--password", "other.pdf=word")

        assert caught.value.returncode == 2
        assert not Document.objects.exists()

    @pytest.mark.parametrize("word", ["nothing", "=word", "file="])
    def test_a_password_names_file_and_word(self, tmp_path: Path, word: str) -> None:
        with pytest.raises(CommandError, match="FILE=WORD"):
            ingest(write(tmp_path, "a.md"), "--password", word)

    def test_a_slug_is_a_short_name(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="short name"):
            call_command("ingest", str(write(tmp_path, "a.md")), "--collection", "no spaces")


def test_wrong_use_ends_with_status_two_and_a_hint(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "django",
            "ingest",
            "--settings",
            "workbench.settings.test",
            "--pythonpath",
            ".",
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert "--collection" in done.stderr


# --- waiting ----------------------------------------------------------------------------------------


@dataclass
class Time:
    """A clock that moves when somebody sleeps; what happens meanwhile is in ``events``."""

    now: float = 0.0
    pauses: list[float] = field(default_factory=list)
    events: list[Callable[[], object]] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)
        if self.events:
            self.events.pop(0)()

    def waiting(self, *, patience: float = 30.0) -> Waiting:
        return Waiting(monotonic=self.monotonic, sleep=self.sleep, patience=patience)


def queued(collection: Collection, number: int) -> Document:
    return Document.objects.create(
        collection=collection,
        sha256=f"{number:064}",
        name=f"{number}.md",
        size=1,
        file="x",
        uploaded_by=system_user(),
    )


@pytest.fixture
def papers(db) -> Collection:
    return collection_ensure(actor=system_user(), slug="papers")


@pytest.fixture
def done_here(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Documents that the waiting process ingested itself."""
    done: list[int] = []

    def work(document_id: int, *, password: str | None = None) -> None:
        done.append(document_id)
        Document.objects.filter(pk=document_id).update(status=DocumentStatus.READY)

    monkeypatch.setattr(intake, "_ingest_here", work)
    return done


def finish(document: Document) -> Callable[[], object]:
    return lambda: Document.objects.filter(pk=document.pk).update(status=DocumentStatus.READY)


def test_waits_for_the_workers(papers: Collection, done_here: list[int]) -> None:
    first, second = queued(papers, 1), queued(papers, 2)
    time = Time(events=[finish(second), lambda: None, finish(first)])

    documents_await(document_ids=[first.pk, second.pk], waiting=time.waiting())

    assert len(time.pauses) == 3
    assert time.pauses == sorted(time.pauses)
    assert max(time.pauses) <= 1.0
    assert done_here == []


def test_does_the_work_itself_when_no_worker_comes(papers: Collection, done_here: list[int]) -> None:
    documents = [queued(papers, 1), queued(papers, 2)]
    time = Time()

    documents_await(document_ids=[document.pk for document in documents], waiting=time.waiting(patience=30.0))

    assert done_here == [document.pk for document in documents]
    assert 30.0 <= time.now <= 32.0


def test_a_worker_busy_with_other_documents_is_waited_for(papers: Collection, done_here: list[int]) -> None:
    mine, others = queued(papers, 1), queued(papers, 2)
    far = Now() + timedelta(hours=1)
    Document.objects.filter(pk=others.pk).update(status=DocumentStatus.PARSING, lease_until=far)
    time = Time(events=[*[lambda: None] * 100, finish(mine)])

    documents_await(document_ids=[mine.pk], waiting=time.waiting())

    assert time.now > 60
    assert done_here == []


def test_a_document_deleted_meanwhile_ends_the_wait(papers: Collection, done_here: list[int]) -> None:
    document = queued(papers, 1)

    documents_await(document_ids=[document.pk], waiting=Time(events=[lambda: document.delete()]).waiting())

    assert done_here == []


@pytest.mark.django_db(transaction=True)
def test_a_file_with_a_password_is_done_before_any_worker_hears_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def work(document_id: int, *, password: str | None = None) -> None:
        order.append(f"ingested with {password}")
        Document.objects.filter(pk=document_id).update(status=DocumentStatus.READY)

    monkeypatch.setattr(intake, "_ingest_here", work)
    monkeypatch.setattr("workbench.infra.dispatch.dispatch", lambda _, document_id: order.append("sent"))
    path = write(tmp_path, "locked.pdf")

    (outcome,) = files_ingest(
        actor=system_user(),
        collection=collection_ensure(actor=system_user(), slug="papers"),
        paths=[path],
        passwords={path: "word"},
        waiting=Time().waiting(),
    )

    assert order == ["ingested with word", "sent"]
    assert outcome.status == "ready"


@pytest.mark.django_db
def test_a_crash_of_the_work_is_counted_by_the_row_and_not_the_end_of_the_command(
    papers: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = queued(papers, 1)
    calls: list[int] = []

    def crash(*, document_id: int, password: str | None = None) -> None:
        calls.append(document_id)
        if len(calls) == 3:
            finish(document)()
            return
        raise RuntimeError("a bug")

    monkeypatch.setattr("workbench.documents.intake.document_ingest", crash)

    documents_await(document_ids=[document.pk], waiting=Time().waiting(patience=0.0))

    assert len(calls) == 3


# --- the bar ----------------------------------------------------------------------------------------


class Terminal(StringIO):
    """A terminal that keeps what was written to it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_broker", "impatient")
@pytest.mark.parametrize("as_json", [False, True])
def test_a_terminal_shows_bars_and_json_shows_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    out = StringIO()
    options = ["--json"] if as_json else []
    call_command("ingest", str(write(tmp_path, "a.md", "")), "--collection", "papers", *options, stdout=out)

    shown = terminal.getvalue()
    if as_json:
        assert shown == ""
        assert json.loads(out.getvalue())[0]["status"] == "failed"
    else:
        assert "uploading: 100%" in shown
        assert "1/1" in shown
        assert "refused" in shown
