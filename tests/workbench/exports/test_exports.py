"""Exports: a record holds everything, opens anywhere, runs nothing, reaches only who may have it, and is on record."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import docx
import pypdfium2
import pytest
import yaml
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.html import escape

from tests.workbench.cast import Cast
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene
from workbench.accounts.models import Membership, User
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_seal_all
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.exports.blocks import Card, Table
from workbench.exports.models import Export, ExportState
from workbench.exports.run_report import run_report
from workbench.exports.services import (
    MEDIA_TYPES,
    export_make,
    exports_erase,
    exports_remove_old,
    period_export,
    run_export,
)
from workbench.runs.models import CandidateText, Run, RunStatus

ClientAs = Callable[[User | None], Client]
ERA = (datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


def made(export: Export) -> dict[str, bytes]:
    """The files of an export by name, after the worker was there."""
    export_make(export_id=export.pk)
    export.refresh_from_db()
    assert export.state == ExportState.READY, export.failure
    return {file.name: default_storage.open(file.path).read() for file in export.files.all()}


def pdf_text(content: bytes) -> str:
    with pypdfium2.PdfDocument(content) as pdf:
        return " ".join(page.get_textpage().get_text_bounded() for page in pdf)


def test_a_run_is_written_with_its_verdicts_decisions_signature_and_hash(scene: Scene, cast: Cast) -> None:
    signature = signed(scene.run)
    files = made(run_export(actor=cast.auditor, run=scene.run))
    html = files[f"run-{scene.run.pk}.html"].decode()
    decided = scene.run.reviews.filter(candidate__isnull=False).first()
    for words in (
        "How long are access records kept?",
        "Access records are kept for twenty-four months.",
        scene.document.sha256,
        signature.record_sha256,
        str(decided.reviewer),
        "Verdict approved",
    ):
        assert words in html
    for verdict in scene.run.candidates.values_list("verdict__reason", flat=True):
        assert escape(verdict or "") in html


def test_the_pdf_says_the_same_and_is_tagged(scene: Scene, cast: Cast) -> None:
    content = made(run_export(actor=cast.auditor, run=scene.run))[f"run-{scene.run.pk}.pdf"]
    text = pdf_text(content)
    assert "How long are access records kept?" in text
    assert "twenty-four months" in text
    assert b"/StructTreeRoot" in content
    assert b"pdfuaid" in content


def test_two_pages_and_an_annex_and_the_same_in_word(scene: Scene, cast: Cast) -> None:
    signed(scene.run)
    name = f"run-{scene.run.pk}"
    files = made(run_export(actor=cast.auditor, run=scene.run))
    with pypdfium2.PdfDocument(files[f"{name}.pdf"]) as pdf:
        pages = [page.get_textpage().get_text_bounded() for page in pdf]
    begins = next(number for number, text in enumerate(pages, 1) if "Annex: the full record" in text)
    assert begins <= 3
    front = " ".join(pages[: begins - 1])
    for words in (
        "Answer",
        "Evidence",
        "Who decided",
        "Signatures",
        "How to check this record",
        "Decided by",
    ):
        assert words in front

    word = docx.Document(io.BytesIO(files[f"{name}.docx"]))
    cells = [cell.text for table in word.tables for row in table.rows for cell in row.cells]
    written = {text.strip() for text in [*(line.text for line in word.paragraphs), *cells] if text.strip()}
    report = run_report(scene.run, signed_by="")
    assert {section.title for section in (*report.sections, *report.annex)} <= written
    for section in (*report.sections, *report.annex):
        for block in section.blocks:
            if isinstance(block, Card) and block.evidence:
                assert block.evidence in written
            if isinstance(block, Table):
                assert {cell for cells in block.rows for cell in cells if cell} <= written


def test_text_of_a_document_is_only_text_in_both(scene: Scene, cast: Cast) -> None:
    row = scene.run.candidates.filter(verdict__role="primary").first()
    hostile = '<script>alert(1)</script> #read("/etc/passwd") $x$ \x01 中'
    CandidateText.objects.filter(candidate=row).update(anchor=hostile)
    files = made(run_export(actor=cast.auditor, run=scene.run))
    html = files[f"run-{scene.run.pk}.html"].decode()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "default-src &#x27;none&#x27;" in html or "default-src 'none'" in html
    assert '#read("/etc/passwd")' in pdf_text(files[f"run-{scene.run.pk}.pdf"])
    word = docx.Document(io.BytesIO(files[f"run-{scene.run.pk}.docx"]))
    assert any('#read("/etc/passwd")' in line.text for line in word.paragraphs)


def test_a_period_holds_every_run_the_trail_and_the_sums(scene: Scene, cast: Cast) -> None:
    audit_seal_all()
    export = period_export(actor=cast.auditor, collection=cast.alpha, since=ERA[0], until=ERA[1])
    (content,) = made(export).values()
    with zipfile.ZipFile(io.BytesIO(content)) as parcel:
        names = set(parcel.namelist())
        ran = [run.pk for run in Run.objects.filter(collection=cast.alpha, status=RunStatus.DONE)]
        for pk in ran:
            assert {f"runs/run-{pk}.html", f"runs/run-{pk}.pdf", f"runs/run-{pk}.json"} <= names
        overview = parcel.read("overview.html").decode()
        assert f'href="runs/run-{ran[0]}.html"' in overview
        header = json.loads(parcel.read("trail.jsonl").splitlines()[0])
        assert header["events"] > 0
        for line in parcel.read("SHA256SUMS").decode().splitlines():
            digest, name = line.split("  ")
            assert hashlib.sha256(parcel.read(name)).hexdigest() == digest
        assert len(parcel.read("SHA256SUMS").splitlines()) == len(names) - 1
    assert export.done == export.total == len(ran)


def test_a_period_holds_only_its_own_runs(scene: Scene, cast: Cast) -> None:
    past = period_export(actor=cast.auditor, collection=cast.alpha, since=ERA[0], until=ERA[0] + timedelta(1))
    assert past.total == 0
    (content,) = made(past).values()
    assert not [name for name in zipfile.ZipFile(io.BytesIO(content)).namelist() if name.startswith("runs/")]


def test_only_who_reads_the_trail_exports_a_period(scene: Scene, cast: Cast) -> None:
    for person in (cast.analyst, cast.reviewer, cast.annotator, cast.outsider):
        with pytest.raises(NotAllowed):
            period_export(actor=person, collection=cast.alpha, since=ERA[0], until=ERA[1])
    with pytest.raises(NotAllowed):
        run_export(actor=cast.outsider, run=scene.run)
    with pytest.raises(WorkbenchError):
        period_export(actor=cast.auditor, collection=cast.alpha, since=ERA[1], until=ERA[0])


def test_a_run_on_its_way_has_no_record_yet(scene: Scene, cast: Cast) -> None:
    Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.ARBITRATING)
    scene.run.refresh_from_db()
    with pytest.raises(Conflict):
        run_export(actor=cast.auditor, run=scene.run)


def test_an_export_reaches_its_asker_and_auditors_only(scene: Scene, cast: Cast, client_as: ClientAs) -> None:
    export = run_export(actor=cast.analyst, run=scene.run)
    made(export)
    address = reverse("exports:fetch", args=[export.files.first().pk])
    answers = {
        name: client_as(person).get(address).status_code
        for name, person in [*cast.members.items(), ("outsider", cast.outsider)]
    }
    assert {name for name, status in answers.items() if status == 200} == {"analyst", "admin", "auditor"}
    assert set(answers.values()) == {200, 404}
    Membership.objects.filter(user=cast.analyst).delete()
    assert client_as(cast.analyst).get(address).status_code == 404


def test_a_file_comes_as_an_attachment_and_each_fetching_is_on_record(
    scene: Scene, cast: Cast, client_as: ClientAs
) -> None:
    export = run_export(actor=cast.auditor, run=scene.run)
    made(export)
    file = export.files.first()
    response = client_as(cast.auditor).get(reverse("exports:fetch", args=[file.pk]))
    body = b"".join(response.streaming_content)
    assert hashlib.sha256(body).hexdigest() == file.sha256
    assert response["Content-Disposition"].startswith("attachment")
    assert response["Cache-Control"] == "private, no-store"
    actions = AuditEvent.objects.filter(object_type="export", object_id=str(export.pk))
    assert list(actions.order_by("pk").values_list("action", flat=True)) == [
        "export.requested",
        "export.made",
        "export.fetched",
    ]
    assert actions.get(action="export.fetched").after["sha256"] == file.sha256


def test_who_lost_the_right_meanwhile_gets_nothing(scene: Scene, cast: Cast) -> None:
    export = run_export(actor=cast.analyst, run=scene.run)
    Membership.objects.filter(user=cast.analyst).delete()
    export_make(export_id=export.pk)
    export.refresh_from_db()
    assert export.state == ExportState.FAILED
    assert export.failure
    assert not export.files.exists()


def test_an_export_is_made_once(scene: Scene, cast: Cast) -> None:
    export = run_export(actor=cast.auditor, run=scene.run)
    made(export)
    export_make(export_id=export.pk)
    assert export.files.count() == 4, "HTML, PDF, DOCX and their sums"


def test_files_go_when_they_are_old_or_when_text_must_go(scene: Scene, cast: Cast) -> None:
    old, fresh = (run_export(actor=cast.auditor, run=scene.run) for _ in range(2))
    made(old), made(fresh)
    Export.objects.filter(pk=old.pk).update(finished_at=timezone.now() - timedelta(days=8))
    assert exports_remove_old() == 1
    assert not default_storage.exists(old.files.first().path)
    assert default_storage.exists(fresh.files.first().path)
    assert exports_erase(collection=cast.alpha) == 1
    assert not default_storage.exists(fresh.files.first().path)
    assert fresh.files.first().sha256


def test_the_pages_ask_show_and_lead_to_the_files(scene: Scene, cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.auditor)
    asked = client.post(reverse("exports:run", args=[scene.run.pk]))
    export = Export.objects.get()
    assert asked["Location"] == export.get_absolute_url()
    assert b"hx-get" in client.get(export.get_absolute_url()).content
    export_make(export_id=export.pk)
    page = client.get(export.get_absolute_url()).content.decode()
    assert reverse("exports:fetch", args=[export.files.first().pk]) in page
    form = {"collection": cast.alpha.pk, "first": "2026-01-02", "last": "2026-01-01"}
    assert b"before the first" in client.post(reverse("exports:exports"), form).content
    answer = client.post(reverse("exports:exports"), form | {"last": "2026-01-31"})
    period = Export.objects.latest("pk")
    assert answer["Location"] == period.get_absolute_url()
    assert period.until == datetime(2026, 2, 1, tzinfo=UTC)
    assert b"Export the period" not in client_as(cast.analyst).get(reverse("exports:exports")).content


def test_a_record_is_written_in_the_language_of_who_asked(scene: Scene, cast: Cast) -> None:
    with translation.override("es"):
        export = run_export(actor=cast.auditor, run=scene.run)
    html = made(export)[f"run-{scene.run.pk}.html"].decode()
    assert '<html lang="es">' in html
    assert "Colección" in html


def test_the_description_of_the_api_names_the_media_type_of_every_file(scene: Scene, cast: Cast) -> None:
    """A program that trusts the description refused the archive of a period."""
    period = period_export(actor=cast.auditor, collection=cast.alpha, since=ERA[0], until=ERA[1])
    for export in (run_export(actor=cast.auditor, run=scene.run), period):
        made(export)
        assert {file.content_type.split(";")[0] for file in export.files.all()} <= MEDIA_TYPES
    described = yaml.safe_load(Path("docs/openapi.yaml").read_text("utf-8"))
    answer = described["paths"]["/api/v1/exports/{id}/files/{name}/"]["get"]["responses"]["200"]
    assert set(answer["content"]) == MEDIA_TYPES


def test_scripts_ask_and_fetch_by_the_api(scene: Scene, cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.auditor)
    asked = client.post("/api/v1/exports/", {"run": scene.run.pk}, content_type="application/json")
    assert asked.status_code == 202
    export = Export.objects.get(pk=asked.json()["id"])
    made(export)
    shown = client.get(f"/api/v1/exports/{export.pk}/").json()
    assert shown["state"] == "ready"
    name = shown["files"][0]["name"]
    body = b"".join(client.get(f"/api/v1/exports/{export.pk}/files/{name}/").streaming_content)
    assert hashlib.sha256(body).hexdigest() == shown["files"][0]["sha256"]
    period = {"collection": "alpha", "first": "2026-01-01", "last": "2026-01-31"}
    assert client.post("/api/v1/exports/", period, content_type="application/json").status_code == 202
    for wrong in ({}, {"collection": "alpha"}, period | {"run": scene.run.pk}):
        assert client.post("/api/v1/exports/", wrong, content_type="application/json").status_code == 400
    as_analyst = client_as(cast.analyst).post("/api/v1/exports/", period, content_type="application/json")
    assert as_analyst.status_code == 403
    assert client_as(cast.outsider).get(f"/api/v1/exports/{export.pk}/files/{name}/").status_code == 404
