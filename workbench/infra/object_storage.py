"""Files in a bucket that speaks S3, for installations of more than one machine (``S3_BUCKET``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

#: Seconds; a request that gets no answer is repeated twice, in botocore and nowhere else.
_CONNECT, _READ, _ATTEMPTS = 5, 60, 3
#: Bytes of a file that are held in memory before it goes to a temporary file.
_IN_MEMORY = 8 * 1024 * 1024


class ObjectStorage(S3Storage):  # type: ignore[misc]
    """A bucket as a file store: private, nothing overwritten, and failures are :class:`OSError` as a disk's are, so
    that callers need not know which it is."""

    def get_default_settings(self) -> dict[str, Any]:
        """Those of django-storages that must be so, whatever its own defaults are."""
        return dict(super().get_default_settings()) | {
            "default_acl": None,
            "file_overwrite": False,
            "querystring_auth": True,
            "max_memory_size": _IN_MEMORY,
            "client_config": Config(
                connect_timeout=_CONNECT,
                read_timeout=_READ,
                retries={"max_attempts": _ATTEMPTS, "mode": "standard"},
                signature_version="s3v4",
            ),
        }

    def exists(self, name: str) -> bool:
        with _as_os_error():
            return bool(super().exists(name))

    def size(self, name: str) -> int:
        """Bytes of the file. Raises :class:`FileNotFoundError`."""
        with _as_os_error():
            return int(super().size(name))

    def delete(self, name: str) -> None:
        with _as_os_error():
            super().delete(name)

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        with _as_os_error():
            return super().listdir(path)

    def _open(self, name: str, mode: str = "rb") -> Any:
        with _as_os_error():
            return super()._open(name, mode)

    def _save(self, name: str, content: IO[bytes]) -> str:
        with _as_os_error():
            return str(super()._save(name, content))


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in {"404", "NoSuchKey"}:
            raise FileNotFoundError(code) from error
        raise OSError(f"The object store refused: {code}") from error
    except BotoCoreError as error:
        raise OSError(f"The object store does not answer: {type(error).__name__}") from error
