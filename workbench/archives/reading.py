"""Reading an archive that somebody sent: everything in it is checked before anything of it is used.

No name of an entry is ever used as a path: entries are read from the archive by the names that the manifest gives,
which are fixed words and hashes. What is read is bounded by what the manifest says, and that by limits; an archive that
says one thing and holds another is refused as a whole.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, BinaryIO, TypeVar

from django.conf import settings
from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError

from arbitration import bounded_json
from arbitration.parsing.unpacking import folds_too_far
from workbench.errors import WorkbenchError

from .contents import (
    DICTIONARY,
    FORMAT,
    GUIDELINES,
    LABELS,
    MANIFEST,
    MOST_DOCUMENTS,
    MOST_ROWS,
    QUESTION_SETS,
    TABLES,
    VERSION,
    DocumentEntry,
    Manifest,
)

Row = TypeVar("Row", bound=BaseModel)

MEGABYTE = 1024 * 1024
#: Bytes: of the manifest; of a table; of a line of a table; of all originals together.
MOST_MANIFEST, MOST_TABLE, MOST_LINE = 64 * MEGABYTE, 1024 * MEGABYTE, MEGABYTE
MOST_BYTES = 200 * 1024 * MEGABYTE
_CHUNK = MEGABYTE
#: Objects and lists of a manifest: a document has four. Each takes memory beyond its two bytes.
_MOST_BRACKETS = 10 * MOST_DOCUMENTS
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
#: What a damaged ZIP file makes the standard library raise.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class AtOnce:
    """How much of an archive is read while somebody waits for the answer. A worker reads larger ones."""

    manifest: int
    documents: int
    document_bytes: int
    table_bytes: int
    rows: Mapping[str, int]


#: Some ten seconds of work at worst: a document or a row of the vocabulary costs more than a label.
AT_ONCE = AtOnce(
    manifest=2 * MEGABYTE,
    documents=200,
    document_bytes=200 * MEGABYTE,
    table_bytes=16 * MEGABYTE,
    rows={DICTIONARY: 500, QUESTION_SETS: 50, LABELS: 5_000, GUIDELINES: MOST_ROWS[GUIDELINES]},
)


class BadArchive(WorkbenchError):
    """The file is no archive of a collection, or not a whole one; nothing of it was used."""

    code = "bad_archive"


class Archive:
    """An opened archive whose names and sizes agree with its manifest. :meth:`check` reads the rest."""

    def __init__(self, file: zipfile.ZipFile, manifest: Manifest, digest: str) -> None:
        self._file = file
        self.manifest = manifest
        #: SHA-256 of the manifest, which holds all the other hashes: the archive's name in both audit trails.
        self.digest = digest

    def check(self, shapes: Mapping[str, type[BaseModel]]) -> None:
        """Reads every byte against its hash, and every row of the tables. Raises :class:`BadArchive`."""
        for entry in self.manifest.documents:
            for _block in self._verified(entry.entry, size=entry.size, sha256=entry.sha256):
                pass
        for name, shape in shapes.items():
            for _row in self.rows(name, shape):
                pass

    def rows(self, name: str, shape: type[Row]) -> Iterator[Row]:
        """The rows of a table, in its order. Raises :class:`BadArchive` that names the line."""
        table = self.manifest.tables[name]
        count = 0
        with tempfile.SpooledTemporaryFile(max_size=8 * MEGABYTE) as spool:
            for block in self._verified(name, size=table.size, sha256=table.sha256):
                spool.write(block)
            spool.seek(0)
            while line := spool.readline(MOST_LINE + 1):
                count += 1
                if count > table.rows:
                    break
                yield _row(line, shape, where=f"{name}, {count}")
        if count != table.rows:
            raise BadArchive(_("%(name)s has the wrong number of rows.") % {"name": name})

    @contextmanager
    def original(self, entry: DocumentEntry) -> Iterator[IO[bytes]]:
        """A document's bytes, checked, in a file without a name that is gone afterwards."""
        with tempfile.SpooledTemporaryFile(max_size=8 * MEGABYTE) as spool:
            for block in self._verified(entry.entry, size=entry.size, sha256=entry.sha256):
                spool.write(block)
            spool.seek(0)
            yield spool

    def _verified(self, name: str, *, size: int, sha256: str) -> Iterator[bytes]:
        digest, read = hashlib.sha256(), 0
        try:
            with self._file.open(name) as stream:
                while block := stream.read(_CHUNK):
                    read += len(block)
                    if read > size:
                        break
                    digest.update(block)
                    yield block
        except _DAMAGE as error:
            raise _damaged(name) from error
        if read != size or digest.hexdigest() != sha256:
            raise BadArchive(
                _("%(name)s is not what the archive says it is. Ask for the archive again.") % {"name": name}
            )


