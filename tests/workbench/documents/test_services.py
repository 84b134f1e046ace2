"""Uploads: the same bytes are one document; names and sizes are checked; cancelling and trying again."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.scene import make_document
from workbench.audit.models import AuditEvent
from workbench.documents.finding import document_find
from workbench.documents.models import Document, DocumentStatus
from workbench.documents.selectors import document_named, document_page
from workbench.documents.services import (
    UploadOutcome,
    clean_file_name,
    collection_create,
    document_cancel,
    document_retry,
    document_upload,
)
from workbench.errors import Conflict, NotAllowed, WorkbenchError

pytestmark = pytest.mark.usefixtures("here")

HUGE = "9" * 20
LONGEST = "9" * 5000


def upload(cast: Cast, content: bytes = b"the same bytes", name: str = "policy.txt") -> UploadOutcome:
    return document_upload(actor=cast.analyst, collection=cast.alpha, file=ContentFile(content), name=name)


class TestUpload:
    def test_the_same_bytes_are_the_same_document(self, cast: Cast) -> None:
        first, again = upload(cast), upload(cast, name="copy.txt")

        assert (first.is_duplicate, again.is_duplicate) == (False, True)
        assert again.document == first.document
        assert AuditEvent.objects.filter(action="document.uploaded").count() == 1

    def test_another_collection_has_a_document_of_its_own(self, cast: Cast) -> None:
        upload(cast)
        other = document_upload(
            actor=cast.outsider, collection=cast.beta, file=ContentFile(b"the same bytes"), name="policy.txt"
        )

        assert not other.is_duplicate

    @pytest.mark.parametrize("left", [b"", b"the sa"])
    def test_half_a_file_that_a_crash_left_is_not_taken_for_the_whole(self, cast: Cast, left: bytes) -> None:
        first = upload(cast).document
        path = first.file.name
        Document.objects.all().delete()
        default_storage.delete(path)
        default_storage.save(path, ContentFile(left))

        again = upload(cast).document

        with again.file.open("rb") as stored:
            assert stored.read() == b"the same bytes"

    def test_a_whole_file_that_is_there_already_is_used(self, cast: Cast, tmp_path: Path) -> None:
        upload(cast)
        Document.objects.all().delete()
        upload(cast)

        assert len([path for path in (tmp_path / "files").rglob("*") if path.is_file()]) == 1

    @pytest.mark.parametrize("who", ["auditor", "reviewer", "annotator"])
    def test_only_those_who_may(self, cast: Cast, who: str) -> None:
        with pytest.raises(NotAllowed):
            document_upload(
                actor=cast.members[who], collection=cast.alpha, file=ContentFile(b"x"), name="x.txt"
            )
        assert not Document.objects.exists()

    def test_empty_and_oversized_files_are_refused(self, cast: Cast, settings) -> None:
        settings.MAX_UPLOAD_BYTES = 10
        with pytest.raises(WorkbenchError, match="empty"):
            upload(cast, b"")
        with pytest.raises(WorkbenchError, match="larger"):
            upload(cast, b"x" * 11)
        assert upload(cast, b"x" * 10).document.size == 10

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\me\\plan.pdf", "plan.pdf"),
            ("a\x00b\x1f\u202e.txt", "ab.txt"),
            ("half\ud800.txt", "half.txt"),
            ("", "file"),
            ("\x00", "file"),
            ("..", ".."),
            ("año 2024.pdf", "año 2024.pdf"),
        ],
    )
    def test_names_are_cleaned(self, given: str, expected: str) -> None:
        assert clean_file_name(given) == expected

    def test_a_long_name_keeps_its_ending(self) -> None:
        assert clean_file_name("x" * 300 + ".pdf").endswith("x.pdf")
        assert len(clean_file_name("x" * 300 + ".pdf")) == 255


@pytest.mark.django_db(transaction=True)
def test_the_same_bytes_at_the_same_time_are_one_document(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both look before either has written; one of them makes the row."""
    both = threading.Barrier(2, timeout=120)
    looked = threading.local()
    filter_ = Document.objects.filter

    def together(**kwargs: object) -> object:
        found = filter_(**kwargs).all()
        if "sha256" in kwargs and not getattr(looked, "once", False):
            looked.once = True
            list(found)
            both.wait()
        return found

    monkeypatch.setattr(Document.objects, "filter", together)
    outcomes: list[UploadOutcome] = []

    def work() -> None:
        try:
            outcomes.append(upload(cast))
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    monkeypatch.undo()

    assert sorted(outcome.is_duplicate for outcome in outcomes) == [False, True]
    assert len({outcome.document.pk for outcome in outcomes}) == 1
    assert AuditEvent.objects.filter(action="document.uploaded").count() == 1
    with Document.objects.get().file.open("rb") as stored:
        assert stored.read() == b"the same bytes"


