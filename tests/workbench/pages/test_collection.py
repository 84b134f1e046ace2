"""A collection's page: its documents, upload, progress."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import HTMX, ClientAs
from tests.workbench.scene import Scene, make_document
from workbench.documents.models import Document, DocumentStatus

ADDRESS = "/collections/alpha/"
UPLOAD = f"{ADDRESS}upload/"
#: Who may upload.
UPLOADERS = {"analyst", "admin"}


def file(name: str = "note.txt", content: bytes = b"Some words.") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def titles(client: Client, query: str = "") -> list[str]:
    return [row["title"] for row in client.get(f"{ADDRESS}{query}").context["documents"]]


@pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "admin", "auditor"])
def test_members_read_it_and_some_upload(name: str, cast: Cast, client_as: ClientAs, here: None) -> None:
    client = client_as(cast.members[name])
    page = client.get(ADDRESS)
    assert page.status_code == 200
    assert (UPLOAD in page.content.decode()) is (name in UPLOADERS)
    assert client.post(UPLOAD, {"files": [file()]}).status_code == (302 if name in UPLOADERS else 404)
    assert Document.objects.exists() is (name in UPLOADERS)


def test_several_files_come_in_by_one_plain_form(cast: Cast, client_as: ClientAs, here: None) -> None:
    answer = client_as(cast.analyst).post(
        UPLOAD, {"files": [file("a.txt", b"one"), file("b.txt", b""), file("c.txt", b"three")]}, follow=True
    )
    assert set(Document.objects.values_list("name", flat=True)) == {"a.txt", "c.txt"}
    assert "b.txt" in answer.content.decode()  # and why it was not taken


def test_a_scripted_upload_gets_its_row_or_one_sentence(cast: Cast, client_as: ClientAs, here: None) -> None:
    client = client_as(cast.analyst)
    taken = client.post(UPLOAD, {"files": [file()]}, headers=HTMX)
    document = Document.objects.get()
    assert f'id="document-{document.pk}"' in taken.content.decode()
    assert reverse("documents:status", args=[document.pk]) in taken.content.decode()  # it polls
    again = client.post(UPLOAD, {"files": [file("other-name.txt")]}, headers=HTMX)
    assert "Same file as" in again.content.decode()
    empty = client.post(UPLOAD, {"files": [file("empty.txt", b"")]}, headers=HTMX)
    assert empty.status_code == 422
    assert empty["Content-Type"].startswith("text/plain")
    assert "empty.txt" in empty.content.decode()
    assert client.post(UPLOAD, {}, headers=HTMX).status_code == 422


def test_the_list_is_filtered_by_words_and_status(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    other = make_document(collection=cast.alpha, owner=cast.analyst, name="other.txt")
    Document.objects.filter(pk=other.pk).update(
        title="Broken one", status=DocumentStatus.FAILED, failure_reason="It is encrypted."
    )
    client = client_as(cast.analyst)
    assert titles(client) == ["Broken one", "Access records policy"]
    assert titles(client, "?q=access") == ["Access records policy"]
    assert titles(client, "?status=failed") == ["Broken one"]
    assert titles(client, "?status=ready") == ["Access records policy"]
    assert titles(client, "?status=nonsense") == ["Broken one", "Access records policy"]
    assert titles(client, "?q=nothing") == []


def test_a_failed_document_says_why_and_can_be_tried_again(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    Document.objects.filter(pk=scene.document.pk).update(
        status=DocumentStatus.FAILED, failure_reason="It is encrypted."
    )
    retry = reverse("documents:retry", args=[scene.document.pk])
    assert retry not in client_as(cast.auditor).get(ADDRESS).content.decode()
    client = client_as(cast.analyst)
    page = client.get(ADDRESS).content.decode()
    assert "It is encrypted." in page
    assert retry in page
    assert client_as(cast.reviewer).post(retry).status_code == 404
    answer = client.post(retry, headers=HTMX)
    assert answer.status_code == 200
    assert "It is encrypted." not in answer.content.decode()
    scene.document.refresh_from_db()
    assert scene.document.status == DocumentStatus.QUEUED


def test_a_document_on_its_way_can_be_stopped(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    Document.objects.filter(pk=scene.document.pk).update(status=DocumentStatus.PARSING)
    cancel = reverse("documents:cancel", args=[scene.document.pk])
    client = client_as(cast.analyst)
    assert cancel in client.get(ADDRESS).content.decode()
    assert client_as(cast.annotator).post(cancel).status_code == 404
    assert "Cancelled" in client.post(cancel, headers=HTMX).content.decode()


def test_a_row_polls_until_its_document_ends(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    status = reverse("documents:status", args=[scene.document.pk])
    client = client_as(cast.auditor)
    assert "hx-get" not in client.get(status).content.decode()
    Document.objects.filter(pk=scene.document.pk).update(status=DocumentStatus.EMBEDDING, stage_total=4)
    assert f'hx-get="{status}"' in client.get(status).content.decode()


def test_an_empty_collection_says_what_to_do(cast: Cast, client_as: ClientAs) -> None:
    assert "Drop the first ones above" in client_as(cast.analyst).get(ADDRESS).content.decode()
    assert "An analyst of this collection" in client_as(cast.auditor).get(ADDRESS).content.decode()