@contextmanager
def archive_open(
    stream: BinaryIO, *, most_bytes: int = MOST_BYTES, at_once: AtOnce | None = None
) -> Iterator[Archive]:
    """Opens an archive and checks its manifest, and that its entries are those named there, each once and of that
    size. Raises :class:`BadArchive` for anything else, for one that is too large, also for ``at_once`` where somebody
    waits, and for another version's."""
    with _zip_open(stream) as file:
        content = _manifest_bytes(file, at_once=at_once)
        manifest = _manifest(content)
        _check_agreement(file, manifest, most_bytes=most_bytes)
        if at_once is not None:
            _check_at_once(manifest, at_once)
        yield Archive(file, manifest, hashlib.sha256(content).hexdigest())


def archive_glance(stream: BinaryIO, *, most_bytes: int = MOST_BYTES) -> None:
    """Checks what takes no time, while somebody waits: the list of entries, and with it a manifest that is as small as
    :data:`AT_ONCE` has it. A larger one is left to the worker, who checks everything. Raises :class:`BadArchive`."""
    with _zip_open(stream) as file:
        if _manifest_info(file).file_size <= AT_ONCE.manifest:
            _check_agreement(file, _manifest(_manifest_bytes(file, at_once=None)), most_bytes=most_bytes)


@contextmanager
def _zip_open(stream: BinaryIO) -> Iterator[zipfile.ZipFile]:
    try:
        file = zipfile.ZipFile(stream)
    except _DAMAGE as error:
        raise BadArchive(
            _(
                "This is not a ZIP file, or its end is missing. Download the archive again, or choose another file."
            )
        ) from error
    with file:
        _check_entries(file)
        _check_folding(file, of_file=_size(stream))
        yield file


def _check_entries(file: zipfile.ZipFile) -> None:
    infos = file.infolist()
    if len(infos) > MOST_DOCUMENTS + len(TABLES) + 1:
        raise BadArchive(_("The archive has more entries than a collection can have documents."))
    if len({info.filename for info in infos}) != len(infos):
        raise BadArchive(_("The archive has two entries of one name."))
    for info in infos:
        if info.flag_bits & 0x1 or info.compress_type not in _METHODS:
            raise BadArchive(_("The archive is encrypted or compressed in an unknown way."))


def _size(stream: BinaryIO) -> int:
    place = stream.tell()
    stream.seek(0, io.SEEK_END)
    size = stream.tell()
    stream.seek(place)
    return size


def _check_folding(file: zipfile.ZipFile, *, of_file: int) -> None:
    """Tables are words of people and hashes. Originals may be blank pages: they count together."""
    parts = {MANIFEST, *TABLES}
    infos = file.infolist()
    parcels = [[info] for info in infos if info.filename in parts]
    parcels.append([info for info in infos if info.filename not in parts])
    for parcel in parcels:
        folded = min(sum(info.compress_size for info in parcel), of_file)
        if folds_too_far(sum(info.file_size for info in parcel), folded):
            raise BadArchive(
                _("The archive unfolds to far more than it shows, as files made to fill a disk do."),
                code="bomb",
            )


def _manifest_info(file: zipfile.ZipFile) -> zipfile.ZipInfo:
    try:
        info = file.getinfo(MANIFEST)
    except KeyError as error:
        raise BadArchive(
            _("This ZIP file has no manifest.json: it is not an archive of a collection.")
        ) from error
    if info.file_size > MOST_MANIFEST:
        raise BadArchive(_("The archive's manifest is too large."))
    return info


def _manifest_bytes(file: zipfile.ZipFile, *, at_once: AtOnce | None) -> bytes:
    info = _manifest_info(file)
    if at_once is not None and info.file_size > at_once.manifest:
        raise _too_large_at_once()
    try:
        with file.open(info) as stream:
            return stream.read(MOST_MANIFEST + 1)
    except _DAMAGE as error:
        raise _damaged(MANIFEST) from error


