"""Erasing: no text of a document is left anywhere, and nothing that was decided about it is lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import OperationalError, connection
from django.db.models.functions import Now
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.review.signed import signed
from tests.workbench.scene import TEXT, Scene, make_document
from workbench.accounts.models import User
from workbench.api.models import IdempotentRequest
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_seal_all, audit_verify
from workbench.documents import copies
from workbench.documents.erasure import document_delete
from workbench.documents.lexical import lexical_index
from workbench.documents.models import Document, DocumentStatus
from workbench.documents.pages import cache_folder
from workbench.documents.services import document_upload
from workbench.erasure import erased_text, purge
from workbench.erasure.erased_text import Quotations
from workbench.erasure.purge import document_purge, documents_purge
from workbench.errors import Conflict
from workbench.exports.models import Export, ExportState
from workbench.exports.services import export_make, run_export
from workbench.review.models import Review
from workbench.review.record import record_digest
from workbench.runs.models import Candidate, LLMCall, LLMCallBody, LLMReply, Run, RunStatus, Verdict
from workbench.synonyms.models import DictionaryEntry

ClientAs = Callable[[User | None], Client]
#: Sentences and headings of the document that are in no question.
SECRETS = [*TEXT, *(line for body in TEXT.values() for line in body), "Access records policy"]
OTHER = {"9 Scope": ["Nothing in this other text repeats the first one at all."]}


def due(cast: Cast, document: Document) -> Document:
    """Deleted, and its time is over."""
    document_delete(actor=cast.admin, document=document, reason="The client asked for it.")
    Document.objects.filter(pk=document.pk).update(erase_at=Now() - timedelta(hours=2))
    return document


def everything_stored() -> str:
    """Every row of every table as text."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            found += [row[0] for row in cursor.fetchall()]
    return "\n".join(found)


def left_in(folder: Path) -> list[str]:
    """Secrets that any file still holds."""
    held = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    return [secret for secret in SECRETS if secret.encode() in held]


def left_anywhere(folder: Path) -> list[str]:
    stored = everything_stored()
    return [secret for secret in SECRETS if secret in stored] + left_in(folder)


@pytest.fixture
def full(cast: Cast, scene: Scene) -> Scene:
    """The scene, and text of the document in every place that the product may put it."""
    quoted = " ".join(line for body in TEXT.values() for line in body)
    for run in (scene.run, None):
        call = LLMCall.objects.create(collection=cast.alpha, run=run, attempt=1, outcome="ok")
        LLMCallBody.objects.create(call=call, request={"prompt": quoted}, response={"text": quoted})
    LLMReply.objects.create(collection=cast.alpha, request_hash="0" * 64, reply={"text": quoted})
    IdempotentRequest.objects.create(
        user=cast.analyst, key="k", fingerprint="0" * 64, status=201, body={"run": {"text": quoted}}
    )
    Run.objects.filter(pk=scene.run.pk).update(
        notes=[quoted], artefacts={"rubric": quoted}, conflicts=[], not_found_reason=quoted
    )
    Verdict.objects.filter(candidate__run=scene.run).update(
        reason=quoted, counter_argument=quoted, quotes=[{"quote": quoted, "status": "verified"}]
    )
    pages = cache_folder(scene.document)
    pages.mkdir(parents=True)
    (pages / "1.png").write_text(quoted)
    lexical_index(cast.alpha)
    export_make(export_id=run_export(actor=cast.analyst, run=scene.run).pk)
    default_storage.save(f"exports/{cast.alpha.pk}/999/lost.html", ContentFile(quoted.encode()))
    return scene


def test_no_sentence_is_left_in_any_table_or_file(cast: Cast, full: Scene, tmp_path: Path) -> None:
    signed(full.run)
    assert left_anywhere(tmp_path)
    digest = full.document.sha256
    reviews = list(Review.objects.order_by("pk").values_list("pk", "role", "action"))
    roles = list(Verdict.objects.order_by("pk").values_list("pk", "role", "probability"))
    signature = full.run.signatures.get()

    due(cast, full.document)
    assert documents_purge() == 1

    assert left_anywhere(tmp_path) == []
    erased = Document.objects.get(pk=full.document.pk)
    assert (erased.status, erased.sha256, erased.file.name) == (DocumentStatus.ERASED, digest, "")
    assert (erased.line_count, erased.deleted_by) == (full.document.line_count, cast.admin)
    assert erased.settled_at is not None
    # What was decided stays, and the signature's record with its hash.
    assert list(Review.objects.order_by("pk").values_list("pk", "role", "action")) == reviews
    assert list(Verdict.objects.order_by("pk").values_list("pk", "role", "probability")) == roles
    signature.refresh_from_db()
    assert record_digest(signature.record) == signature.record_sha256
    audit_seal_all()
    assert audit_verify().ok
    (event,) = AuditEvent.objects.filter(action="document.erased")
    assert (event.before["sha256"], event.reason) == (digest, "The client asked for it.")
    assert event.after["lines"] == full.document.line_count


