"""Objects in a bucket, against the fake object store of the tests: each a document once."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

import pytest

from tests.workbench.cast import Cast
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document
from workbench.errors import WorkbenchError
from workbench.sources import bucket
from workbench.sources.models import Source, SourceFile
from workbench.sources.services import source_create

from .watched import look

boto3 = pytest.importorskip("boto3", reason="django-storages[s3] is needed for a bucket")
moto_server = pytest.importorskip("moto.server", reason="moto plays the object store")
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("here")]
SECRET = "a-secret-that-nobody-shows"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the object store listens."""
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def papers(address: str) -> Iterator[Any]:
    """An empty bucket, as somebody sees it who puts objects into it."""
    store = boto3.resource(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key=SECRET,
    ).Bucket("papers")
    store.create()
    yield store
    store.objects.all().delete()
    store.delete()


def connected(cast: Cast, settings: Any, address: str, **others: str) -> Source:
    """Alpha takes in what lies below in/."""
    settings.SOURCE_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]
    values = {"bucket": "papers", "prefix": "in/", "endpoint_url": address, "region": "us-east-1"}
    return source_create(
        actor=cast.admin, collection=cast.alpha, kind="s3", name="Papers", secret=SECRET,
        settings=values | {"access_key_id": "key"} | others,
    )  # fmt: skip


def test_an_object_becomes_a_document_once(cast: Cast, settings: Any, address: str, papers: Any) -> None:
    source = connected(cast, settings, address)
    papers.put_object(Key="in/", Body=b"")
    papers.put_object(Key="in/2026/policy.txt", Body=b"Records are kept.")
    papers.put_object(Key="out/other.txt", Body=b"Not below the prefix.")
    look(source, 3)
    assert source.error == ""
    assert Document.objects.get().name == "policy.txt"
    papers.put_object(Key="in/2026/policy.txt", Body=b"Records are kept longer.")
    look(source, 2)
    assert Document.objects.count() == 2


def test_pages_of_a_listing_follow_each_other(
    cast: Cast, settings: Any, address: str, papers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = connected(cast, settings, address)
    for number in range(5):
        papers.put_object(Key=f"in/{number}.txt", Body=f"text {number}".encode())
    plain = bucket.BucketReader.__init__

    def in_pages_of_two(self: Any, *given: Any) -> None:
        plain(self, *given)
        list_all = self._client.list_objects_v2
        self._client.list_objects_v2 = lambda **asked: list_all(MaxKeys=2, **asked)

    monkeypatch.setattr(bucket.BucketReader, "__init__", in_pages_of_two)
    look(source)
    assert Document.objects.count() == 5
    assert source.cursor == {}


def test_a_look_that_ends_early_goes_on_from_its_cursor(
    cast: Cast, settings: Any, address: str, papers: Any
) -> None:
    source = connected(cast, settings, address)
    papers.put_object(Key="in/a.txt", Body=b"a")
    papers.put_object(Key="in/b.txt", Body=b"b")
    Source.objects.update(cursor={"after": "in/a.txt"})
    look(source)
    assert list(Document.objects.values_list("name", flat=True)) == ["b.txt"]
    look(source)
    assert Document.objects.count() == 2


def test_one_that_is_too_large_says_so_and_the_rest_goes_on(
    cast: Cast, settings: Any, address: str, papers: Any
) -> None:
    settings.MAX_UPLOAD_BYTES = 10
    source = connected(cast, settings, address)
    papers.put_object(Key="in/a.txt", Body=b"much too large")
    papers.put_object(Key="in/b.txt", Body=b"fine")
    look(source)
    assert Document.objects.get().name == "b.txt"
    assert "larger" in SourceFile.objects.get(name="a.txt").error


def test_an_object_that_changes_meanwhile_is_not_mixed_up(
    cast: Cast, settings: Any, address: str, papers: Any
) -> None:
    source = connected(cast, settings, address)
    papers.put_object(Key="in/a.txt", Body=b"first")
    reader = bucket.BucketReader(source.settings, SECRET)
    (entry,) = reader.list({}).entries
    papers.put_object(Key="in/a.txt", Body=b"second")
    with pytest.raises(WorkbenchError):
        list(reader.fetch(entry, most_bytes=100))
    reader.close()


def test_a_bucket_that_is_not_there_says_so(cast: Cast, settings: Any, address: str) -> None:
    source = connected(cast, settings, address, bucket="nowhere")
    look(source)
    assert source.error == "The bucket refused: NoSuchBucket."


def test_an_address_inside_is_refused_at_once_and_at_each_connection(
    cast: Cast, settings: Any, address: str, papers: Any
) -> None:
    source = connected(cast, settings, address)
    papers.put_object(Key="in/a.txt", Body=b"a")
    settings.SOURCE_NETWORKS = []
    look(source)
    assert "may not be called" in source.error
    assert not Document.objects.exists()
    for refused in (
        "http://169.254.169.254",
        "https://127.0.0.1",
        "http://93.184.215.14",
        "ftp://x",
        "https://u:p@x",
    ):
        values = {"bucket": "b", "endpoint_url": refused, "access_key_id": "k"}
        with pytest.raises(WorkbenchError):
            source_create(
                actor=cast.admin, collection=cast.alpha, kind="s3", name="x", secret="s", settings=values
            )


def test_the_machines_own_role_is_never_asked(cast: Cast) -> None:
    for key, secret in (("", "s"), ("k", "")):
        values = {"bucket": "b", "region": "eu-central-1", "access_key_id": key}
        with pytest.raises(WorkbenchError):
            source_create(
                actor=cast.admin, collection=cast.alpha, kind="s3", name="x", secret=secret, settings=values
            )


def test_the_secret_is_shown_nowhere(cast: Cast, settings: Any, address: str, client_as: Any) -> None:
    source = connected(cast, settings, address)
    assert SECRET not in Source.objects.get().secret
    client = client_as(cast.admin)
    for path in (
        source.get_absolute_url(),
        "/collections/alpha/sources/",
        "/api/v1/sources/",
        f"/api/v1/sources/{source.pk}/",
    ):
        assert SECRET not in client.get(path).content.decode()
    assert SECRET not in str(list(AuditEvent.objects.values()))
    client.post(f"/api/v1/sources/{source.pk}/remove/")
    assert Source.objects.get().secret == ""
