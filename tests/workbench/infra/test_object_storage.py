"""A bucket as a file store: its settings, and its failures as those of a disk."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.settings import storage

pytest.importorskip("storages.backends.s3", reason="django-storages[s3] is needed for a bucket")

from botocore.exceptions import ClientError, EndpointConnectionError
from storages.backends.s3 import S3Storage

from workbench.infra.object_storage import ObjectStorage


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> ObjectStorage:
    """The store that the settings name; nothing answers there."""
    monkeypatch.setattr(storage, "S3_BUCKET", "papers")
    monkeypatch.setenv("S3_PREFIX", "/production/")
    monkeypatch.setenv("S3_ENDPOINT_URL", "http://127.0.0.1:1")
    given = storage.file_storage("/not/used")
    assert given["BACKEND"] == "workbench.infra.object_storage.ObjectStorage"
    return ObjectStorage(**given["OPTIONS"])


def test_without_a_bucket_files_lie_in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "S3_BUCKET", "")

    given = storage.file_storage("/srv/files")

    assert given["BACKEND"].endswith("FileSystemStorage")
    assert given["OPTIONS"]["location"] == "/srv/files"
    assert given["OPTIONS"]["file_permissions_mode"] == 0o600


def test_a_bucket_is_private_and_overwrites_nothing(bucket: ObjectStorage) -> None:
    assert (bucket.bucket_name, bucket.location) == ("papers", "production")
    assert bucket.default_acl is None
    assert bucket.file_overwrite is False
    assert bucket.querystring_auth is True
    assert bucket.client_config.connect_timeout < bucket.client_config.read_timeout <= 60


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code}}, "HeadObject")


@pytest.mark.parametrize(
    ("failure", "expected", "words"),
    [
        (refusal("404"), FileNotFoundError, "404"),
        (refusal("NoSuchKey"), FileNotFoundError, "NoSuchKey"),
        (refusal("AccessDenied"), OSError, "refused: AccessDenied"),
        (EndpointConnectionError(endpoint_url="x"), OSError, "does not answer"),
    ],
)
@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("exists", ("a",)),
        ("size", ("a",)),
        ("delete", ("a",)),
        ("listdir", ("",)),
        ("_open", ("a",)),
        ("_save", ("a", None)),
    ],
)
def test_failures_are_those_of_a_disk(
    bucket: ObjectStorage,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    arguments: tuple[Any, ...],
    failure: Exception,
    expected: type[Exception],
    words: str,
) -> None:
    def fails(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(S3Storage, method, fails)

    with pytest.raises(expected, match=words):
        getattr(bucket, method)(*arguments)
