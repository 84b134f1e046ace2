"""Mails of a mailbox: attachments are documents, a mail without any is one itself, each once."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from tests.workbench.cast import Cast
from workbench.documents.models import Document
from workbench.errors import WorkbenchError
from workbench.sources.mailbox import MOST_ATTACHMENTS, MailboxReader
from workbench.sources.models import FileState, Source, SourceFile
from workbench.sources.protocol import Entry, Piece
from workbench.sources.services import source_create, source_file_retry

from .imap_server import PASSWORD, USER, MailServer
from .watched import look

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("here")]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    """It listens, and its certificate is trusted."""
    with MailServer(tmp_path) as listening:
        monkeypatch.setenv("SSL_CERT_FILE", str(listening.certificate))
        yield listening


@pytest.fixture
def source(cast: Cast, settings: Any, server: MailServer) -> Source:
    """Alpha takes in its mails."""
    settings.SOURCE_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]
    return source_create(
        actor=cast.admin, collection=cast.alpha, kind="imap", name="Intake", secret=PASSWORD,
        settings={"host": "127.0.0.1", "port": str(server.port), "user": USER, "mailbox": "INBOX"},
    )  # fmt: skip


def mail(subject: str, *attachments: tuple[str, bytes], body: str = "See attached.") -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"] = subject, "Client <client@example.org>"
    message["Date"] = "Tue, 24 Nov 2026 10:00:00 +0000"
    message.set_content(body)
    for name, content in attachments:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return bytes(message)


def names() -> list[str]:
    return sorted(Document.objects.values_list("name", flat=True))


def test_attachments_are_documents_with_the_mails_facts(source: Source, server: MailServer) -> None:
    server.mails[4] = mail("Renewal ñ", ("a.txt", b"first"), ("../b.txt", b"second"))
    look(source, 3)
    assert source.error == ""
    assert names() == ["a.txt", "b.txt"]
    file = SourceFile.objects.get(name="b.txt")
    assert (file.key, file.part) == ("7/4", 2)
    assert file.facts["subject"] == "Renewal ñ"
    assert file.facts["from"] == "Client <client@example.org>"
    assert file.facts["date"].startswith("Tue, 24 Nov 2026")
    assert source.cursor == {"uidvalidity": 7, "uid": 4}


def test_a_mail_without_attachments_is_a_document(source: Source, server: MailServer) -> None:
    server.mails[1] = mail("Answer to your question", body="We keep records for ten years.")
    look(source)
    assert names() == ["Answer to your question.eml"]


def test_nothing_in_the_mailbox_changes(source: Source, server: MailServer) -> None:
    server.mails[1] = mail("x", ("a.txt", b"a"))
    look(source)
    fetched = [line for line in server.asked if "FETCH" in line]
    assert fetched == ["UID FETCH 1 (RFC822.SIZE)", "UID FETCH 1 (BODY.PEEK[])"]
    assert not any(line.startswith(("SELECT", "UID STORE")) for line in server.asked)


def test_mails_are_asked_for_once(source: Source, server: MailServer) -> None:
    server.mails[1] = mail("x", ("a.txt", b"a"))
    look(source)
    server.mails[5] = mail("y", ("b.txt", b"b"))
    server.asked.clear()
    look(source, 2)
    assert [line for line in server.asked if "PEEK" in line] == ["UID FETCH 5 (BODY.PEEK[])"]
    assert names() == ["a.txt", "b.txt"]


def test_many_mails_come_in_one_look(source: Source, server: MailServer) -> None:
    server.mails |= {uid: mail("x", (f"{uid}.txt", f"text {uid}".encode())) for uid in range(1, 46)}
    look(source)
    assert Document.objects.count() == 45


def test_a_connection_that_breaks_loses_and_doubles_nothing(source: Source, server: MailServer) -> None:
    server.mails |= {uid: mail("x", (f"{uid}.txt", f"text {uid}".encode())) for uid in (1, 2, 3)}
    server.breaks_after = 1
    look(source)
    assert names() == ["1.txt"]
    assert "ended the connection" in source.error
    assert source.cursor == {}
    server.breaks_after = None
    look(source, 2)
    assert names() == ["1.txt", "2.txt", "3.txt"]
    assert not SourceFile.objects.filter(is_duplicate=True).exists()


def test_a_mailbox_that_is_numbered_anew_doubles_no_document(source: Source, server: MailServer) -> None:
    server.mails[9] = mail("x", ("a.txt", b"a"))
    look(source)
    server.validity, server.mails = 8, {1: server.mails[9]}
    look(source)
    assert names() == ["a.txt"]
    assert source.cursor == {"uidvalidity": 8, "uid": 1}


def test_an_attachment_that_fails_says_why_and_is_tried_again(
    source: Source, server: MailServer, cast: Cast, settings: Any
) -> None:
    settings.MAX_UPLOAD_BYTES = 600
    server.mails[1] = mail("x", ("a.txt", b""), ("b.txt", b"fine"))
    look(source)
    assert names() == ["b.txt"]
    empty = SourceFile.objects.get(name="a.txt")
    assert (empty.state, empty.part) == (FileState.FAILED, 1)
    source_file_retry(actor=cast.admin, file=empty)
    look(source)
    empty.refresh_from_db()
    assert (empty.state, empty.attempts) == (FileState.FAILED, 2)


def test_a_mail_that_is_too_large_is_not_fetched_and_can_be_later(
    source: Source, server: MailServer, cast: Cast, settings: Any
) -> None:
    server.mails[1] = mail("x", ("a.txt", b"x" * 5000))
    settings.MAX_UPLOAD_BYTES = 1000
    look(source)
    file = SourceFile.objects.get()
    assert "larger" in file.error
    assert not any("PEEK" in line for line in server.asked)
    settings.MAX_UPLOAD_BYTES = 100_000
    source_file_retry(actor=cast.admin, file=file)
    look(source)
    assert SourceFile.objects.get().state == FileState.TAKEN
    assert names() == ["a.txt"]


def test_a_server_that_lies_about_the_size_is_cut_off(
    source: Source, server: MailServer, settings: Any
) -> None:
    server.mails[1] = mail("x", ("a.txt", b"x" * 20_000))
    server.claimed, settings.MAX_UPLOAD_BYTES = 10, 1000
    look(source)
    assert names() == []
    assert source.error


def test_a_mail_that_ends_its_worker_each_time_is_given_up_and_the_next_comes_in(
    source: Source, server: MailServer, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.mails = {1: mail("x", ("a.txt", b"a")), 2: mail("y", ("b.txt", b"b"))}
    plain = MailboxReader.fetch

    def dies(self: MailboxReader, entry: Entry, *, most_bytes: int) -> Iterator[Piece]:
        if entry.key.endswith("/1"):
            raise SystemExit
        return plain(self, entry, most_bytes=most_bytes)

    monkeypatch.setattr(MailboxReader, "fetch", dies)
    for _ in range(3):
        with pytest.raises(SystemExit):
            look(source)
    assert names() == []
    look(source)
    assert names() == ["b.txt"]
    lost = SourceFile.objects.get(name="mail-1.eml")
    assert (lost.state, lost.attempts) == (FileState.FAILED, 3)
    assert lost.error == "Importing this file stopped the check three times. It was given up."
    assert (source.error, source.cursor) == ("", {"uidvalidity": 7, "uid": 2})
    monkeypatch.setattr(MailboxReader, "fetch", plain)
    source_file_retry(actor=cast.admin, file=lost)
    look(source)
    assert names() == ["a.txt", "b.txt"]
    assert not SourceFile.objects.exclude(state=FileState.TAKEN).exists()


def test_a_mail_is_split_where_files_are_read(source: Source, server: MailServer, settings: Any) -> None:
    server.mails = {1: mail("x", ("a.txt", b"a"))}
    settings.PARSER_SECONDS = 0.001
    look(source)
    assert "could not be read within" in SourceFile.objects.get().error
    assert (source.error, source.cursor["uid"]) == ("", 1)


def test_a_mail_with_too_many_attachments_says_so(source: Source, server: MailServer) -> None:
    server.mails = {1: mail("x", *((f"{number}.txt", b"a") for number in range(MOST_ATTACHMENTS + 1)))}
    look(source)
    assert SourceFile.objects.get().error == "The mail has more than 100 attachments."


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"Content-Type: multipart/mixed; boundary=\r\n\r\n--\r\n"])
def test_a_malformed_mail_stops_no_other(source: Source, server: MailServer, raw: bytes) -> None:
    server.mails = {1: raw, 2: mail("x", ("a.txt", b"a"))}
    look(source)
    assert "a.txt" in names()
    assert source.error == ""


def test_a_wrong_password_says_so(cast: Cast, source: Source, server: MailServer) -> None:
    other = source_create(
        actor=cast.admin,
        collection=cast.alpha,
        kind="imap",
        name="x",
        settings=source.settings,
        secret="wrong",
    )
    look(other)
    assert other.error == "The mail server refused user name and password."


def test_a_certificate_that_is_not_trusted_ends_the_look(
    source: Source, server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    look(source)
    assert "certificate" in source.error
    assert server.asked == []


def test_an_address_inside_is_refused_at_each_connection(
    cast: Cast, source: Source, server: MailServer, settings: Any
) -> None:
    settings.SOURCE_NETWORKS = []
    look(source)
    assert "may not be called" in source.error
    assert server.asked == []
    with pytest.raises(WorkbenchError):
        source_create(
            actor=cast.admin,
            collection=cast.alpha,
            kind="imap",
            name="x",
            secret="s",
            settings=source.settings,
        )
