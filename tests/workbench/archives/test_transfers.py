"""Archives by the pages: asked for, written, fetched; sent, checked, taken in; each step for who may, and on record."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from tests.workbench.archives.test_archives import alpha, archive, entries_of, packed, policy
from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.pages.conftest import queries_of
from workbench.accounts.models import Membership, User
from workbench.archives import reading, transfers
from workbench.archives.contents import MANIFEST
from workbench.archives.models import Transfer, TransferState
from workbench.archives.progress import Told, percent_done
from workbench.archives.reading import AT_ONCE
from workbench.archives.transfers import (
    archive_request,
    archive_under_way,
    archive_upload,
    archive_work,
    archives_erase,
    archives_remove_old,
    archives_to_wake,
)
from workbench.audit.models import AuditEvent
from workbench.documents.models import Collection
from workbench.errors import Conflict, NotAllowed
from workbench.infra.leases import LeaseLost

__all__ = ["alpha", "archive", "policy"]  # fixtures

ClientAs = Callable[[User | None], Client]
SENT = "/archives/"


def worked(transfer: Transfer, state: TransferState) -> Transfer:
    """The archive after a worker was there."""
    archive_work(transfer_id=transfer.pk)
    transfer.refresh_from_db()
    assert transfer.state == state, transfer.failure
    return transfer


def sent_by(actor: User, content: bytes) -> Transfer:
    return archive_upload(actor=actor, file=SimpleUploadedFile("alpha.zip", content))


def actions() -> list[str]:
    events = AuditEvent.objects.filter(action__contains="archive.").order_by("pk")
    return list(events.values_list("action", flat=True))


def post_file(client: Client, content: bytes) -> Any:
    return client.post(SENT, {"file": SimpleUploadedFile("given.zip", content, "application/zip")})


# --- taking out ---------------------------------------------------------------------------------------------


def test_an_admin_asks_for_an_archive_waits_and_fetches_it(
    alpha: Collection, cast: Cast, client_as: ClientAs
) -> None:
    client = client_as(cast.admin)
    asked = client.post(f"/collections/{alpha.slug}/archive/")
    transfer = Transfer.objects.get()
    assert asked["Location"] == transfer.get_absolute_url()
    waiting = client.get(asked["Location"]).content.decode()
    assert 'hx-trigger="every 1s"' in waiting
    assert "Reload this page" in waiting, "it works without scripts"

    worked(transfer, TransferState.READY)

    page = client.get(asked["Location"]).content.decode()
    assert "every 1s" not in page
    assert transfer.sha256 in page
    fetched = client.get(reverse("archives:fetch", args=[transfer.pk]))
    assert fetched["Content-Disposition"] == 'attachment; filename="alpha.zip"'
    assert fetched["Cache-Control"] == "private, no-store"
    with zipfile.ZipFile(io.BytesIO(b"".join(fetched.streaming_content))) as parcel:
        assert MANIFEST in parcel.namelist()
    assert actions() == ["archive.requested", "archive.made", "archive.fetched"]
    assert AuditEvent.objects.filter(action="collection.exported", actor=cast.admin).count() == 1


def test_a_session_left_open_fetches_nothing_before_the_password(
    alpha: Collection, cast: Cast, client_as: ClientAs
) -> None:
    transfer = worked(archive_request(actor=cast.admin, collection=alpha), TransferState.READY)
    address = reverse("archives:fetch", args=[transfer.pk])
    client = client_as(cast.admin)
    with override_settings(ASKS_AGAIN=True):
        asked = client.get(address)
        assert asked["Location"].startswith("/accounts/reauthenticate/?next=")
        assert "archive.fetched" not in actions()
        back = client.post(asked["Location"], {"password": PASSWORD})
        assert back["Location"] == transfer.get_absolute_url(), (
            "the page stays in sight, not the one that asks"
        )
        assert client.get(address)["Content-Disposition"].startswith("attachment")
        assert client_as(cast.analyst).get(address).status_code == 404, "others are not even asked"
    assert "download>" not in client.get(transfer.get_absolute_url()).content.decode(), (
        "would save the question"
    )


def test_who_lost_the_right_meanwhile_gets_nothing(alpha: Collection, cast: Cast) -> None:
    transfer = archive_request(actor=cast.admin, collection=alpha)
    Membership.objects.filter(user=cast.admin, collection=alpha).delete()
    worked(transfer, TransferState.FAILED)
    assert "Only an admin" in transfer.failure
    assert transfer.path == ""


def test_two_at_once_are_refused(alpha: Collection, cast: Cast, client_as: ClientAs) -> None:
    archive_request(actor=cast.admin, collection=alpha)
    again = client_as(cast.admin).post(f"/collections/{alpha.slug}/archive/")
    assert again.status_code == 422
    assert "is being written already" in again.content.decode()
    with pytest.raises(NotAllowed):
        archive_request(actor=cast.analyst, collection=alpha)


def test_a_removed_archive_is_gone_from_the_store_and_says_so(
    alpha: Collection, cast: Cast, client_as: ClientAs
) -> None:
    transfer = worked(archive_request(actor=cast.admin, collection=alpha), TransferState.READY)
    client = client_as(cast.admin)
    client.post(reverse("archives:remove", args=[transfer.pk]))
    assert not default_storage.exists(transfer.path)
    assert client.get(reverse("archives:fetch", args=[transfer.pk])).status_code == 404
    assert "The file was removed" in client.get(transfer.get_absolute_url()).content.decode()


def test_old_archives_go_and_those_of_an_erased_text_at_once(alpha: Collection, cast: Cast) -> None:
    first = archive_request(actor=cast.admin, collection=alpha)
    assert archive_under_way(collection_id=alpha.pk)
    worked(first, TransferState.READY)
    assert not archive_under_way(collection_id=alpha.pk)
    assert archives_remove_old() == 0
    assert archives_erase(collection=alpha) == 1
    assert not default_storage.exists(first.path)
    second = worked(archive_request(actor=cast.admin, collection=alpha), TransferState.READY)
    Transfer.objects.filter(pk=second.pk).update(changed_at=timezone.now() - timedelta(days=3))
    assert archives_remove_old() == 1
    assert not default_storage.exists(second.path)


def test_a_lost_worker_s_archive_is_written_anew_and_given_up_after_three(
    alpha: Collection, cast: Cast
) -> None:
    transfer = archive_request(actor=cast.admin, collection=alpha)
    assert archives_to_wake() == []
    Transfer.objects.update(changed_at=timezone.now() - timedelta(minutes=1))
    assert archives_to_wake() == [transfer.pk]
    Transfer.objects.update(attempts=3)
    worked(transfer, TransferState.FAILED)
    assert "three times" in transfer.failure
    assert archives_to_wake() == []


# --- taking in ----------------------------------------------------------------------------------------------


def test_an_archive_is_sent_checked_shown_confirmed_and_taken_in(
    archive: bytes, cast: Cast, client_as: ClientAs
) -> None:
    client = client_as(cast.outsider)
    answer = post_file(client, archive)
    transfer = Transfer.objects.get()
    assert answer["Location"] == transfer.get_absolute_url()
    stored = transfer.path
    worked(transfer, TransferState.CHECKED)
    assert not Collection.objects.filter(slug="alpha-2").exists(), "a check makes nothing"

    report = client.get(answer["Location"]).content.decode()
    for words in (
        "What would be created",
        "Alpha",
        "1 document,",
        "1 entry",
        'value="alpha-2"',
        "invite them",
    ):
        assert words in report

    confirmed = client.post(reverse("archives:take-in", args=[transfer.pk]), {"slug": "elsewhere"})
    assert confirmed["Location"] == transfer.get_absolute_url()
    worked(transfer, TransferState.TAKEN_IN)

    made = Collection.objects.get(slug="elsewhere")
    assert transfer.collection == made
    assert made.documents.count() == 1
    done = client.get(answer["Location"]).content.decode()
    assert f'href="{made.get_absolute_url()}"' in done
    assert client.get(made.get_absolute_url()).status_code == 200
    assert not default_storage.exists(stored), "nothing of it is kept"
    assert actions() == ["archive.uploaded", "archive.confirmed"]
    assert AuditEvent.objects.filter(action="collection.imported", actor=cast.outsider).count() == 1


def test_a_confirmed_act_asks_who_it_is(archive: bytes, cast: Cast, client_as: ClientAs) -> None:
    transfer = worked(sent_by(cast.analyst, archive), TransferState.CHECKED)
    with override_settings(ASKS_AGAIN=True):
        answer = client_as(cast.analyst).post(reverse("archives:take-in", args=[transfer.pk]), {"slug": "x"})
    assert answer["Location"].startswith("/accounts/reauthenticate/")
    transfer.refresh_from_db()
    assert transfer.state == TransferState.CHECKED


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no archive at all", "not a ZIP file"),
        (b"", "empty"),
        (None, "has no manifest.json"),
    ],
    ids=["foreign", "empty", "another-zip"],
)
def test_what_is_no_archive_is_refused_at_once_and_not_kept(
    content: bytes | None, says: str, cast: Cast, client_as: ClientAs, here: None
) -> None:
    if content is None:
        body = io.BytesIO()
        with zipfile.ZipFile(body, "w") as parcel:
            parcel.writestr("readme.txt", "hello")
        content = body.getvalue()
    answer = post_file(client_as(cast.analyst), content)
    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert not Transfer.objects.exists()


@pytest.mark.parametrize("damage", [b"", b"}"], ids=["whole", "damaged"])
def test_a_large_manifest_is_left_to_the_worker(
    archive: bytes, cast: Cast, client_as: ClientAs, damage: bytes
) -> None:
    entries = entries_of(archive)
    entries[MANIFEST] += b" " * AT_ONCE.manifest + damage
    sent = packed(entries, zipfile.ZIP_STORED)
    read: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_manifest", lambda content: read.append(len(content)))
        answer = post_file(client_as(cast.analyst), sent)
    assert (answer.status_code, read) == (302, [])
    transfer = worked(Transfer.objects.get(), TransferState.FAILED if damage else TransferState.CHECKED)
    assert ("damaged" in transfer.failure) is bool(damage)


def test_too_large_an_archive_is_refused_with_the_way_out(
    archive: bytes, cast: Cast, client_as: ClientAs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "MOST_UPLOADED", 10)
    answer = post_file(client_as(cast.analyst), archive)
    assert answer.status_code == 422
    assert "at most 0 MB are accepted here" in answer.content.decode()
    assert "import_collection" in answer.content.decode()


def test_a_broken_archive_fails_its_check_with_the_reason(
    archive: bytes, cast: Cast, client_as: ClientAs
) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as whole:
        names = {name: whole.read(name) for name in whole.namelist()}
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as broken:
        for name, content in names.items():
            changed = name.startswith("documents/")
            broken.writestr(name, bytes(len(content)) if changed else content)
    transfer = worked(sent_by(cast.analyst, body.getvalue()), TransferState.FAILED)
    page = client_as(cast.analyst).get(transfer.get_absolute_url()).content.decode()
    assert "is not what the archive says it is" in page
    assert "Upload another file" in page
    assert not default_storage.exists(f"{transfer.folder}/archive.zip")
    assert actions() == ["archive.uploaded", "archive.failed"]


def test_a_taken_name_leaves_the_archive_as_good_as_before(
    archive: bytes, cast: Cast, client_as: ClientAs
) -> None:
    client = client_as(cast.analyst)
    transfer = worked(sent_by(cast.analyst, archive), TransferState.CHECKED)
    take_in = reverse("archives:take-in", args=[transfer.pk])
    refused = client.post(take_in, {"slug": "alpha"})
    assert refused.status_code == 422
    assert "Choose another one" in refused.content.decode()

    # Between the form and the worker somebody takes the name.
    client.post(take_in, {"slug": "quick"})
    Collection.objects.create(slug="quick", name="Quick")
    worked(transfer, TransferState.CHECKED)
    assert "quick" in transfer.failure
    assert transfer.failure in client.get(transfer.get_absolute_url()).content.decode()
    client.post(take_in, {"slug": "slow"})
    worked(transfer, TransferState.TAKEN_IN)


def test_only_so_many_wait_and_each_person_sees_their_own(
    archive: bytes, cast: Cast, client_as: ClientAs
) -> None:
    for _ in range(transfers.MOST_WAITING):
        mine = sent_by(cast.analyst, archive)
    with pytest.raises(Conflict, match="are waiting"):
        sent_by(cast.analyst, archive)
    sent_by(cast.admin, archive)
    assert client_as(cast.admin).get(mine.get_absolute_url()).status_code == 404
    assert client_as(cast.admin).get(SENT).content.decode().count('class="row"') == 1


def test_pages_cost_few_queries(archive: bytes, alpha: Collection, cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.admin)
    leaves = worked(archive_request(actor=cast.admin, collection=alpha), TransferState.READY)
    arrives = worked(sent_by(cast.admin, archive), TransferState.CHECKED)
    for address in (
        f"/collections/{alpha.slug}/archive/",
        SENT,
        leaves.get_absolute_url(),
        arrives.get_absolute_url(),
    ):
        assert queries_of(client, address) <= 15, address


def test_progress_is_told_and_a_lost_lease_stops_the_work(db: None) -> None:
    told = Told(7, total=200, check=lambda: None)
    told.more(50)
    assert percent_done(7) == 25

    def lost() -> None:
        raise LeaseLost

    with pytest.raises(LeaseLost):
        Told(7, total=200, check=lost).more(1)
    assert percent_done(8) is None
