"""Page images: drawn by a worker, once, a few at a time for each person; what cannot be drawn is remembered."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from reportlab.pdfgen.canvas import Canvas

from arbitration.errors import ParseFailure
from tests.workbench.cast import Cast
from workbench.accounts.models import User
from workbench.documents import drawings
from workbench.documents.drawings import MOST_WAITING, drawing_make, page_image_now, page_picture
from workbench.documents.ingest import document_ingest
from workbench.documents.models import Document, DrawingState, PageDrawing
from workbench.documents.pages import SCALE, cache_folder, forget_pages, kept_image
from workbench.documents.services import document_upload

ClientAs = Callable[[User | None], Client]
PAGES = 8
WAITING, DRAWN, FAILED = DrawingState


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The drawings that were sent to a worker, in their order."""
    messages: list[int] = []
    monkeypatch.setattr(
        drawings, "dispatch_on_commit", lambda task, *, drawing_id: messages.append(drawing_id)
    )
    return messages


@pytest.fixture
def report(cast: Cast, sent: list[int]) -> Document:
    body = io.BytesIO()
    canvas = Canvas(body)
    for number in range(1, PAGES + 1):
        canvas.drawString(72, 700, f"The fee of page {number} is due within thirty days of receipt.")
        canvas.showPage()
    canvas.save()
    body.seek(0)
    outcome = document_upload(actor=cast.admin, collection=cast.alpha, file=_file(body), name="report.pdf")
    document_ingest(document_id=outcome.document.pk)
    document = Document.objects.get(pk=outcome.document.pk)
    assert document.page_count == PAGES
    return document


def _file(body: io.BytesIO) -> Any:
    return SimpleUploadedFile("report.pdf", body.getvalue())


def image_of(document: Document, page_num: int = 1) -> str:
    return reverse("documents:page-image", args=[document.pk, page_num])


def picture_of(document: Document, page_num: int = 1) -> str:
    return reverse("documents:page-picture", args=[document.pk, page_num])


