"""Objects below a prefix of a bucket that speaks S3.

Its keys are always given with the source: without them the machine's own role would be asked, which opens buckets that
are nobody's business here.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workbench.errors import WorkbenchError
from workbench.infra.outbound import AddressRefused

from .connections import bounded_tls, checked_connection, require_host
from .protocol import Cursor, Entry, Kind, Listing, Piece, Setting, SourceDown, Values

_CONNECT, _READ, _ATTEMPTS = 5, 60, 2
#: Codes of an object that is at fault, and not its bucket.
_OF_ONE_OBJECT = {"404", "NoSuchKey", "InvalidObjectState", "PreconditionFailed", "412"}

if find_spec("boto3") is not None:  # the extra s3
    import boto3
    from botocore.awsrequest import (
        AWSHTTPConnection,
        AWSHTTPConnectionPool,
        AWSHTTPSConnection,
        AWSHTTPSConnectionPool,
    )
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.httpsession import URLLib3Session

    class _PlainConnection(AWSHTTPConnection):  # type: ignore[misc]
        def _new_conn(self) -> socket.socket:
            return checked_connection(self.host, self.port, scheme="http", timeout=_CONNECT)

    class _SecureConnection(AWSHTTPSConnection):  # type: ignore[misc]
        def _new_conn(self) -> socket.socket:
            return checked_connection(self.host, self.port, scheme="https", timeout=_CONNECT)

    class _PlainPool(AWSHTTPConnectionPool):  # type: ignore[misc]
        ConnectionCls = _PlainConnection

    class _SecurePool(AWSHTTPSConnectionPool):  # type: ignore[misc]
        ConnectionCls = _SecureConnection

    class _Session(URLLib3Session):  # type: ignore[misc]
        """The library's connections, each to an address that may be called; no proxy of the environment."""

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **(named | {"proxies": {}}))
            self._manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}

        def _get_ssl_context(self) -> Any:
            return bounded_tls(super()._get_ssl_context())


class BucketReader:
    """Pages of objects in the order of their keys; the cursor is the last key of a page, and empty after the last."""

    def __init__(self, values: Values, secret: str) -> None:
        if find_spec("boto3") is None:
            raise SourceDown(_("Buckets need the extra “s3”. The operator installs it."))
        self._bucket, self._prefix = values["bucket"], values["prefix"]
        session = boto3.session.Session(
            aws_access_key_id=values["access_key_id"],
            aws_secret_access_key=secret,
            region_name=values["region"] or None,
        )
        self._client = session.client(
            "s3",
            endpoint_url=values["endpoint_url"] or None,
            config=Config(
                connect_timeout=_CONNECT,
                read_timeout=_READ,
                retries={"max_attempts": _ATTEMPTS, "mode": "standard"},
                signature_version="s3v4",
            ),
        )
        endpoint = self._client._endpoint
        endpoint.http_session.close()
        endpoint.http_session = _Session(timeout=(_CONNECT, _READ))

    def list(self, cursor: Cursor) -> Listing:
        """A page of objects; what stands for a folder is left out."""
        with _in_words():
            page = self._client.list_objects_v2(
                Bucket=self._bucket, Prefix=self._prefix, StartAfter=str(cursor.get("after", ""))
            )
        found = page.get("Contents", [])
        entries = [
            Entry(item["Key"], item["ETag"].strip('"'), item["Key"].rpartition("/")[2])
            for item in found
            if not item["Key"].endswith("/")
        ]
        is_last = not page.get("IsTruncated") or not found
        return Listing(entries, {} if is_last else {"after": found[-1]["Key"]}, is_last=is_last)

    def fetch(self, entry: Entry, *, most_bytes: int) -> Iterator[Piece]:
        """The object, if it is still the one that was listed."""
        with _in_words():
            answer = self._client.get_object(
                Bucket=self._bucket, Key=entry.key, IfMatch=f'"{entry.fingerprint}"'
            )
        with closing(answer["Body"]) as body:
            if answer["ContentLength"] > most_bytes:
                raise WorkbenchError(_("The file is larger than an upload may be."), code="too_large")
            yield Piece(entry.name, _Body(body))

    def close(self) -> None:
        """Closes its connections."""
        self._client.close()
        self._client._endpoint.http_session.close()


class _Body:
    """A body whose failures are those of the bucket."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def read(self, size: int = -1) -> bytes:
        """Some of it."""
        with _in_words():
            return bytes(self._body.read(size))


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in _OF_ONE_OBJECT:
            raise WorkbenchError(
                _("The object is gone or has changed since. New content is imported automatically."),
                code="changed",
            ) from error
        raise SourceDown(_("The bucket refused: %(code)s.") % {"code": code}) from error
    except (BotoCoreError, AddressRefused, OSError) as error:
        if isinstance(error, AddressRefused) or isinstance(
            getattr(error, "kwargs", {}).get("error"), AddressRefused
        ):
            raise SourceDown(_("The bucket's address may not be called (SOURCE_NETWORKS).")) from error
        raise SourceDown(
            _("The bucket does not answer: %(error)s.") % {"error": type(error).__name__}
        ) from error


def _check(values: Values) -> dict[str, str]:
    address = values["endpoint_url"]
    if address:
        try:
            parts = urlsplit(address)
            is_plain = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_plain = False
        if not is_plain or parts.username or parts.password or parts.query or parts.fragment:
            raise WorkbenchError(
                _("Give the server's address as https://host, or leave it empty for Amazon's own."),
                code="bad_address",
            )
        require_host(parts.hostname or "", scheme=parts.scheme)
    elif not values["region"]:
        raise WorkbenchError(_("Amazon's own buckets need a region."), code="bad_settings")
    if "/" in values["bucket"] or not all(part.isascii() for part in (values["bucket"], values["region"])):
        raise WorkbenchError(_("This is not the name of a bucket."), code="bad_settings")
    return dict(values)


BUCKET = Kind(
    name="s3",
    label=gettext_lazy("Bucket (S3)"),
    settings=(
        Setting("bucket", gettext_lazy("Bucket")),
        Setting(
            "prefix",
            gettext_lazy("Prefix"),
            gettext_lazy("Such as contracts/. Empty: the whole bucket."),
            False,
        ),
        Setting(
            "endpoint_url",
            gettext_lazy("Server"),
            gettext_lazy("Such as https://objects.example.org. Empty: Amazon's own."),
            False,
        ),
        Setting("region", gettext_lazy("Region"), is_required=False),
        Setting("access_key_id", gettext_lazy("Access key")),
    ),
    check=_check,
    open=BucketReader,
    secret=gettext_lazy("Secret key"),
)
