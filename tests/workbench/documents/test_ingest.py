"""Ingestion: every document ends ready or failed with a reason, whatever happens to its worker on the way."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.db.models.functions import Now
from hypothesis import given
from hypothesis import strategies as st

from arbitration.documents import Line, Page, ParsedDocument, Section
from arbitration.errors import LLMFailure, ParseFailure
from tests.workbench.cast import Cast
from tests.workbench.scene import HashEmbedder, parsed
from workbench.audit.models import AuditEvent
from workbench.documents import ingest, tasks
from workbench.documents.embedding import active_space
from workbench.documents.extents import section_extents
from workbench.documents.ingest import document_ingest, parsed_document_add
from workbench.documents.models import Collection, Document, DocumentStatus, PassageVector
from workbench.documents.services import document_cancel, document_retry, document_upload
from workbench.infra.leases import LeaseLost
from workbench.infra.storable import storable

#: Rows of a document, and what tells two readings of it apart.
ROWS = {
    "pages": ("page_num", "text"),
    "sections": ("ordinal", "section_id", "title", "start_page", "line_start", "end_page", "line_end"),
    "lines": ("page_num", "line_num", "text", "section_id"),
    "passages": ("ordinal", "line_start", "line_end", "text", "text_hash"),
}


@pytest.fixture(autouse=True)
def _reader(here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No parser process and no encoder: what a document says is given."""
    monkeypatch.setattr(ingest, "current_embedder", HashEmbedder)
    monkeypatch.setattr(ingest, "_parse", lambda document, **_: parsed())


@pytest.fixture
def document(cast: Cast) -> Document:
    return uploaded(cast)


def uploaded(cast: Cast, content: bytes = b"some bytes") -> Document:
    file = ContentFile(content, name="policy.txt")
    return document_upload(actor=cast.analyst, collection=cast.alpha, file=file, name="policy.txt").document


def rows_of(document: Document) -> dict[str, list[tuple[object, ...]]]:
    return {name: sorted(getattr(document, name).values_list(*columns)) for name, columns in ROWS.items()}


def dies(*_: object, **__: object) -> None:
    """As a worker that is killed: nothing is caught, nothing is tidied up."""
    raise SystemExit


def lapse(document: Document) -> None:
    """The worker is gone and its lease ran out."""
    Document.objects.filter(pk=document.pk).update(
        lease_owner="gone", lease_until=Now() - timedelta(seconds=1)
    )


def reasons(document: Document) -> tuple[str, str, str]:
    document.refresh_from_db()
    return document.status, document.failure_code, document.failure_reason


class TestToTheEnd:
    def test_a_document_becomes_ready_with_its_figures(self, document: Document) -> None:
        epoch = document.collection.index_epoch
        document_ingest(document_id=document.pk)

        document.refresh_from_db()
        assert document.status == DocumentStatus.READY
        assert (document.line_count, document.section_count, document.passage_count) == (10, 3, 3)
        assert document.lease_owner == ""
        assert document.lease_until is None
        assert PassageVector.objects.filter(document=document).count() == 3
        for vector in PassageVector.objects.filter(document=document).select_related("passage"):
            given = HashEmbedder().embed([vector.passage.text])[0]
            assert np.array_equal(np.asarray(vector.embedding, np.float32), given)
            assert (vector.collection_id, vector.space) == (document.collection_id, active_space())
        assert Collection.objects.get(pk=document.collection_id).index_epoch == epoch + 1
        assert AuditEvent.objects.filter(action="document.ready", object_id=str(document.pk)).count() == 1

    def test_a_document_that_has_ended_is_left_alone(self, document: Document, monkeypatch) -> None:
        document_ingest(document_id=document.pk)
        passages = list(document.passages.values_list("pk", flat=True))
        read: list[object] = []
        monkeypatch.setattr(ingest, "_parse", lambda *given, **_: read.append(given))

        document_ingest(document_id=document.pk)
        document_ingest(document_id=0)

        assert read == []
        assert list(document.passages.values_list("pk", flat=True)) == passages

    def test_hostile_text_is_stored_without_what_the_database_cannot_hold(
        self, document: Document, monkeypatch
    ) -> None:
        text = {"1 Ti\x00tle": ["one \x00 two", "half \ud83d of a pair"]}
        hostile = parsed(text).model_copy(update={"title": "A\x00B\udfff", "warnings": ("w\x00",)})
        monkeypatch.setattr(ingest, "_parse", lambda *_, **__: hostile)

        document_ingest(document_id=document.pk)

        document.refresh_from_db()
        assert (document.status, document.title, document.warnings) == (DocumentStatus.READY, "AB", ["w"])
        assert [line.text for line in document.lines.all()] == ["1 Title", "one  two", "half  of a pair"]

    def test_a_document_without_text_is_ready_and_empty(self, document: Document, monkeypatch) -> None:
        empty = ParsedDocument(kind="text", pages=(Page(page_num=1, text=""),), lines=())
        monkeypatch.setattr(ingest, "_parse", lambda *_, **__: empty)

        document_ingest(document_id=document.pk)

        document.refresh_from_db()
        assert (document.status, document.line_count, document.title) == ("ready", 0, "policy.txt")


