"""A watched folder: each file becomes a document once, whole, and nothing outside of the folder is read."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from arbitration.parsing.isolation import UnpackedFile
from tests.workbench.cast import Cast
from workbench.accounts.models import Membership, User
from workbench.audit.models import AuditEvent
from workbench.documents.erasure import document_delete
from workbench.documents.models import Document, DocumentStatus
from workbench.erasure.purge import documents_purge
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.sources import looking
from workbench.sources.folder import FolderReader
from workbench.sources.looking import source_look
from workbench.sources.models import FileState, Source, SourceFile
from workbench.sources.protocol import Entry, Kind
from workbench.sources.selectors import sources_due
from workbench.sources.services import (
    MOST_SOURCES,
    secrets_renew,
    source_create,
    source_file_retry,
    source_look_now,
    source_pause,
    source_remove,
    source_resume,
)

from .watched import later, look, watched

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("here")]
ClientAs = Callable[[User | None], Client]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where files are dropped."""
    return tmp_path / "in"


@pytest.fixture
def source(cast: Cast, settings: Any, folder: Path) -> Source:
    """It is watched."""
    return watched(cast, settings, folder)


def names() -> list[str]:
    return sorted(Document.objects.values_list("name", flat=True))


def test_a_dropped_file_becomes_a_document_once(cast: Cast, source: Source, folder: Path) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "policy.txt").write_text("Records are kept for ten years.")
    look(source, 4)
    document = Document.objects.get()
    assert (document.name, document.collection, document.uploaded_by) == (
        "policy.txt",
        cast.alpha,
        cast.admin,
    )
    file = SourceFile.objects.get()
    assert (file.state, file.key, file.document, file.attempts) == ("taken", "below/policy.txt", document, 1)
    event = AuditEvent.objects.get(action="document.uploaded")
    assert (event.actor, event.actor_kind, event.after["source"]) == (cast.admin, "worker", source.pk)


