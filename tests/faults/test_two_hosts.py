"""Two hosts and a web server that share a database, a broker and a bucket, and nothing else.

Each host is a worker process with a home of its own; the web server is this process. Host A only reads documents, host
B only answers, so that whatever B finds must have come to it through what they share.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.test import Client
from kombu import Connection
from reportlab.pdfgen.canvas import Canvas

from tests.product import ROOT, eventually
from tests.workbench.database import let_tests_empty_the_trail
from workbench.accounts.models import User
from workbench.documents.models import Collection, Document, DocumentStatus
from workbench.documents.services import collection_create, document_upload
from workbench.infra.dispatch import task_named
from workbench.runs.models import Run, RunStatus
from workbench.runs.services import question_ask

pytestmark = [pytest.mark.integration, pytest.mark.faults]

BUCKET = "workbench-test"
#: Nobody else's messages: other tests use the broker's first database.
BROKER_DATABASE = "7"


@pytest.fixture(scope="module", autouse=True)
def _trail_can_be_emptied() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        let_tests_empty_the_trail(patch)
        yield


@pytest.fixture
def bucket() -> Iterator[dict[str, str]]:
    """An object store on this machine; gives the settings that name it."""
    server_module = pytest.importorskip("moto.server", reason="moto plays the object store")
    boto3 = pytest.importorskip("boto3", reason="django-storages[s3] is needed for a bucket")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    given = {
        "S3_BUCKET": BUCKET,
        "S3_ENDPOINT_URL": f"http://{host}:{port}",
        "S3_REGION": "us-east-1",
        "S3_ACCESS_KEY_ID": "key",
        "S3_SECRET_ACCESS_KEY": "secret",
        "S3_PREFIX": "files",
    }
    boto3.client(
        "s3", endpoint_url=given["S3_ENDPOINT_URL"], region_name="us-east-1",
        aws_access_key_id="key", aws_secret_access_key="secret",
    ).create_bucket(Bucket=BUCKET)  # fmt: skip
    yield given
    server.stop()


@pytest.fixture
def broker() -> str:
    """A database of the broker for this test alone, empty."""
    address = os.environ["BROKER_URL"].rpartition("/")[0] + f"/{BROKER_DATABASE}"
    with Connection(address) as broker:
        broker.default_channel.client.flushdb()
    return address


@dataclass
class Host:
    """A worker process and the folder that is all it has of its own."""

    home: Path
    process: subprocess.Popen[bytes]

    def holds(self, folder: str) -> bool:
        """Whether there is any file below a folder of its home."""
        return any(path.is_file() for path in (self.home / folder).rglob("*"))


def _host(home: Path, queues: str, environment: dict[str, str]) -> Host:
    home.mkdir()
    process = subprocess.Popen(
        [
            sys.executable, "-m", "celery", "-A", "workbench.celery:app", "worker", "-Q", queues, "--pool", "solo",
            "-n", f"{home.name}@{socket.gethostname()}", "--loglevel", "WARNING",
            "--without-gossip", "--without-mingle", "--without-heartbeat",
        ],
        cwd=ROOT,
        env=environment | {"WORKBENCH_HOME": str(home)},
    )  # fmt: skip
    return Host(home, process)


@pytest.fixture
def hosts(
    transactional_db: None, bucket: dict[str, str], broker: str, tmp_path: Path
) -> Iterator[tuple[Host, Host]]:
    """Host A reads documents, host B answers."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("WORKBENCH_")},
        **bucket,
        "DJANGO_SETTINGS_MODULE": "workbench.settings.dev",
        "DATABASE_URL": _this_database(),
        "BROKER_URL": broker,
        "DEFAULT_STRATEGY": "offline",
    }
    running = (
        _host(tmp_path / "a", "ingest", environment),
        _host(tmp_path / "b", "llm,default", environment),
    )
    yield running
    for host in running:
        host.process.kill()  # nothing is in hand any more, and a warm shutdown takes seconds
        host.process.wait(timeout=120)


def _this_database() -> str:
    values = connection.settings_dict
    return (
        f"postgres://{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT']}/{values['NAME']}"
    )


@pytest.fixture
def web(
    bucket: dict[str, str], broker: str, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """This process as the web server: the same bucket and broker, and a home of its own."""
    from workbench.settings import storage

    for name, value in bucket.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(storage, "S3_BUCKET", BUCKET)
    settings.STORAGES = settings.STORAGES | {"default": storage.file_storage("")}
    settings.WORKBENCH_HOME = tmp_path / "web"
    with Connection(broker) as sender:
        monkeypatch.setattr(
            "workbench.infra.dispatch.dispatch",
            lambda task, **arguments: task_named(task).apply_async(
                kwargs=arguments, retry=False, connection=sender
            ),
        )
        yield tmp_path / "web"


def pdf(*lines: str) -> bytes:
    """A page with these lines."""
    buffer = BytesIO()
    canvas = Canvas(buffer)
    for number, line in enumerate(lines):
        canvas.drawString(72, 700 - 20 * number, line)
    canvas.save()
    return buffer.getvalue()


def uploaded(person: User, collection: Collection, name: str, *lines: str) -> Document:
    """A document that some worker has read."""
    document = document_upload(
        actor=person, collection=collection, file=ContentFile(pdf(*lines), name=name), name=name
    ).document

    def ended() -> bool:
        document.refresh_from_db()
        return document.status in (DocumentStatus.READY, DocumentStatus.FAILED)

    eventually(ended, seconds=300, what=f"{name} is read")
    assert document.status == DocumentStatus.READY, document.failure_reason
    return document


def answered(person: User, collection: Collection, text: str) -> Run:
    """A finished run over the whole collection."""
    run = question_ask(actor=person, collection=collection, text=text, strategy="offline").run

    def ended() -> bool:
        run.refresh_from_db()
        return run.status in (RunStatus.DONE, RunStatus.FAILED)

    eventually(ended, seconds=300, what="the question is answered")
    assert run.status == RunStatus.DONE, run.failure_reason
    return run


def evidence(run: Run) -> set[str]:
    """Names of the documents that hold what survived."""
    rows = run.candidates.filter(verdict__role__in=["primary", "supporting"])
    return set(rows.values_list("document__name", flat=True))


def test_one_host_reads_another_answers_and_draws(hosts: tuple[Host, Host], web: Path) -> None:
    reader, answerer = hosts
    person = User.objects.create_user("person@example.org", "only-for-this-test", name="Person")
    papers = collection_create(actor=person, name="Papers")
    records = uploaded(person, papers, "records.pdf", "Access records are kept for twenty-four months.")

    first = answered(person, papers, "How long are access records kept?")

    assert evidence(first) == {"records.pdf"}
    # B made its index from the database; A never needed one, and no host holds the file.
    assert answerer.holds("index")
    assert not reader.holds("index")
    assert not any(host.holds("files") for host in hosts)

    uploaded(person, papers, "visitors.pdf", "Visitors hand their badges back at the north gate.")
    second = answered(person, papers, "Where do visitors hand back their badges?")

    assert "visitors.pdf" in evidence(second), "the index of B caught up with what A read meanwhile"

    browser = Client()
    browser.force_login(person)
    address = f"/documents/{records.pk}/pages/1.png"
    page = eventually(lambda: (found := browser.get(address)).status_code != 202 and found)
    assert (page.status_code, page["Content-Type"]) == (200, "image/png")
    assert page.content.startswith(b"\x89PNG")
    assert list(web.rglob("1.png"))