def test_pages_api_and_exports_show_a_tombstone(
    cast: Cast, full: Scene, client_as: ClientAs, tmp_path: Path
) -> None:
    signed(full.run)
    due(cast, full.document)
    documents_purge()
    run, document = full.run.pk, full.document.pk
    candidate = Candidate.objects.filter(run=run).values_list("pk", flat=True)[0]
    client = client_as(cast.auditor)
    said = [
        f"/runs/{run}/", f"/comparisons/{full.comparison.pk}/", f"/candidates/{candidate}/evidence/",
    ]  # fmt: skip
    silent = [
        f"/documents/{document}/", f"/documents/{document}/versions/", f"/documents/{document}/status/",
        f"/runs/{run}/?tab=provenance", f"/runs/{run}/?tab=json", f"/runs/{run}/record.json", f"/runs/{run}/as-of/",
        f"/runs/{run}/sign/", f"/candidates/{candidate}/receipt/", "/collections/alpha/",
        "/collections/alpha/?status=deleted", f"/api/v1/runs/{run}/record/", f"/api/v1/candidates/{candidate}/",
        f"/api/v1/documents/{document}/", f"/api/v1/documents/{document}/deletion/",
    ]  # fmt: skip
    for address in [*said, *silent]:
        answer = client.get(address)
        assert answer.status_code == 200, address
        shown = answer.content.decode()
        assert not [secret for secret in SECRETS if secret in shown], address
        assert address in silent or "This text was erased" in shown, address
    assert "The text of this document was erased" in client.get(silent[0]).content.decode()
    assert client.get(f"/api/v1/candidates/{candidate}/").json()["is_erased"] is True
    assert client.get(f"/documents/{document}/original/").status_code == 404
    assert "a text was erased" in client.get(f"/runs/{run}/sign/").content.decode()
    export = run_export(actor=cast.auditor, run=full.run)
    export_make(export_id=export.pk)
    page = export.files.get(name__endswith=".html")
    with default_storage.open(page.path) as file:
        told = file.read().decode()
    assert "This text was erased" in told
    assert "a text was erased, or" in told
    assert "No: the record is not" not in told, "an erased text is no accusation"
    assert left_in(tmp_path) == []


class _Killed(BaseException):
    """As sudden as a lost worker."""


