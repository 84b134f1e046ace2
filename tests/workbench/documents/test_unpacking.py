"""A ZIP becomes the documents that are in it, whichever door it comes through."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from tests.workbench.cast import Cast
from workbench.documents import intake
from workbench.documents.intake import IngestProgress, files_ingest
from workbench.documents.models import Document
from workbench.documents.unpacking import files_upload
from workbench.errors import NotAllowed, WorkbenchError

pytestmark = pytest.mark.usefixtures("here")


def packed(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, words in files.items():
            archive.writestr(name.replace("__", "/").replace("_txt", ".txt").replace("_zip", ".zip"), words)
    return out.getvalue()


ARCHIVE = packed(deeds__nda_txt="One.", rules_txt="Two.", copy_txt="Two.", inner_zip="x", empty_txt="")


def names() -> list[str]:
    return sorted(Document.objects.values_list("name", flat=True))


def test_each_file_becomes_a_document_and_the_rest_is_named(cast: Cast) -> None:
    received = files_upload(
        actor=cast.analyst, collection=cast.alpha, file=ContentFile(ARCHIVE), name="Deeds.ZIP"
    )
    assert names() == ["deeds - nda.txt", "rules.txt"]
    assert [outcome.is_duplicate for outcome in received.outcomes] == [False, False, True]
    assert [refusal.split(":")[0] for refusal in received.refusals] == ["inner.zip", "empty.txt"]
    with pytest.raises(NotAllowed):
        files_upload(actor=cast.auditor, collection=cast.alpha, file=ContentFile(ARCHIVE), name="deeds.zip")
    with pytest.raises(WorkbenchError, match="damaged"):
        files_upload(actor=cast.analyst, collection=cast.alpha, file=ContentFile(b"PK no"), name="a.zip")


def test_the_page_and_the_api_take_a_zip(client: Client, cast: Cast) -> None:
    client.force_login(cast.analyst)
    address = reverse("documents:upload", args=[cast.alpha.slug])
    file = SimpleUploadedFile("deeds.zip", packed(one_txt="One.", two_txt="Two."))
    rows = client.post(address, {"files": file}, headers={"hx-request": "true"})
    assert rows.content.decode().count("row--document") == 2

    given = {"collection": cast.alpha.slug, "file": SimpleUploadedFile("deeds.zip", ARCHIVE)}
    answer = client.post(reverse("api:document-archive"), given)
    assert answer.status_code == 201
    assert [row["name"] for row in answer.json()["documents"]] == ["one.txt", "two.txt", "two.txt"]
    assert len(answer.json()["refused"]) == 2

    given = {"collection": cast.alpha.slug, "file": SimpleUploadedFile("deeds.zip", ARCHIVE)}
    refused = client.post(reverse("api:document-list"), given)
    assert refused.status_code == 400
    assert "documents/archive/" in refused.json()["detail"]


def test_the_command_gives_each_file_an_outcome(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deeds.zip"
    path.write_bytes(ARCHIVE)
    monkeypatch.setattr(intake, "documents_await", lambda **_: None)
    outcomes = files_ingest(
        actor=cast.analyst, collection=cast.alpha, paths=[path], progress=IngestProgress()
    )
    assert [Path(one.file).name for one in outcomes if not one.reason.startswith(("A ZIP", "The file is empty"))] == [
        "deeds - nda.txt", "rules.txt", "copy.txt",
    ]  # fmt: skip
    assert len(outcomes) == 5
    assert names() == ["deeds - nda.txt", "rules.txt"]
