"""A server that is slow, or sends without end, ends its own look, and holds up nothing else."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from arbitration.adapters.http_client import call_deadline
from tests.workbench.cast import Cast
from workbench.infra.leases import Heartbeat, lease_end
from workbench.sources import bucket, looking, mailbox, tasks
from workbench.sources.connections import BoundedTLS, TooMuch, byte_budget, checked_connection
from workbench.sources.looking import source_look
from workbench.sources.models import FileState, Source, SourceFile
from workbench.sources.services import source_create

from .imap_server import PASSWORD, USER, MailServer
from .watched import later, look, watched

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("here")]


RENEWS = Heartbeat._renew


@pytest.fixture(autouse=True)
def nearby(settings: Any) -> None:
    """Servers of the tests may be called."""
    settings.SOURCE_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]


@pytest.fixture
def mails(cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[MailServer, Source]]:
    """A mailbox with a mail."""
    with MailServer(tmp_path) as listening:
        monkeypatch.setenv("SSL_CERT_FILE", str(listening.certificate))
        listening.mails[1] = b"Subject: x\r\n\r\nText.\r\n"
        values = {"host": "127.0.0.1", "port": str(listening.port), "user": USER, "mailbox": "INBOX"}
        yield (
            listening,
            source_create(
                actor=cast.admin,
                collection=cast.alpha,
                kind="imap",
                name="In",
                secret=PASSWORD,
                settings=values,
            ),
        )


@pytest.fixture
def pours() -> Iterator[dict[str, Any]]:
    """An object store that answers everything with bytes without end; ``pause`` seconds between two of them."""
    how: dict[str, Any] = {"pause": 0.0, "chunk": b"x" * 65536}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(how["chunk"])
                    time.sleep(how["pause"])
            except OSError:
                return

        def log_message(self, *_said: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    how["port"] = server.server_address[1]
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield how
    server.shutdown()
    server.server_close()


def a_bucket(cast: Cast, port: int) -> Source:
    pytest.importorskip("boto3", reason="django-storages[s3] is needed for a bucket")
    values = {"bucket": "b", "endpoint_url": f"http://127.0.0.1:{port}", "region": "us-east-1"}
    return source_create(
        actor=cast.admin, collection=cast.alpha, kind="s3", name="In", secret="s",
        settings=values | {"access_key_id": "k"},
    )  # fmt: skip


@pytest.mark.parametrize("moment", ["LOGIN", "UID SEARCH", "UID FETCH 1 (BODY"])
def test_a_mail_server_that_never_ends_an_answer_ends_its_look(
    mails: tuple[MailServer, Source], monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    server, source = mails
    server.chatters_at = moment
    monkeypatch.setattr(looking, "_DEADLINE", 1.0)
    began = time.monotonic()
    look(source)
    assert time.monotonic() - began < 20
    assert source.error == "The check took too long and was stopped."
    assert source.failures == 1
    assert source.next_look_at > timezone.now()


def test_what_a_mail_server_says_unasked_fills_no_memory(
    mails: tuple[MailServer, Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, source = mails
    server.chatters_at, server.chatters = "UID SEARCH", (b"* X", 0.0)
    monkeypatch.setattr(mailbox, "_MOST_LINES", 50)
    look(source)
    assert "ended the connection" in source.error
    server.chatters = (b"* X " + b"y" * 900, 0.0)
    monkeypatch.setattr(mailbox, "_MOST_LINES", 10**9)
    monkeypatch.setattr(looking, "_MOST_LISTED", 100_000)
    look(source)
    assert source.error
    assert source.failures == 2


def test_a_bucket_that_sends_without_end_ends_its_look(
    cast: Cast, pours: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = a_bucket(cast, pours["port"])
    monkeypatch.setattr(looking, "_MOST_LISTED", 1_000_000)
    look(source)
    assert "does not answer" in source.error
    pours |= {"pause": 0.02, "chunk": b"x"}
    monkeypatch.setattr(looking, "_DEADLINE", 1.0)
    began = time.monotonic()
    look(source)
    assert time.monotonic() - began < 20
    assert source.error == "The check took too long and was stopped."


def test_a_bucket_is_read_through_bounded_connections_also_inside_tls() -> None:
    pytest.importorskip("boto3", reason="django-storages[s3] is needed for a bucket")
    pools = bucket._Session()._manager
    assert pools.connection_pool_kw["ssl_context"].sslsocket_class is BoundedTLS


def test_each_read_draws_on_bytes_and_deadline(
    pours: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def connected() -> socket.socket:
        connection = checked_connection("127.0.0.1", pours["port"], scheme="http", timeout=5)
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return connection

    with byte_budget(100_000) as budget, connected() as one, pytest.raises(TooMuch):
        list(iter(lambda: one.recv(1000), b""))
    assert budget.is_spent
    with call_deadline(0.2), connected() as one, one.makefile("rb") as stream, pytest.raises(TimeoutError):
        list(iter(lambda: stream.read(1000), b""))
    with call_deadline(-1), pytest.raises(TimeoutError):
        connected()


def test_one_mail_that_comes_too_slowly_is_given_up(
    mails: tuple[MailServer, Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, source = mails
    server.mails[2] = b"Subject: y\r\n\r\nText.\r\n"
    server.chatters_at = "UID FETCH 1 (BODY"
    monkeypatch.setattr(looking, "_DEADLINE", 0.7)
    look(source, 3)
    assert SourceFile.objects.get().state == FileState.WAITING
    monkeypatch.setattr(looking, "_DEADLINE", 60.0)
    look(source)
    assert dict(SourceFile.objects.values_list("name", "state")) == {
        "mail-1.eml": FileState.FAILED,
        "y.eml": FileState.TAKEN,
    }
    assert source.failures == 0


def test_a_server_that_breaks_off_is_no_fault_of_its_mail(mails: tuple[MailServer, Source]) -> None:
    server, source = mails
    server.breaks_after = 0
    look(source, 4)
    assert SourceFile.objects.get().begun == 0
    server.breaks_after = None
    look(source)
    assert SourceFile.objects.get().state == FileState.TAKEN


def test_a_look_is_a_failure_until_it_ended(
    cast: Cast, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = watched(cast, settings, tmp_path / "in")
    plain = looking._look_at

    def dies(*_given: Any) -> None:
        raise SystemExit

    monkeypatch.setattr(looking, "_look_at", dies)
    pauses = []
    for _ in range(3):
        later()
        with pytest.raises(SystemExit):
            source_look(source_id=source.pk)
        source.refresh_from_db()
        pauses.append(source.next_look_at - timezone.now())
    assert pauses == sorted(pauses)
    assert pauses[0].total_seconds() > settings.SOURCE_SECONDS
    assert (source.failures, source.error) == (2, "Its worker stopped before it was done.")
    monkeypatch.setattr(looking, "_look_at", plain)
    look(source)
    assert (source.failures, source.error, source.is_unfinished) == (0, "", False)


@pytest.mark.django_db(transaction=True)
def test_a_look_that_hangs_leaves_a_pause_behind(
    cast: Cast, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = watched(cast, settings, tmp_path / "in")
    settings.HEARTBEAT_SECONDS = 0.05
    monkeypatch.setattr(Heartbeat, "_renew", RENEWS)  # which other tests here go without
    monkeypatch.setattr(looking, "_OVERDUE", 0.2)

    def hangs(_source: Source, _owner: str, heartbeat: Any) -> None:
        while True:
            time.sleep(0.05)
            heartbeat.check()

    monkeypatch.setattr(looking, "_look_at", hangs)
    look(source)
    assert source.error == "The check took too long and was stopped."
    assert source.failures == 1
    assert source.next_look_at > timezone.now()


def test_slow_servers_leave_the_other_workers_of_a_machine_alone(
    cast: Cast, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SOURCES_AT_ONCE = 1
    slow, other = watched(cast, settings, tmp_path / "in"), watched(cast, settings, tmp_path / "in")
    here = socket.gethostname()[: looking.HOST_CHARACTERS]
    Source.objects.filter(pk=slow.pk).update(lease_owner=f"{here}:1:x", lease_until=lease_end())
    assert not source_look(source_id=other.pk)
    Source.objects.filter(pk=slow.pk).update(lease_owner="another-machine:1:x")
    assert source_look(source_id=other.pk)
    later()
    sent: list[int] = []
    monkeypatch.setattr(tasks, "dispatch", lambda _task, *, source_id: sent.append(source_id))
    tasks.look(source_id=other.pk)
    assert sent == [slow.pk], "what found no room comes next"
