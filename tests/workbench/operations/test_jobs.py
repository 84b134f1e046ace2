"""Maintenance asked for on a page and done by a worker: idempotent, on record, with an outcome in words."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.scene import HashEmbedder, make_document
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_seal
from workbench.documents.fields import field_add
from workbench.documents.models import PassageVector
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.operations import jobs
from workbench.operations.models import Job

pytestmark = pytest.mark.usefixtures("here")
ClientAs = Callable[[User | None], Client]


def page(client: Client) -> str:
    return client.get("/operations/maintenance/").content.decode()


def test_the_whole_trail_is_verified_against_an_anchor_taken_before(cast: Cast, client_as: ClientAs) -> None:
    field_add(actor=cast.admin, collection=cast.alpha, name="Owner")
    auditor = client_as(cast.auditor)
    assert auditor.post("/audit/anchor/", follow=True).status_code == 200  # nothing is sealed yet
    audit_seal(wait=True)
    taken = auditor.post("/audit/anchor/")
    (anchor,) = [json.loads(line) for line in taken.content.decode().splitlines()]
    assert AuditEvent.objects.filter(action="audit.anchored").get().after["hash"] == anchor["hash"]

    kept = SimpleUploadedFile("anchor.jsonl", taken.content)
    auditor.post("/operations/maintenance/", {"kind": "trail", "anchors": kept})
    auditor.post("/operations/maintenance/", {"kind": "trail"})  # one under way is enough
    job = Job.objects.get()
    assert "Under way" in page(auditor)
    assert (
        auditor.get("/operations/maintenance/", headers={"HX-Request": "true"}).headers.get("HX-Refresh")
        is None
    )

    for other in ({anchor["position"]: "0" * 64}, {anchor["position"] + 1: anchor["hash"]}):
        with pytest.raises(Conflict, match="other anchors"):
            jobs.job_start(actor=cast.auditor, kind="trail", anchors=other)
    sent = auditor.post(
        "/api/v1/maintenance/", {"kind": "trail", "anchors": {"1": "0"}}, content_type="application/json"
    )
    assert (sent.status_code, sent.json()["code"]) == (409, "other_anchors")
    same = jobs.job_start(actor=cast.auditor, kind="trail", anchors={anchor["position"]: anchor["hash"]})
    assert same == job

    jobs.job_run(job_id=job.pk)
    jobs.job_run(job_id=job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["ok"], job.result["anchors"]) == ("done", True, 1)
    assert "The chain is whole" in page(auditor)
    assert "It holds all 1 anchors." in page(auditor)
    actions = (
        AuditEvent.objects.filter(action__startswith="job.").order_by("pk").values_list("action", flat=True)
    )
    assert list(actions) == ["job.requested", "job.ended"]

    wrong = {str(anchor["position"]): "0" * 64}
    sent = auditor.post(
        "/api/v1/maintenance/", {"kind": "trail", "anchors": wrong}, content_type="application/json"
    )
    assert sent.status_code == 202
    jobs.job_run(job_id=sent.json()["id"])
    told = auditor.get(f"/api/v1/maintenance/{sent.json()['id']}/").json()
    assert (told["state"], told["result"]["ok"]) == ("done", False)
    assert "The chain is broken at event" in page(auditor)
    bad = SimpleUploadedFile("anchor.jsonl", b"nonsense")
    assert auditor.post("/operations/maintenance/", {"kind": "trail", "anchors": bad}).status_code == 422


def test_missing_vectors_are_computed_by_administrators_alone(
    cast: Cast, client_as: ClientAs, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    lost = document.passages.first()
    assert lost is not None
    PassageVector.objects.filter(passage=lost).delete()
    monkeypatch.setattr(jobs, "current_embedder", HashEmbedder)
    assert client_as(cast.auditor).post("/operations/maintenance/", {"kind": "vectors"}).status_code == 403
    with pytest.raises(NotAllowed):
        jobs.job_start(actor=cast.admin, kind="vectors")
    with pytest.raises(WorkbenchError, match="no such job"):
        jobs.job_start(actor=cast.staff, kind="anything")
    client_as(cast.staff).post("/operations/maintenance/", {"kind": "vectors"})
    job = Job.objects.get()
    jobs.job_run(job_id=job.pk)
    job.refresh_from_db()
    assert (job.state, job.done, job.total, job.result["left"]) == ("done", 1, 1, 0)
    assert PassageVector.objects.filter(passage=lost).exists()
    assert "1 passages of 1 documents were completed." in page(client_as(cast.staff))


def test_what_fails_says_why(cast: Cast, client_as: ClientAs, monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs.job_start(actor=cast.staff, kind="vectors")

    def refuse() -> None:
        raise WorkbenchError("The encoder is not there.")

    monkeypatch.setattr(jobs, "current_embedder", refuse)
    jobs.job_run(job_id=job.pk)
    job.refresh_from_db()
    assert (job.state, job.failure) == ("failed", "The encoder is not there.")
    assert "The encoder is not there." in page(client_as(cast.staff))