@pytest.fixture
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Nothing may be drawn; gives the pages that somebody tried to draw."""
    tried: list[int] = []

    def refuse(*, page_num: int, **_: Any) -> bytes:
        tried.append(page_num)
        raise ParseFailure("time_out", "Too slow.")

    monkeypatch.setattr(drawings, "render_page", refuse)
    return tried


def test_no_request_draws(
    cast: Cast, client_as: ClientAs, report: Document, no_drawing: list[int], sent: list[int]
) -> None:
    client = client_as(cast.analyst)
    page = client.get(report.get_absolute_url())
    image = client.get(image_of(report))
    assert (image.status_code, image["Retry-After"], image["Refresh"]) == (202, "1", "1")
    assert image["Cache-Control"] == "no-store"
    assert client.get(picture_of(report), headers={"HX-Request": "true"}).status_code == 204
    text = page.content.decode()
    assert "is being drawn" in text
    assert picture_of(report) in text
    assert "within thirty days" in text  # the lines are there already
    assert no_drawing == []
    assert sent == [PageDrawing.objects.get().pk]  # one drawing, for all of them


def test_a_drawn_page_is_shown_without_a_look_at_the_database(
    cast: Cast, client_as: ClientAs, report: Document, django_assert_num_queries: Any
) -> None:
    client = client_as(cast.analyst)
    client.get(image_of(report))
    drawing_make(drawing_id=PageDrawing.objects.get().pk)
    image = client.get(image_of(report))
    assert (image.status_code, image["Content-Type"]) == (200, "image/png")
    assert image.content.startswith(b"\x89PNG")
    news = client.get(picture_of(report), headers={"HX-Request": "true"}).content.decode()
    assert f'<img src="{image_of(report)}"' in news
    assert "is being drawn" not in client.get(report.get_absolute_url()).content.decode()
    with django_assert_num_queries(0):
        assert page_picture(document=report, page_num=1, user=cast.analyst).state == DRAWN


def test_a_page_that_cannot_be_drawn_is_tried_once_and_says_so(
    cast: Cast, client_as: ClientAs, report: Document, no_drawing: list[int], sent: list[int]
) -> None:
    client = client_as(cast.analyst)
    client.get(image_of(report))
    drawing_make(drawing_id=sent[0])
    drawing_make(drawing_id=sent[0])
    assert client.get(image_of(report)).status_code == 404
    news = client.get(picture_of(report), headers={"HX-Request": "true"}).content.decode()
    page = client.get(report.get_absolute_url()).content.decode()
    for text in (news, page):
        assert "Drawing this page takes too long." in text
        assert "<img" not in text
        assert (
            "hx-get" not in text[text.index("sheet__blank") : text.index("</p>", text.index("sheet__blank"))]
        )
    assert "within thirty days" in page
    assert page_image_now(document=report, page_num=1) is None
    assert no_drawing == [1]
    assert len(sent) == 1


def test_a_person_has_a_few_pages_waiting_and_is_served_on(
    cast: Cast, report: Document, sent: list[int]
) -> None:
    for number in range(1, PAGES + 1):
        assert page_picture(document=report, page_num=number, user=cast.analyst).state == WAITING
    assert len(sent) == PageDrawing.objects.count() == MOST_WAITING
    assert page_picture(document=report, page_num=PAGES, user=cast.reviewer).state == WAITING
    assert len(sent) == MOST_WAITING + 1
    drawing_make(drawing_id=sent[0])
    assert page_picture(document=report, page_num=PAGES - 1, user=cast.analyst).state == WAITING
    assert PageDrawing.objects.filter(page_num=PAGES - 1).exists()


def test_one_page_is_drawn_for_a_person_at_a_time(
    cast: Cast, report: Document, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        page_picture(document=report, page_num=number, user=cast.analyst)
    page_picture(document=report, page_num=3, user=cast.reviewer)
    first, second, of_another = sent
    drawn: list[int] = []

    def draw(*, page_num: int, scale: float, **_: Any) -> bytes:
        if scale != SCALE:  # the small image beside it
            return b"\x89PNG"
        drawn.append(page_num)
        if page_num == 1:
            drawing_make(drawing_id=second)  # another worker takes the next message meanwhile
            drawing_make(drawing_id=of_another)
        return b"\x89PNG"

    monkeypatch.setattr(drawings, "render_page", draw)
    drawing_make(drawing_id=first)
    assert drawn == [1, 3]
    assert sent[3:] == [second]  # woken when the first was done
    drawing_make(drawing_id=second)
    assert drawn == [1, 3, 2]


def test_a_lost_message_is_sent_again_by_whoever_looks(cast: Cast, report: Document, sent: list[int]) -> None:
    page_picture(document=report, page_num=1, user=cast.analyst)
    page_picture(document=report, page_num=1, user=cast.reviewer)
    assert len(sent) == 1
    PageDrawing.objects.update(sent_at=timezone.now() - timedelta(minutes=1))
    page_picture(document=report, page_num=1, user=cast.reviewer)
    page_picture(document=report, page_num=1, user=cast.reviewer)
    assert sent == [sent[0]] * 2


def test_a_page_that_stops_its_worker_three_times_is_given_up(
    cast: Cast, report: Document, sent: list[int], no_drawing: list[int], settings: Any
) -> None:
    page_picture(document=report, page_num=1, user=cast.analyst)
    PageDrawing.objects.update(attempts=settings.MAX_ATTEMPTS)
    drawing_make(drawing_id=sent[0])
    assert no_drawing == []
    assert (
        page_picture(document=report, page_num=1, user=cast.analyst).problem == "This page cannot be drawn."
    )


def test_an_image_that_the_store_lost_is_drawn_again(
    cast: Cast, client_as: ClientAs, report: Document, sent: list[int]
) -> None:
    client = client_as(cast.analyst)
    client.get(image_of(report))
    drawing_make(drawing_id=sent[0])
    forget_pages(document=report)
    assert client.get(image_of(report)).status_code == 202
    assert len(sent) == 2


def test_an_image_that_is_done_after_the_erasure_is_not_kept(
    cast: Cast, report: Document, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    page_picture(document=report, page_num=1, user=cast.analyst)

    def erased_meanwhile(**_: Any) -> bytes:
        report.drawings.all().delete()
        forget_pages(document=report)
        return b"\x89PNG"

    monkeypatch.setattr(drawings, "render_page", erased_meanwhile)
    drawing_make(drawing_id=sent[0])
    assert kept_image(report, 1) is None
    assert default_storage.listdir(f"pages/{report.collection_id}/{report.sha256}")[1] == []


@pytest.mark.usefixtures("sent")
def test_an_export_draws_what_it_needs_and_leaves_it_for_everybody(cast: Cast, report: Document) -> None:
    image = page_image_now(document=report, page_num=2)
    assert image is not None
    assert image.startswith(b"\x89PNG")
    assert page_picture(document=report, page_num=2, user=cast.analyst).state == DRAWN
    assert PageDrawing.objects.get().state == DRAWN
    small = kept_image(report, 2, is_small=True)
    assert small is not None
    assert len(small) < len(image) / 2


def test_what_an_earlier_version_drew_is_still_shown(cast: Cast, report: Document, sent: list[int]) -> None:
    folder: Path = cache_folder(report)
    folder.mkdir(parents=True)
    (folder / "1.png").write_bytes(b"\x89PNG")
    assert page_picture(document=report, page_num=1, user=cast.analyst).state == DRAWN
    assert kept_image(report, 1, is_small=True) == b"\x89PNG"  # there was no small one then
    assert sent == []
