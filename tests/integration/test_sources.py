"""On the running product: a file, an object and a mail become documents by themselves, once each, also after a kill."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.product import RunningProduct, eventually
from tests.workbench.sources.imap_server import PASSWORD, USER, MailServer

boto3 = pytest.importorskip("boto3", reason="django-storages[s3] is needed for a bucket")
moto_server = pytest.importorskip("moto.server", reason="moto plays the object store")
pytestmark = pytest.mark.integration
SECRET = "a-secret-that-nobody-shows"
#: Of the three places together.
NUMBER = 9
ARRIVED = "arrived-%"


@pytest.fixture
def mails(product: RunningProduct, tmp_path: Path) -> Iterator[MailServer]:
    """A mail server whose certificate the product trusts."""
    with MailServer(tmp_path) as server:
        trusted = Path(product.environment["SSL_CERT_FILE"])
        trusted.write_text(trusted.read_text() + server.certificate.read_text())
        yield server


@pytest.fixture
def papers() -> Iterator[tuple[str, Any]]:
    """A bucket, and where it is."""
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    bucket = boto3.resource("s3", endpoint_url=address, **keys).Bucket("papers")
    bucket.create()
    yield address, bucket
    server.stop()


def source(admin: httpx.Client, kind: str, secret: str = "", **settings: str) -> None:
    body = {"collection": "demo", "kind": kind, "name": kind, "settings": settings, "secret": secret}
    made = admin.post("/api/v1/sources/", json=body)
    assert made.status_code == 201, made.text


def mail(number: int) -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"] = f"Paper {number}", "Client <client@example.org>"
    message.set_content("See attached.")
    message.add_attachment(
        f"Arrived by mail {number}.".encode(),
        maintype="text",
        subtype="plain",
        filename=f"arrived-mail-{number}.txt",
    )
    return bytes(message)


def test_what_arrives_is_a_document_once_also_after_a_kill(
    product: RunningProduct, mails: MailServer, papers: tuple[str, Any]
) -> None:
    address, bucket = papers
    folder = Path(product.environment["SOURCE_FOLDERS"])
    folder.mkdir()
    admin = product.client("admin")
    source(admin, "folder", folder=str(folder))
    source(
        admin, "s3", SECRET, bucket="papers", prefix="", endpoint_url=address, region="us-east-1",
        access_key_id="key",
    )  # fmt: skip
    source(admin, "imap", PASSWORD, host="127.0.0.1", port=str(mails.port), user=USER, mailbox="INBOX")
    for number in range(NUMBER // 3):
        (folder / f"arrived-file-{number}.txt").write_text(f"Arrived as a file {number}.")
        bucket.put_object(Key=f"arrived-object-{number}.txt", Body=f"Arrived as an object {number}.".encode())
        mails.mails[number + 1] = mail(number)

    eventually(lambda: taken(product), what="the first of them came in")
    old = product.kill("worker")
    eventually(lambda: len(ready(product)) >= NUMBER, what="all of them are documents")
    assert product.pid("worker") != old
    names = ready(product)
    assert len(names) == len(set(names)) == NUMBER
    assert taken(product) == NUMBER
    uploaded = (
        "SELECT count(*) FROM audit_event WHERE action = 'document.uploaded' AND after->>'name' LIKE %s"
    )
    assert product.rows(uploaded, ARRIVED) == [(NUMBER,)]


def taken(product: RunningProduct) -> int:
    """How many are written down as taken."""
    rows = "SELECT count(*) FROM sources_sourcefile WHERE state = 'taken' AND name LIKE %s"
    return int(product.rows(rows, ARRIVED)[0][0])


def ready(product: RunningProduct) -> list[str]:
    """The names of those that can be asked."""
    rows = "SELECT name FROM documents_document WHERE status = 'ready' AND name LIKE %s"
    return [name for (name,) in product.rows(rows, ARRIVED)]
