"""Parts of a ZIP container from strangers: read in memory, by name, within limits; nothing is ever unpacked to disk.

Names inside the container are only compared, never opened as paths, so that ``../`` in them means nothing.
"""

from __future__ import annotations

import io
import zipfile
import zlib

from arbitration.errors import ParseFailure

MAX_MEMBERS = 10_000
MAX_PART = 64 * 1024 * 1024  # bytes of one part unfolded
MAX_TOTAL = 160 * 1024 * 1024  # bytes of all parts read
_CHUNK = 1 << 18


class Archive:
    """A ZIP container. Raises :class:`ParseFailure` (``corrupt``, ``too_large``)."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, zipfile.LargeZipFile, ValueError, OSError, NotImplementedError) as error:
            raise _damaged() from error
        if len(self._zip.infolist()) > MAX_MEMBERS:
            raise ParseFailure("too_large", f"The file holds more than {MAX_MEMBERS:,} parts. Simplify it.")
        self._names: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            # The first one wins: a second part of the same name is how two readers are made to see two documents.
            self._names.setdefault(info.filename.lstrip("/").casefold(), info)
        self._left = MAX_TOTAL

    @property
    def names(self) -> list[str]:
        """Names of all parts, in lower case."""
        return list(self._names)

    @property
    def has_twins(self) -> bool:
        """Whether two parts bear one name."""
        return len(self._names) < len(self._zip.infolist())

    def read(self, name: str) -> bytes | None:
        """The part of that name (case does not matter), None when there is none.

        The sizes that the container states are not believed: what comes out is counted.
        """
        info = self._names.get(name.lstrip("/").casefold())
        if info is None:
            return None
        limit = min(MAX_PART, self._left)
        pieces: list[bytes] = []
        size = 0
        try:
            with self._zip.open(info) as part:
                while chunk := part.read(_CHUNK):
                    size += len(chunk)
                    if size > limit:
                        raise ParseFailure(
                            "too_large",
                            "The file unfolds to far more than it shows. Save it again without embedded files.",
                        )
                    pieces.append(chunk)
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            OSError,
            ValueError,
        ) as error:
            raise _damaged() from error
        self._left -= size
        return b"".join(pieces)


def _damaged() -> ParseFailure:
    return ParseFailure(
        "corrupt",
        "The file is damaged: its container cannot be read. Open it in its program and save it again.",
    )