@pytest.mark.parametrize(
    "place",
    [
        "workbench.erasure.erased_text._verdicts",
        "workbench.erasure.erased_text._api_answers",
        "workbench.erasure.purge._entomb",
        "workbench.erasure.purge.default_storage.delete",
        "workbench.erasure.purge.forget_pages",
        "workbench.erasure.purge.index_forget",
        "workbench.erasure.purge.exports_erase",
        "workbench.erasure.purge._erase_export_remains",
        "workbench.erasure.purge._settle",
    ],
)
def test_killed_in_the_middle_it_is_done_again_to_the_same_end(
    cast: Cast, full: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    due(cast, full.document)

    def kill(*args: Any, **kwargs: Any) -> Any:
        raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(place, kill)
        with pytest.raises(_Killed):
            documents_purge()
    assert documents_purge() == 1
    assert left_anywhere(tmp_path) == []
    assert documents_purge() == 0
    for action in ("document.erased", "document.erasure_settled"):
        assert AuditEvent.objects.filter(action=action).count() == 1
    audit_seal_all()
    assert audit_verify().ok


def test_killed_between_an_exports_row_and_its_files_the_files_go_later(
    cast: Cast, full: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    due(cast, full.document)
    delete = default_storage.delete

    def kill_at_exports(path: str) -> None:
        if path.startswith("exports/"):
            raise _Killed
        delete(path)

    with monkeypatch.context() as patch:
        patch.setattr(default_storage, "delete", kill_at_exports)
        with pytest.raises(_Killed):
            documents_purge()
    assert not Export.objects.filter(state=ExportState.READY).exists()
    assert left_in(tmp_path)
    assert documents_purge() == 1
    assert left_in(tmp_path) == []


def test_a_hold_between_two_passes_keeps_what_is_left(
    cast: Cast, full: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench.documents.erasure import hold_set

    due(cast, full.document)
    erase = purge._erase_tables

    def erase_then_hold(document_id: int) -> bool:
        erased = erase(document_id)
        hold_set(actor=cast.admin, collection=cast.alpha, is_held=True, reason="A case.")
        return erased

    monkeypatch.setattr(purge, "_erase_tables", erase_then_hold)
    assert not document_purge(document_id=full.document.pk)
    assert default_storage.exists(full.document.file.name)


def test_it_waits_for_a_run_that_began_before(cast: Cast, scene: Scene) -> None:
    Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.ARBITRATING)
    due(cast, scene.document)
    Document.objects.filter(pk=scene.document.pk).update(erase_at=Now())
    assert not document_purge(document_id=scene.document.pk)
    assert scene.document.lines.exists()
    # Not for ever: after an hour the text goes, and the rest when the run has ended.
    Document.objects.filter(pk=scene.document.pk).update(erase_at=Now() - timedelta(hours=2))
    assert not document_purge(document_id=scene.document.pk)
    assert not scene.document.lines.exists()
    Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.FAILED, failure_reason="It was erased.")
    assert document_purge(document_id=scene.document.pk)


def test_an_export_that_is_being_made_is_waited_for_and_removed(
    cast: Cast, scene: Scene, tmp_path: Path
) -> None:
    export = run_export(actor=cast.analyst, run=scene.run)
    due(cast, scene.document)
    assert documents_purge() == 0
    # What its worker had read before comes to the store now.
    default_storage.save(f"exports/{cast.alpha.pk}/{export.pk}/run.html", ContentFile(SECRETS[-2].encode()))
    Export.objects.filter(pk=export.pk).update(state=ExportState.FAILED, failure="lost")
    assert documents_purge() == 1
    assert left_in(tmp_path) == []


def test_other_documents_keep_their_words_unless_they_quote(cast: Cast, scene: Scene) -> None:
    other = make_document(collection=cast.alpha, owner=cast.analyst, name="other.txt", text=OTHER)
    beside = Candidate.objects.create(
        run=scene.run, document=other, candidate_id="x1", position=90, text_hash="0" * 64,
        anchor_page_start=1, anchor_line_start=1, anchor_page_end=1, anchor_line_end=2,
        context_page_start=1, context_line_start=1, context_page_end=1, context_line_end=2,
    )  # fmt: skip
    quoting = Candidate.objects.get(pk=beside.pk)
    quoting.pk, quoting.candidate_id = None, "x2"
    quoting.save(force_insert=True)
    for candidate, reason in (
        (beside, "It says nothing about the period."),
        (quoting, "Unlike “payment records are kept for ten years”, this names none."),
    ):
        Verdict.objects.create(
            candidate=candidate, role="discarded", reason=reason, decided_by_kind="llm",
            decided_by_name="m", order=90,
        )  # fmt: skip
    due(cast, scene.document)
    assert documents_purge() == 1
    assert Verdict.objects.get(candidate=beside).reason == "It says nothing about the period."
    assert Verdict.objects.get(candidate=quoting).reason.startswith("erased, sha256 ")
    assert other.lines.exists()
    assert lexical_index(cast.alpha).body_lines(other.pk) > 0


def test_learned_pairs_that_nobody_put_to_use_go(cast: Cast, scene: Scene) -> None:
    decided = {"decided_by": cast.admin, "decided_at": Now()}
    system = {"proposed_by": User.objects.system(), "proposed_from": scene.run.reviews.get()}
    for variant, facts in {
        "kept in use": system | decided | {"status": "approved"},
        "turned down": system | decided | {"status": "rejected"},
        "only proposed": system,
        "turned down, by hand": system | decided | {"status": "rejected", "proposed_by": cast.admin},
    }.items():
        DictionaryEntry.objects.create(collection=cast.alpha, term="scroll", variant=variant, **facts)
    due(cast, scene.document)
    assert documents_purge() == 1
    left = DictionaryEntry.objects.filter(term="scroll").values_list("variant", flat=True)
    assert set(left) == {"kept in use", "turned down, by hand"}


def test_quotations_run_over_line_ends_and_ignore_case_and_marks() -> None:
    quotations = Quotations(["Access records are kept", "for twenty-four months."])
    assert quotations.are_in("He said: RECORDS are kept; for twenty four")
    assert quotations.are_in({"a": [1, {"b": "access records are kept for"}]})
    assert not quotations.are_in("Access records are deleted for twenty months")
    assert not quotations.are_in(None)


def test_another_hosts_index_forgets_a_deleted_document(cast: Cast, scene: Scene, tmp_path: Path) -> None:
    other = make_document(collection=cast.alpha, owner=cast.analyst, name="other.txt", text=OTHER)
    lexical_index(cast.alpha)
    assert left_in(tmp_path / "index")
    document_delete(actor=cast.admin, document=scene.document, reason="Asked.")
    assert lexical_index(cast.alpha).body_lines(other.pk) > 0
    assert left_in(tmp_path / "index") == []


def test_the_same_bytes_may_come_again_when_they_are_gone(cast: Cast, here: None) -> None:
    def upload() -> Document:
        file = ContentFile(b"Some words.", "a.txt")
        return document_upload(actor=cast.analyst, collection=cast.alpha, file=file, name="a.txt").document

    first = upload()
    Document.objects.filter(pk=first.pk).update(status=DocumentStatus.CANCELLED)
    first.refresh_from_db()
    due(cast, first)
    with pytest.raises(Conflict, match="about to be erased"):
        upload()
    assert documents_purge() == 1
    again = upload()
    assert (again.sha256, again.status) == (first.sha256, DocumentStatus.QUEUED)
    assert again.pk != first.pk
    # The tombstone does not take the new one's file along.
    assert documents_purge() == 0
    assert default_storage.exists(again.file.name)


def test_the_mark_names_the_text_once() -> None:
    mark = erased_text.erased_mark("words")
    assert mark.startswith("erased, sha256 ")
    assert erased_text.erased_mark(mark) == mark
    assert erased_text.erased_mark("") == ""


class TestOtherHosts:
    """Copies that another host made for itself go there, too."""

    @pytest.fixture
    def elsewhere(self, cast: Cast, scene: Scene, settings: Any, tmp_path: Path) -> tuple[Path, Path]:
        """A host with an index and page images of a document, after another host has erased that document; and the
        images of one that was not."""
        kept = make_document(collection=cast.alpha, owner=cast.analyst, name="other.txt", text=OTHER)
        here, settings.WORKBENCH_HOME = settings.WORKBENCH_HOME, tmp_path / "elsewhere"
        lexical_index(cast.alpha)
        for document in (scene.document, kept):
            cache_folder(document).mkdir(parents=True)
            (cache_folder(document) / "1.png").write_bytes(b"image")
        erased, spared = cache_folder(scene.document), cache_folder(kept)
        settings.WORKBENCH_HOME = here
        due(cast, scene.document)
        assert documents_purge() == 1
        settings.WORKBENCH_HOME = tmp_path / "elsewhere"
        return erased, spared

    def test_they_are_found_after_a_request(
        self, elsewhere: tuple[Path, Path], cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        erased, spared = elsewhere
        index = settings.WORKBENCH_HOME / "index"
        assert b"twenty-four" in stored_bytes(index)
        settings.COPIES_SWEEP_SECONDS = 900
        monkeypatch.setattr(copies._Looked, "at", -1000.0)
        # The test's own transaction is none of a request's.
        monkeypatch.setattr(
            copies,
            "connection",
            SimpleNamespace(in_atomic_block=False, settings_dict=connection.settings_dict),
        )
        Client().get("/healthz")
        assert not erased.exists()
        assert spared.exists()
        assert b"twenty-four" not in stored_bytes(index)

        lexical_index(cast.alpha)
        spared_since = copies.copies_sweep()
        assert spared_since == 0, "an index without the document stays"
        erased.mkdir()
        Client().get("/healthz")
        assert erased.exists(), "not before the next quarter of an hour"

    def test_a_database_that_is_away_breaks_no_request(
        self, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away() -> int:
            raise OperationalError

        settings.COPIES_SWEEP_SECONDS, settings.WORKBENCH_HOME = 900, tmp_path
        monkeypatch.setattr(copies, "copies_sweep", away)
        monkeypatch.setattr(copies, "connection", SimpleNamespace(in_atomic_block=False))
        monkeypatch.setattr(copies._Looked, "at", -1000.0)
        copies.copies_sweep_if_due()
        assert (tmp_path / "cache" / "swept").exists()


def stored_bytes(folder: Path) -> bytes:
    """Everything in a folder, one file after another."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