class TestFailure:
    @pytest.mark.parametrize(
        ("failure", "code"),
        [
            (ParseFailure("corrupt", "The file is damaged. Save it again."), "corrupt"),
            (ParseFailure("corrupt", "dam\x00aged \udcff"), "corrupt"),
            (ParseFailure("crashed", " "), "crashed"),
            (ParseFailure("x" * 80, "A long code."), "x" * 40),
            (LLMFailure("timeout", "The encoder did not answer."), "embedding"),
        ],
    )
    def test_it_says_why(
        self, document: Document, monkeypatch: pytest.MonkeyPatch, failure: Exception, code: str
    ) -> None:
        def fails(*_: object, **__: object) -> None:
            raise failure

        monkeypatch.setattr(ingest, "_parse", fails)
        document_ingest(document_id=document.pk)

        status, found, reason = reasons(document)
        assert (status, found) == (DocumentStatus.FAILED, code)
        assert reason.strip()
        assert AuditEvent.objects.filter(action="document.failed").count() == 1

    def test_an_encoder_of_another_space_is_refused_by_name(self, document: Document, monkeypatch) -> None:
        class Other(HashEmbedder):
            space = "another-encoder/384"

        monkeypatch.setattr(ingest, "current_embedder", Other)
        document_ingest(document_id=document.pk)

        status, code, reason = reasons(document)
        assert (status, code) == (DocumentStatus.FAILED, "embedding_space")
        assert "another-encoder/384" in reason
        assert "reembed" in reason

    def test_another_try_begins_anew(self, document: Document, cast: Cast, monkeypatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(ingest, "_parse", _corrupt)
            document_ingest(document_id=document.pk)

        document_retry(actor=cast.analyst, document=document)
        document.refresh_from_db()
        assert (document.status, document.attempts, document.failure_reason) == ("queued", 0, "")

        document_ingest(document_id=document.pk)
        assert reasons(document) == (DocumentStatus.READY, "", "")

    def test_the_original_is_gone(self, document: Document, monkeypatch) -> None:
        monkeypatch.undo()
        monkeypatch.setattr("workbench.infra.leases.Heartbeat._renew", lambda self: None)
        document.file.storage.delete(document.file.name)

        document_ingest(document_id=document.pk)

        status, _, reason = reasons(document)
        assert status == DocumentStatus.FAILED
        assert reason


def _corrupt(*_: object, **__: object) -> None:
    raise ParseFailure("corrupt", "The file is damaged.")


class TestCancel:
    @pytest.mark.parametrize("step", ["_parse", "_take_in", "_embed"])
    def test_a_cancelled_document_stays_cancelled(
        self, document: Document, cast: Cast, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        work = getattr(ingest, step)

        def cancelled_meanwhile(*args: object, **kwargs: object) -> object:
            document_cancel(actor=cast.analyst, document=document)
            return work(*args, **kwargs)

        monkeypatch.setattr(ingest, step, cancelled_meanwhile)
        document_ingest(document_id=document.pk)

        document.refresh_from_db()
        assert document.status == DocumentStatus.CANCELLED
        assert document.lease_owner == ""
        assert not AuditEvent.objects.filter(action__in=["document.ready", "document.failed"]).exists()

    def test_a_failure_after_the_cancelling_changes_nothing(
        self, document: Document, cast: Cast, monkeypatch
    ) -> None:
        def fails(*_: object, **__: object) -> None:
            document_cancel(actor=cast.analyst, document=document)
            raise ParseFailure("corrupt", "The file is damaged.")

        monkeypatch.setattr(ingest, "_parse", fails)
        document_ingest(document_id=document.pk)

        assert reasons(document)[0] == DocumentStatus.CANCELLED


class TestLostWorkers:
    @pytest.mark.parametrize("step", ["_parse", "_store", "_embed", "_finish"])
    def test_another_attempt_ends_with_the_same_rows(
        self, cast: Cast, document: Document, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        undisturbed = uploaded(cast, b"other bytes")
        document_ingest(document_id=undisturbed.pk)
        with monkeypatch.context() as patch:
            patch.setattr(ingest, step, dies)
            with pytest.raises(SystemExit):
                document_ingest(document_id=document.pk)
        lapse(document)

        woken: list[int] = []
        monkeypatch.setattr(tasks, "dispatch", lambda task, document_id: woken.append(document_id) or True)
        assert tasks.sweep() == 1
        assert woken == [document.pk]
        document_ingest(document_id=document.pk)

        assert reasons(document) == (DocumentStatus.READY, "", "")
        assert document.attempts == 2
        assert rows_of(document) == rows_of(undisturbed)
        assert PassageVector.objects.filter(document=document).count() == 3

    def test_a_document_that_somebody_works_on_is_not_woken(self, document: Document, monkeypatch) -> None:
        monkeypatch.setattr(tasks, "dispatch", lambda *_, **__: pytest.fail("it was woken"))
        Document.objects.filter(pk=document.pk).update(
            lease_owner="at work",
            lease_until=Now() + timedelta(seconds=30),
            created_at=Now() - timedelta(days=1),
        )

        assert tasks.sweep() == 0
        document_ingest(document_id=document.pk)
        assert reasons(document)[0] == DocumentStatus.QUEUED

    def test_after_three_lost_workers_it_is_given_up(self, document: Document, monkeypatch) -> None:
        monkeypatch.setattr(ingest, "_parse", dies)
        for _ in range(3):
            with pytest.raises(SystemExit):
                document_ingest(document_id=document.pk)
            lapse(document)

        document_ingest(document_id=document.pk)

        status, code, reason = reasons(document)
        assert (status, code) == (DocumentStatus.FAILED, "worker_lost")
        assert "three times" in reason

    def test_a_worker_that_lost_its_lease_fails_nobody_elses_work(
        self, document: Document, monkeypatch
    ) -> None:
        def overtaken(*_: object, **__: object) -> None:
            Document.objects.filter(pk=document.pk).update(lease_owner="the new one")
            raise ParseFailure("time_out", "Too slow.")

        monkeypatch.setattr(ingest, "_parse", overtaken)
        document_ingest(document_id=document.pk)

        document.refresh_from_db()
        assert (document.status, document.lease_owner) == (DocumentStatus.PARSING, "the new one")

    def test_a_worker_that_lost_its_lease_replaces_nobodys_rows(
        self, document: Document, monkeypatch
    ) -> None:
        """Rows that a new worker stored, with vectors on them, must outlive the old one's late writing."""
        ingest._store(document, parsed())
        kept = list(document.passages.values_list("pk", flat=True))
        store = ingest._store

        def late(*args: object) -> None:
            Document.objects.filter(pk=document.pk).update(lease_owner="the new one")
            store(*args)

        monkeypatch.setattr(ingest, "_store", late)
        document_ingest(document_id=document.pk)

        assert list(document.passages.values_list("pk", flat=True)) == kept

    def test_the_heartbeat_tells_the_worker(self, document: Document, monkeypatch) -> None:
        class Lost(ingest.Heartbeat):
            def check(self) -> None:
                raise LeaseLost

        monkeypatch.setattr("workbench.infra.leases.Heartbeat.check", Lost.check)
        document_ingest(document_id=document.pk)

        assert reasons(document)[0] == DocumentStatus.PARSING
        assert document.lines.count() == 0


def test_content_given_as_data_is_one_document_and_done_again_after_a_crash(cast: Cast, monkeypatch) -> None:
    def add() -> Document:
        return parsed_document_add(actor=cast.analyst, collection=cast.alpha, name="data", parsed=parsed())

    with monkeypatch.context() as patch:
        patch.setattr(ingest, "_embed", dies)
        with pytest.raises(SystemExit):
            add()
    Document.objects.update(lease_owner="", lease_until=None)

    first, again = add(), add()

    assert first.pk == again.pk
    assert again.status == DocumentStatus.READY
    assert PassageVector.objects.filter(document=again).count() == 3


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_one_document_read_it_once(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    document = uploaded(cast)
    read: list[int] = []
    both = threading.Barrier(2, timeout=120)

    def reading(*_: object, **__: object) -> ParsedDocument:
        read.append(document.pk)
        return parsed()

    monkeypatch.setattr(ingest, "_parse", reading)

    def work() -> None:
        try:
            both.wait()
            document_ingest(document_id=document.pk)
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    assert read == [document.pk]
    assert reasons(document)[0] == DocumentStatus.READY


@given(st.text())
def test_storable_text_is_what_the_database_can_hold(text: str) -> None:
    kept = storable(text)

    assert "\x00" not in kept
    kept.encode("utf-8")
    assert storable(kept) == kept
    assert kept == text or "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text)


def test_a_local_copy_leaves_the_workers_own_failure_alone(document: Document) -> None:
    def work() -> None:
        with ingest.local_copy(document) as path:
            assert path.read_bytes() == b"some bytes"
            raise NotImplementedError("of the work")

    with pytest.raises(NotImplementedError, match="of the work"):
        work()


# --- extents ------------------------------------------------------------------------------------------


@st.composite
def outlines(draw: st.DrawFn) -> ParsedDocument:
    """A document with nested sections, lines in their order, some furniture, some sections without a line."""
    levels = [1]
    for _ in range(draw(st.integers(0, 7))):
        levels.append(draw(st.integers(1, levels[-1] + 1)))
    lines: list[Line] = []
    sections: list[Section] = []
    open_ids: list[str] = []
    page, number = 1, 0
    for index, level in enumerate(levels, start=1):
        if number and draw(st.booleans()):
            page, number = page + 1, 0
        own = draw(st.integers(0, 3))
        del open_ids[level - 1 :]
        sections.append(
            Section(
                section_id=f"s{index}",
                level=level,
                parent_id=open_ids[-1] if open_ids else None,
                title=f"Section {index}",
                breadcrumb=f"Section {index}",
                start_page=page,
                end_page=page,
                start_line=number + 1,
            )
        )
        open_ids.append(f"s{index}")
        for _ in range(own):
            number += 1
            lines.append(
                Line(
                    page_num=page,
                    line_num=number,
                    text="words",
                    character_count=5,
                    section_id=f"s{index}",
                    is_furniture=draw(st.booleans()) and draw(st.booleans()),
                )
            )
    pages = tuple(Page(page_num=n, text="") for n in range(1, page + 1))
    return ParsedDocument(kind="text", pages=pages, lines=tuple(lines), sections=tuple(sections))


@given(outlines())
def test_a_section_covers_its_own_lines_and_those_of_its_subtree(document: ParsedDocument) -> None:
    extents = section_extents(document)

    assert list(extents) == [section.section_id for section in document.sections]
    by_id = {section.section_id: section for section in document.sections}
    for line in document.lines:
        if line.is_furniture:
            continue
        section: Section | None = by_id[line.section_id or ""]
        extent = extents[line.section_id or ""]
        here = (line.page_num, line.line_num)
        assert (extent.page_start, extent.line_start) <= here <= (extent.own_page_end, extent.own_line_end)
        while section is not None:
            whole = extents[section.section_id]
            assert here <= (whole.page_end, whole.line_end)
            section = by_id.get(section.parent_id or "")


@given(outlines())
def test_sections_keep_their_order_and_say_whether_they_have_children(document: ParsedDocument) -> None:
    extents = section_extents(document)
    parents = {section.parent_id for section in document.sections}

    for section in document.sections:
        extent = extents[section.section_id]
        assert extent.has_children == (section.section_id in parents)
        assert (extent.own_page_end, extent.own_line_end) <= (extent.page_end, extent.line_end)
        assert (extent.page_start, extent.line_start) <= (extent.own_page_end, extent.own_line_end)
    owners = {line.section_id for line in document.lines if not line.is_furniture}
    starts = [(e.page_start, e.line_start) for key, e in extents.items() if key in owners]
    assert starts == sorted(starts)


def test_the_storage_folder_belongs_to_the_test(document: Document, tmp_path: Path) -> None:
    assert Path(document.file.path).is_relative_to(tmp_path)