def test_a_file_that_is_being_written_waits(source: Source, folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("half")
    look(source)
    assert SourceFile.objects.get().state == FileState.WAITING
    path.write_text("half and the rest")
    look(source)
    assert names() == []
    assert SourceFile.objects.get().state == FileState.WAITING
    look(source)
    assert Document.objects.get().size == len("half and the rest")


def test_two_looks_at_once_do_not_make_it_whole(source: Source, folder: Path) -> None:
    (folder / "a.txt").write_text("half")
    look(source)
    Source.objects.update(next_look_at="2020-01-01T00:00Z")
    source_look(source_id=source.pk)
    assert names() == []


def test_a_changed_file_comes_in_again_and_the_same_bytes_do_not(source: Source, folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("first")
    look(source, 2)
    path.write_text("second, which is longer")
    (folder / "copy.txt").write_text("first")
    look(source, 2)
    assert Document.objects.count() == 2
    copy = SourceFile.objects.get(name="copy.txt")
    assert copy.is_duplicate
    assert copy.document == Document.objects.get(size=5)


def test_links_hidden_files_and_pipes_are_left_alone(source: Source, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("of somebody else")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.txt").write_text("elsewhere")
    (folder / "linked").symlink_to(tmp_path / "other")
    (folder / ".hidden.txt").write_text("hidden")
    os.mkfifo(folder / "pipe")
    look(source, 3)
    assert names() == []
    assert not SourceFile.objects.exists()


def test_a_file_that_became_a_link_is_refused(source: Source, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("of somebody else")
    path = folder / "a.txt"
    path.write_text("x")
    (entry,) = (reader := looking.kind_named("folder").open(source.settings, "")).list({}).entries
    path.unlink()
    path.symlink_to(tmp_path / "secret.txt")
    with pytest.raises(WorkbenchError):
        list(reader.fetch(entry, most_bytes=10))
    (folder / "sub").symlink_to(tmp_path)
    for key in ("sub/secret.txt", "../secret.txt/x"):
        with pytest.raises(WorkbenchError):
            list(reader.fetch(Entry(key, "1:1", "x"), most_bytes=10))


def test_a_folder_that_became_a_link_is_not_read(source: Source, folder: Path, tmp_path: Path) -> None:
    folder.rmdir()
    folder.symlink_to(tmp_path)
    look(source)
    assert "cannot be read" in source.error
    assert names() == []


@pytest.mark.parametrize("path", ["/etc", "in", "", "{root}/../etc", "{root}x/in"])
def test_only_folders_that_the_operator_names_are_watched(
    cast: Cast, settings: Any, tmp_path: Path, path: str
) -> None:
    settings.SOURCE_FOLDERS = [tmp_path]
    with pytest.raises(WorkbenchError):
        source_create(
            actor=cast.admin, collection=cast.alpha, kind="folder", name="In",
            settings={"folder": path.format(root=tmp_path)},
        )  # fmt: skip
    assert not Source.objects.exists()


@pytest.mark.parametrize("path", ["in", "in/below", "", "in/", "linked", "linked/below"])
def test_no_folder_of_another_collection_is_watched(
    cast: Cast, source: Source, folder: Path, client_as: ClientAs, path: str
) -> None:
    """Neither the same nor one that holds it or lies in it, whatever links lead there; of its own it may be."""
    (folder.parent / "linked").symlink_to(folder)
    settings = {"folder": str(folder.parent / path)}
    with pytest.raises(Conflict, match="Another collection"):
        source_create(actor=cast.outsider, collection=cast.beta, kind="folder", name="In", settings=settings)
    source_pause(actor=cast.admin, source=source)
    refused = client_as(cast.outsider).post(
        reverse("sources:sources", args=["beta"]),
        {"kind": "folder", "name": "In", "set_folder": settings["folder"]},
    )
    assert refused.status_code == 422
    assert "Another collection" in refused.content.decode()
    assert Source.objects.filter(collection=cast.beta).count() == 0
    source_create(actor=cast.admin, collection=cast.alpha, kind="folder", name="In", settings=settings)


def test_one_beside_it_or_of_a_removed_source_may_be(cast: Cast, source: Source, folder: Path) -> None:
    def add(path: str) -> None:
        settings = {"folder": path}
        source_create(actor=cast.outsider, collection=cast.beta, kind="folder", name="In", settings=settings)

    add(f"{folder}2")
    source_remove(actor=cast.admin, source=source)
    add(str(folder))


def test_folders_that_overlap_by_now_are_not_read(cast: Cast, source: Source, folder: Path) -> None:
    """As sources that were added before this was asked, or where a folder became a link to another's."""
    (folder / "a.txt").write_text("x")
    other = Source.objects.create(
        collection=cast.beta, kind="folder", name="All", settings={"folder": str(folder.parent)},
        created_by=cast.outsider,
    )  # fmt: skip
    for one in (source, other):
        look(one, 2)
        assert "Another collection" in one.error
    assert names() == []
    source_remove(actor=cast.outsider, source=other)
    look(source, 2)
    assert (source.error, names()) == ("", ["a.txt"])


def test_kinds_without_a_secret_read_one_place_for_one_collection() -> None:
    """Whoever gives a secret shows by it that they may read."""
    kind = Kind(name="x", label="X", settings=(), check=dict, open=FolderReader)
    assert kind.overlaps({"a": "1"}, {"a": "1"})
    assert not kind.overlaps({"a": "1"}, {"a": "2"})
    assert not replace(kind, secret="Token").overlaps({"a": "1"}, {"a": "1"})


def test_a_folder_that_is_no_longer_allowed_is_not_read(source: Source, folder: Path, settings: Any) -> None:
    (folder / "a.txt").write_text("x")
    settings.SOURCE_FOLDERS = []
    look(source, 2)
    assert "SOURCE_FOLDERS" in source.error
    assert names() == []


def test_one_file_that_fails_says_why_and_the_rest_goes_on(
    source: Source, folder: Path, cast: Cast, client_as: ClientAs, settings: Any
) -> None:
    settings.MAX_UPLOAD_BYTES = 10
    (folder / "a-empty.txt").write_text("")
    (folder / "b-large.txt").write_text("much too large")
    (folder / "c.txt").write_text("fine")
    look(source, 3)
    assert names() == ["c.txt"]
    failed = dict(SourceFile.objects.filter(state=FileState.FAILED).values_list("name", "error"))
    assert "empty" in failed["a-empty.txt"]
    assert "larger" in failed["b-large.txt"]
    page = client_as(cast.admin).get(source.get_absolute_url()).content.decode()
    assert page.count("Try again") == 2
    settings.MAX_UPLOAD_BYTES = 100
    large = SourceFile.objects.get(name="b-large.txt")
    client_as(cast.admin).post(reverse("sources:retry", args=[large.pk]))
    look(source)
    large.refresh_from_db()
    assert (large.state, large.attempts, large.error) == (FileState.TAKEN, 2, "")
    with pytest.raises(Conflict):
        source_file_retry(actor=cast.admin, file=large)


def test_a_file_that_still_fails_counts_its_attempts(source: Source, folder: Path, cast: Cast) -> None:
    (folder / "a.txt").write_text("")
    look(source, 2)
    source_file_retry(actor=cast.admin, file=SourceFile.objects.get())
    look(source)
    file = SourceFile.objects.get()
    assert (file.state, file.attempts) == (FileState.FAILED, 2)


def test_an_erased_document_does_not_come_back(source: Source, folder: Path, cast: Cast) -> None:
    (folder / "a.txt").write_text("x")
    look(source, 2)
    Document.objects.update(status=DocumentStatus.READY)
    document = Document.objects.get()
    document_delete(actor=cast.admin, document=document, reason="The client asked for it.")
    Document.objects.update(erase_at=Now() - timedelta(hours=2))
    documents_purge()
    look(source, 2)
    assert Document.objects.count() == 1
    file = SourceFile.objects.get()
    assert (file.key, file.name, file.state) == ("", "", FileState.TAKEN)


def test_a_worker_that_lost_its_lease_writes_nothing(
    source: Source, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.txt").write_text("x")
    look(source)
    upload = looking.document_upload

    def taken_over(**given: Any) -> Any:
        Source.objects.update(lease_owner="somebody else")
        return upload(**given)

    monkeypatch.setattr(looking, "document_upload", taken_over)
    look(source)
    assert names() == []
    assert SourceFile.objects.get().state == FileState.WAITING


def test_nobody_looks_while_another_does_or_before_it_is_due(source: Source, folder: Path) -> None:
    assert sources_due() == [source.pk]
    look(source)
    assert sources_due() == []
    later()
    Source.objects.update(lease_owner="x", lease_until="2100-01-01T00:00Z")
    assert sources_due() == []


def test_a_paused_source_is_not_looked_at(source: Source, folder: Path, cast: Cast) -> None:
    (folder / "a.txt").write_text("x")
    source_pause(actor=cast.admin, source=source)
    look(source, 2)
    assert not SourceFile.objects.exists()
    with pytest.raises(Conflict):
        source_look_now(actor=cast.admin, source=source)
    source_resume(actor=cast.admin, source=source)
    look(source, 2)
    assert names() == ["a.txt"]


def test_it_takes_nothing_in_for_somebody_who_manages_no_longer(
    source: Source, folder: Path, cast: Cast
) -> None:
    (folder / "a.txt").write_text("x")
    Membership.objects.filter(user=cast.admin).delete()
    look(source, 2)
    assert names() == []
    assert "does not manage" in source.error


def test_a_source_that_fails_waits_longer_each_time(source: Source, folder: Path) -> None:
    folder.rmdir()
    pauses = []
    for _ in range(3):
        look(source)
        pauses.append(source.next_look_at - source.last_looked_at)
    assert pauses == sorted(set(pauses))
    folder.mkdir()
    look(source)
    assert (source.error, source.failures) == ("", 0)


def test_a_source_that_fails_is_not_checked_more_often(source: Source, folder: Path, settings: Any) -> None:
    settings.SOURCE_SECONDS = 3600
    folder.rmdir()
    look(source)
    assert source.next_look_at - source.last_looked_at == timedelta(hours=1)


def test_a_name_that_is_no_text_comes_in(source: Source, folder: Path) -> None:
    (Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt"))).write_text("x")
    look(source, 3)
    assert names() == ["caf.txt"]


def test_the_database_refuses_the_same_file_twice(source: Source) -> None:
    one = {"source": source, "key_sha256": "0" * 64, "fingerprint": "1", "state": "failed", "error": "x"}
    SourceFile.objects.create(**one)
    for wrong in (one, one | {"fingerprint": "2", "error": ""}, one | {"fingerprint": "3", "state": "taken"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            SourceFile.objects.create(**wrong)


def test_only_admins_of_the_collection_set_it_up(source: Source, cast: Cast, folder: Path) -> None:
    for person in (cast.analyst, cast.reviewer, cast.auditor, cast.outsider, cast.staff):
        with pytest.raises(NotAllowed):
            source_create(
                actor=person, collection=cast.alpha, kind="folder", name="x", settings={"folder": str(folder)}
            )
        with pytest.raises(NotAllowed):
            source_remove(actor=person, source=source)


def test_settings_are_checked(cast: Cast, source: Source, folder: Path) -> None:
    right = {"kind": "folder", "name": "x", "settings": {"folder": str(folder)}}
    for wrong in (
        {"kind": "attic"},
        {"name": "  "},
        {"settings": {}},
        {"settings": {"folder": str(folder), "depth": "1"}},
        {"settings": {"folder": str(folder) + "\n" + "x"}},
        {"secret": "none is needed"},
    ):
        with pytest.raises(WorkbenchError):
            source_create(actor=cast.admin, collection=cast.alpha, **(right | wrong))  # type: ignore[arg-type]
    for _ in range(MOST_SOURCES - 1):
        source_create(actor=cast.admin, collection=cast.alpha, **right)  # type: ignore[arg-type]
    with pytest.raises(Conflict):
        source_create(actor=cast.admin, collection=cast.alpha, **right)  # type: ignore[arg-type]


def test_pages_add_show_pause_and_remove(
    cast: Cast, client_as: ClientAs, settings: Any, folder: Path, django_assert_max_num_queries: Any
) -> None:
    settings.SOURCE_FOLDERS = [folder.parent]
    folder.mkdir()
    client, page = client_as(cast.admin), reverse("sources:sources", args=["alpha"])
    refused = client.post(page, {"kind": "folder", "name": "In", "set_folder": "/etc"})
    assert refused.status_code == 422
    assert b"SOURCE_FOLDERS" in refused.content
    client.post(page, {"kind": "folder", "name": "In", "set_folder": str(folder)})
    source = Source.objects.get()
    for number in range(5):
        (folder / f"{number}.txt").write_text(f"text {number}")
    look(source, 2)
    client.get(page)
    with django_assert_max_num_queries(15):
        listed = client.get(page).content.decode()
    assert re.search(r"5 imported, 0 failed", listed)
    with django_assert_max_num_queries(15):
        shown = client.get(source.get_absolute_url()).content.decode()
    assert "4.txt" in shown
    assert str(folder) in shown
    for act, state in (("pause", "paused"), ("resume", "active"), ("remove", "removed")):
        client.post(reverse("sources:switch", args=[source.pk]), {"act": act})
        source.refresh_from_db()
        assert source.state == state
    assert client.get(source.get_absolute_url()).status_code == 404
    assert Document.objects.count() == 5


def test_the_api_does_the_same(cast: Cast, client_as: ClientAs, settings: Any, folder: Path) -> None:
    settings.SOURCE_FOLDERS = [folder.parent]
    folder.mkdir()
    client = client_as(cast.admin)
    body = {"collection": "alpha", "kind": "folder", "name": "In", "settings": {"folder": str(folder)}}
    made = client.post("/api/v1/sources/", body, content_type="application/json")
    assert made.status_code == 201, made.content
    (folder / "a.txt").write_text("")
    source = Source.objects.get()
    look(source, 2)
    (file,) = client.get(f"/api/v1/source-files/?source={source.pk}&state=failed").json()["results"]
    assert "empty" in file["error"]
    assert client.post(f"/api/v1/source-files/{file['id']}/retry/").json()["state"] == "again"
    assert client.post(f"/api/v1/sources/{source.pk}/look/").status_code == 202
    assert client.post(f"/api/v1/sources/{source.pk}/pause/").json()["state"] == "paused"
    assert client.post(f"/api/v1/sources/{source.pk}/remove/").status_code == 204
    assert client.get("/api/v1/sources/?collection=alpha").json()["results"] == []


def test_secrets_move_to_the_present_key(source: Source, settings: Any) -> None:
    Source.objects.update(secret=looking_secret("word"))
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = (
        [settings.SECRET_KEY],
        "another-key-that-is-long-enough-for-it",
    )
    assert secrets_renew() == 1
    assert secrets_renew() == 0
    settings.SECRET_KEY_FALLBACKS = []
    assert looking.opened(Source.objects.get().secret) == "word"


def looking_secret(word: str) -> str:
    from workbench.sources.secrets import sealed

    return sealed(word)


def test_the_files_of_a_zip_are_documents_and_its_bad_ones_are_named(source: Source, folder: Path) -> None:
    with zipfile.ZipFile(folder / "deeds.zip", "w") as archive:
        archive.writestr("a.txt", "One.")
        archive.writestr("b.zip", "x")
        archive.writestr("c.txt", "Two.")
    look(source, 2)
    assert names() == ["a.txt", "c.txt"]
    assert sorted(SourceFile.objects.values_list("part", "name", "state")) == [
        (1, "a.txt", FileState.TAKEN),
        (2, "b.zip", FileState.FAILED),
        (3, "c.txt", FileState.TAKEN),
    ]
    look(source, 2)
    assert SourceFile.objects.count() == 3


def test_the_files_of_a_zip_do_not_wait_in_memory_for_each_other(
    source: Source, folder: Path, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(folder / "deeds.zip", "w") as archive:
        for name in ("a.txt", "b.txt", "c.txt"):
            archive.writestr(name, f"The text of {name}.")
    plain, there = looking.archive_files, []

    def ends_its_worker(file: Any) -> Iterator[UnpackedFile]:
        for member in plain(file):
            there.append(len(names()))
            if len(there) == 3:
                raise SystemExit
            yield member

    monkeypatch.setattr(looking, "archive_files", ends_its_worker)
    look(source)
    with pytest.raises(SystemExit):
        look(source)
    assert there == [0, 1, 2]
    assert names() == ["a.txt", "b.txt"]
    # What came in before stays as it is, also when it was erased before the rest comes in.
    Document.objects.update(status=DocumentStatus.READY)
    document_delete(actor=cast.admin, document=Document.objects.get(name="a.txt"), reason="Asked for.")
    Document.objects.filter(name="a.txt").update(erase_at=Now() - timedelta(hours=2))
    documents_purge()
    look(source)
    assert sorted(SourceFile.objects.values_list("part", "name", "state", "is_duplicate")) == [
        (1, "", FileState.TAKEN, False),
        (2, "b.txt", FileState.TAKEN, False),
        (3, "c.txt", FileState.TAKEN, False),
    ]
    assert Document.objects.count() == 3
    look(source, 2)
    assert Document.objects.count() == 3
