"""The sums of an export: the SHA-256 of each file, as ``sha256sum`` writes and checks them, and their signature."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .keys import PublicKey, signed_by

#: Inside the archive of a period.
SUMS = "SHA256SUMS"
#: Of a run, beside its files: ``run-12.sha256``.
SUFFIX = ".sha256"
#: Behind the name of the sums: 64 bytes, as other programs take them.
SIGNATURE = ".sig"
_MOST_BYTES = 10_000_000


class Broken(Exception):
    """The export is not as it was made; the message names the first place."""


class NotAnExport(Exception):
    """The file belongs to no export."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An export as it was made: so many files, and the key that signed it, if there was one to check it with."""

    files: int
    is_signed: bool
    key: PublicKey | None


def sums_of(digests: Sequence[tuple[str, str]]) -> bytes:
    """The content of the sums, from names and SHA-256."""
    return "".join(f"{digest}  {name}\n" for name, digest in digests).encode("utf-8")


def export_check(path: Path, *, keys: Sequence[PublicKey]) -> Checked:
    """Holds every file of an export against its sums, and the sums against their signature.

    ``path`` is the archive of a period, or the sums or another file of a run, all in one folder. With keys the export
    must be signed by one of them. Raises :class:`Broken`, :class:`NotAnExport` and OSError.
    """
    with _opened(path) as (sums_name, names, read):
        if sums_name not in names:
            raise NotAnExport(f"there is no {sums_name} with the sums of its files")
        sums = _whole(read, sums_name)
        signature = _whole(read, sums_name + SIGNATURE) if sums_name + SIGNATURE in names else None
        key = _signer_of(sums, signature, keys)
        listed = dict(_lines(sums))
        for name, digest in listed.items():
            if name not in names:
                raise Broken(f"{name} is missing")
            with read(name) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    raise Broken(f"{name} was changed")
        if zipfile.is_zipfile(path):  # a folder may hold anything beside an export
            for name in names - set(listed) - {sums_name, sums_name + SIGNATURE}:
                raise Broken(f"{name} was added")
    return Checked(files=len(listed), is_signed=signature is not None, key=key)


def _signer_of(sums: bytes, signature: bytes | None, keys: Sequence[PublicKey]) -> PublicKey | None:
    if not keys:
        return None
    if signature is None:
        raise Broken("it is not signed")
    key = signed_by(sums, signature, keys)
    if key is None:
        raise Broken("the signature is of other sums, or by another key than those known here")
    return key


@contextmanager
def _opened(path: Path) -> Iterator[tuple[str, set[str], Callable[[str], BinaryIO]]]:
    """The name of the sums, the names of all files, and how one is read."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as parcel:
            names = parcel.namelist()
            if len(names) != len(set(names)):
                raise Broken("a name stands in the archive twice")
            yield SUMS, set(names), parcel.open  # type: ignore[misc]
        return
    if not path.is_file():
        raise NotAnExport(f"{path} is no file")
    folder = path.parent
    stem = path.name.removesuffix(SIGNATURE)
    sums_name = stem if stem.endswith(SUFFIX) or stem == SUMS else f"{path.stem}{SUFFIX}"
    yield (
        sums_name,
        {file.name for file in folder.iterdir() if file.is_file()},
        lambda name: (folder / name).open("rb"),
    )


def _whole(read: Callable[[str], BinaryIO], name: str) -> bytes:
    with read(name) as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise NotAnExport(f"{name} is too long for sums")
    return content


def _lines(sums: bytes) -> Iterator[tuple[str, str]]:
    try:
        lines = sums.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise NotAnExport("the sums are not text") from error
    if not lines:
        raise NotAnExport("the sums name no file")
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        digest, separator, name = line.partition("  ")
        if not separator or len(digest) != 64 or not name or name in seen:
            raise NotAnExport(f"line {number} of the sums is none")
        seen.add(name)
        yield name, digest
