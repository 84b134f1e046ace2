"""The files inside a ZIP, read in a child process as parsers are; nothing is ever unpacked to disk.

A ZIP is one level deep: a ZIP inside it is refused like any file that cannot be read. What the archive states about
itself is checked before anything is unfolded, and what comes out is counted.
"""

from __future__ import annotations

import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TypedDict

from arbitration.errors import ParseFailure
from arbitration.parsing.limits import ParseLimits

MAX_FILES = 1_000
MAX_TOTAL = 2 * 1024 * 1024 * 1024  # bytes of all files unfolded
#: Bytes out for one byte in. Text folds to a tenth, a log of one repeated line to a hundredth.
MAX_RATIO = 200
_SMALL = 1024 * 1024  # bytes; a smaller file may fold as far as it likes
_MAX_NAME = 200  # characters
_CHUNK = 1 << 18
#: What operating systems put into archives on their own account.
_CLUTTER = frozenset({"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini"})


class Member(TypedDict):
    """A file inside: its place among the archive's entries, its cleaned name, its stated size, why it is refused."""

    place: int
    name: str
    size: int
    refusal: str


def folds_too_far(size: int, folded: int) -> bool:
    """Whether so many bytes come out of so few as of a file that is made to fill a disk."""
    return size > _SMALL and size > MAX_RATIO * max(folded, 1)


def members_of(data: bytes, *, limits: ParseLimits) -> list[Member]:
    """The files of an archive. Raises :class:`ParseFailure` (``corrupt``, ``empty``, ``too_large``, ``bomb``)."""
    archive = _opened(data)
    infos = [
        (place, info)
        for place, info in enumerate(archive.infolist())
        if not info.is_dir() and not _CLUTTER & set(info.filename.replace("\\", "/").split("/"))
    ]
    if not infos:
        raise ParseFailure("empty", "The ZIP holds no files. Choose another one.")
    if len(infos) > MAX_FILES:
        raise ParseFailure(
            "too_large",
            f"The ZIP holds {len(infos):,} files; at most {MAX_FILES:,} are taken. Split it into several.",
        )
    members = [
        Member(place=place, name=_clean(info.filename), size=info.file_size, refusal=_refusal(info, limits))
        for place, info in infos
    ]
    taken = [info for (_, info), member in zip(infos, members, strict=True) if not member["refusal"]]
    total = sum(info.file_size for info in taken)
    if total > MAX_TOTAL:
        raise ParseFailure(
            "too_large",
            f"The ZIP unfolds to {total / 1e6:,.0f} MB; at most {MAX_TOTAL / 1e6:,.0f} MB are taken. Split it.",
        )
    folded = sum(info.compress_size for info in taken)
    if folds_too_far(total, min(folded, len(data))):
        raise ParseFailure(
            "bomb",
            "The ZIP unfolds to far more than it shows, as files made to fill a disk do. It was not opened.",
        )
    return members


def contents_of(data: bytes, *, places: Sequence[int], limits: ParseLimits) -> bytes:
    """Some files of an archive: a line of JSON with each one's size or refusal, then their bytes one after another."""
    archive = _opened(data)
    entries = archive.infolist()
    heads: list[dict[str, object]] = []
    bodies: list[bytes] = []
    for place in places:
        try:
            body = _content(archive, entries[place], limits)
        except ParseFailure as failure:
            heads.append({"size": 0, "refusal": failure.message})
        else:
            heads.append({"size": len(body), "refusal": ""})
            bodies.append(body)
    return json.dumps(heads).encode() + b"\n" + b"".join(bodies)


def _opened(data: bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, ValueError, OSError, NotImplementedError) as error:
        raise ParseFailure(
            "corrupt", "The ZIP is damaged and cannot be opened. Make it again and upload the new file."
        ) from error


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limits: ParseLimits) -> bytes:
    pieces: list[bytes] = []
    size = 0
    most = min(info.file_size, limits.max_bytes)
    try:
        with archive.open(info) as part:
            while chunk := part.read(_CHUNK):
                size += len(chunk)
                if size > most:
                    raise ParseFailure("bomb", "The file unfolds to more than it states. It was not taken.")
                pieces.append(chunk)
    except (
        zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, OSError,
        ValueError,
    ) as error:  # fmt: skip
        raise ParseFailure(
            "corrupt", "The file is damaged inside the ZIP, or packed in a way that cannot be read."
        ) from error
    return b"".join(pieces)


def _clean(stated: str) -> str:
    """A name without a path: its folders stand before it, and nothing in it leads anywhere."""
    parts = [
        "".join(char for char in part if char.isprintable()).strip(" .:")
        for part in stated.replace("\\", "/").split("/")
    ]
    return " - ".join(part for part in parts if part)[-_MAX_NAME:] or "file"


def _refusal(info: zipfile.ZipInfo, limits: ParseLimits) -> str:
    """Why a file is not taken, as far as its entry tells."""
    if info.flag_bits & 0x1:
        return "The file is encrypted inside the ZIP. Unpack it and upload it by itself."
    if PurePosixPath(info.filename).suffix.lower() == ".zip":
        return "A ZIP inside a ZIP is not opened. Upload it by itself."
    if info.file_size > limits.max_bytes:
        return (
            f"The file has {info.file_size / 1e6:.0f} MB; at most {limits.max_bytes / 1e6:.0f} MB are read."
        )
    if folds_too_far(info.file_size, info.compress_size):
        return "The file unfolds to far more than it shows, as files made to fill a disk do."
    return ""