class TestStopAndAgain:
    def test_cancel_and_retry(self, cast: Cast) -> None:
        document = upload(cast).document

        assert document_cancel(actor=cast.analyst, document=document).status == DocumentStatus.CANCELLED
        with pytest.raises(Conflict):
            document_cancel(actor=cast.analyst, document=document)
        assert document_retry(actor=cast.analyst, document=document).status == DocumentStatus.QUEUED
        with pytest.raises(Conflict):
            document_retry(actor=cast.analyst, document=document)
        actions = AuditEvent.objects.order_by("id").values_list("action", flat=True)
        assert list(actions) == ["document.uploaded", "document.cancelled", "document.retried"]

    def test_a_ready_document_is_neither_cancelled_nor_retried(self, cast: Cast) -> None:
        document = make_document(collection=cast.alpha, owner=cast.analyst)

        for act in (document_cancel, document_retry):
            with pytest.raises(Conflict):
                act(actor=cast.analyst, document=document)

    @pytest.mark.parametrize("who", ["auditor", "reviewer"])
    def test_only_those_who_may(self, cast: Cast, who: str) -> None:
        document = upload(cast).document

        for act in (document_cancel, document_retry):
            with pytest.raises(NotAllowed):
                act(actor=cast.members[who], document=document)


def test_a_short_name_is_given_once(cast: Cast) -> None:
    collection_create(actor=cast.admin, name="Gamma")

    with pytest.raises(Conflict):
        collection_create(actor=cast.admin, name="gamma")
    with pytest.raises(WorkbenchError):
        collection_create(actor=cast.admin, name="???")


class TestHostileAddresses:
    """What stands in an address is anybody's: it finds nothing, and breaks nothing."""

    @pytest.mark.parametrize("before", [HUGE, LONGEST, "-1", "x", "٣", "²", "\x00", ""])
    def test_cursors(self, cast: Cast, before: str) -> None:
        upload(cast)

        assert len(document_page(collection=cast.alpha, user=cast.analyst, before=before).items) <= 1

    @pytest.mark.parametrize("text", ["\x00", "a\x00b", "%", "_", "\\", "\ud800"])
    def test_words(self, cast: Cast, text: str) -> None:
        document = make_document(collection=cast.alpha, owner=cast.analyst)

        assert document_page(collection=cast.alpha, user=cast.analyst, text=text).items == []
        assert document_find(document=document, text=text).hits == ()

    @pytest.mark.parametrize("name", [HUGE, LONGEST, f"d{LONGEST}", "\x00", "d", ""])
    def test_names(self, cast: Cast, name: str) -> None:
        assert document_named(collection=cast.alpha, name=name) is None

    @pytest.mark.parametrize(
        "address",
        [
            "/collections/alpha/?before={}",
            "/collections/alpha/?q={}",
            "/runs/?before={}",
            "/runs/?q={}",
            "/runs/?collection={}",
            "/ask/?collection={}",
            "/ask/?document={}",
            "/queue/?collection={}",
            "/documents/1/?page={}",
            "/sets/?collection={}",
        ],
    )
    @pytest.mark.parametrize("value", [HUGE, LONGEST, "%00"])
    def test_pages(self, cast: Cast, client_as, address: str, value: str) -> None:
        client: Client = client_as(cast.analyst)
        client.raise_request_exception = False

        assert client.get(address.format(value)).status_code < 500