def _manifest(content: bytes) -> Manifest:
    if content.count(b"{") + content.count(b"[") > _MOST_BRACKETS:
        raise BadArchive(_("The archive's manifest is too large."))
    try:
        raw = bounded_json.loads(content)
    except ValueError as error:
        raise _damaged(MANIFEST) from error
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise BadArchive(_("This ZIP file is not an archive of a collection."))
    if raw.get("version") != VERSION:
        raise BadArchive(
            _("This archive was made by another version of the product; this one reads version %(n)d.")
            % {"n": VERSION},
            code="other_version",
        )
    try:
        return Manifest.model_validate_json(content)
    except (ValidationError, RecursionError) as error:
        raise BadArchive(
            _("The archive's manifest is damaged: %(problem)s.") % {"problem": _problem(error)}
        ) from error


def _check_agreement(file: zipfile.ZipFile, manifest: Manifest, *, most_bytes: int) -> None:
    expected = {entry.entry: entry.size for entry in manifest.documents}
    expected |= {name: table.size for name, table in manifest.tables.items()}
    found = {info.filename: info.file_size for info in file.infolist() if info.filename != MANIFEST}
    if missing := sorted(set(expected) - set(found)):
        raise BadArchive(
            _("The archive is incomplete: %(names)s is missing.") % {"names": ", ".join(missing[:3])}
        )
    if foreign := sorted(set(found) - set(expected)):
        raise BadArchive(
            _("The archive contains unexpected files: %(names)s.")
            % {"names": ", ".join(ascii(name)[:80] for name in foreign[:3])}
        )
    for name, size in expected.items():
        if found[name] != size:
            raise BadArchive(_("%(name)s is not as large as the archive says.") % {"name": name})
    for name, table in manifest.tables.items():
        if table.size > MOST_TABLE:
            raise BadArchive(_("%(name)s is too large.") % {"name": name}, code="too_large")
        if table.rows > MOST_ROWS[name]:
            raise BadArchive(
                _("%(name)s has more rows than the %(most)d that are accepted.")
                % {"name": name, "most": MOST_ROWS[name]},
                code="too_large",
            )
    for entry in manifest.documents:
        if entry.size > settings.MAX_UPLOAD_BYTES:
            raise BadArchive(
                _("“%(name)s” is larger than documents may be here (MAX_UPLOAD_BYTES).")
                % {"name": entry.name},
                code="too_large",
            )
    if manifest.document_bytes > most_bytes:
        raise BadArchive(
            _(
                "The documents of this archive have %(size)d MB together; at most %(most)d MB are accepted here."
            )
            % {"size": manifest.document_bytes // MEGABYTE, "most": most_bytes // MEGABYTE},
            code="too_large",
        )


def _check_at_once(manifest: Manifest, at_once: AtOnce) -> None:
    tables = manifest.tables
    is_small = (
        len(manifest.documents) <= at_once.documents
        and manifest.document_bytes <= at_once.document_bytes
        and sum(table.size for table in tables.values()) <= at_once.table_bytes
        and all(tables[name].rows <= most for name, most in at_once.rows.items())
    )
    if not is_small:
        raise _too_large_at_once()


def _too_large_at_once() -> BadArchive:
    return BadArchive(
        _("This archive is too large for one request. Upload it on the page “Import an archive”."),
        code="too_large",
    )


def _row(line: bytes, shape: type[Row], *, where: str) -> Row:
    if len(line) > MOST_LINE:
        raise BadArchive(_("%(where)s: the line is too long.") % {"where": where})
    try:
        return shape.model_validate_json(line)
    except (ValidationError, RecursionError) as error:
        raise BadArchive(f"{where}: {_problem(error)}.") from error


def _problem(error: Exception) -> str:
    """The first thing that is wrong, without what was given: that is a stranger's text."""
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part)[:40] for part in first["loc"])
        return f"{place}: {first['msg']}" if place else first["msg"]
    return _("it is nested too deeply")


def _damaged(name: str) -> BadArchive:
    return BadArchive(_("The archive is damaged at %(name)s. Download it again.") % {"name": name})
