"""A watched folder of the workers' machine. Nothing outside of SOURCE_FOLDERS is read, whatever links lie in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workbench.errors import WorkbenchError

from .protocol import Cursor, Entry, Kind, Listing, Piece, Setting, SourceDown, Values

#: Files of one watched folder, and folders inside each other.
MOST_FILES = 50_000
_DEEPEST = 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe that was put there must not hold the worker: it is opened without waiting, and refused.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FolderReader:
    """Every file below a folder, hidden ones left out. No link is followed: each part of a path is opened in turn."""

    def __init__(self, values: Values, secret: str = "") -> None:
        del secret
        self._path = Path(values["folder"])

    def list(self, cursor: Cursor) -> Listing:
        """All files with size and time of the last change."""
        del cursor
        try:
            root = self._root()
        except OSError as error:
            raise SourceDown(
                _("The folder cannot be read: %(error)s.") % {"error": error.strerror or error}
            ) from error
        entries: list[Entry] = []
        try:
            self._walk(root, "", entries, depth=0)
        finally:
            os.close(root)
        return Listing(sorted(entries, key=lambda entry: entry.key), {})

    def fetch(self, entry: Entry, *, most_bytes: int) -> Iterator[Piece]:
        """The file, if it is still as it was listed."""
        del most_bytes  # the caller counts
        try:
            with ExitStack() as opened:
                stream = opened.enter_context(os.fdopen(self._file(entry.key), "rb"))
                facts = os.fstat(stream.fileno())
                if not stat.S_ISREG(facts.st_mode):
                    raise WorkbenchError(_("This is not a plain file."), code="no_file")
                if _fingerprint(facts) != entry.fingerprint:
                    raise WorkbenchError(
                        _("The file has changed since. New content is imported automatically."),
                        code="changed",
                    )
                yield Piece(entry.name, stream)
        except OSError as error:
            raise WorkbenchError(
                _("The file cannot be read: %(error)s.") % {"error": error.strerror or error}, code="unread"
            ) from error

    def close(self) -> None:
        """Holds nothing."""

    def _root(self) -> int:
        """The watched folder, opened part by part from the allowed folder that it lies in."""
        for allowed in settings.SOURCE_FOLDERS:
            if self._path.is_relative_to(allowed):
                return _descend(
                    os.open(allowed, _FOLDER & ~os.O_NOFOLLOW), self._path.relative_to(allowed).parts
                )
        raise SourceDown(_("The folder does not lie in SOURCE_FOLDERS any more."))

    def _file(self, key: str) -> int:
        *folders, name = Path(key).parts
        last = _descend(self._root(), tuple(folders))
        try:
            return os.open(os.fsencode(name), _FILE, dir_fd=last)
        finally:
            os.close(last)

    def _walk(self, folder: int, path: str, entries: list[Entry], *, depth: int) -> None:
        with os.scandir(folder) as found:
            names = [(one.name, one.is_dir(follow_symlinks=False)) for one in found if one.name[0] != "."]
        for name, is_folder in names:
            try:
                if is_folder and depth < _DEEPEST:
                    below = os.open(os.fsencode(name), _FOLDER, dir_fd=folder)
                    try:
                        self._walk(below, f"{path}{name}/", entries, depth=depth + 1)
                    finally:
                        os.close(below)
                    continue
                facts = os.stat(os.fsencode(name), dir_fd=folder, follow_symlinks=False)
            except OSError:  # gone, or not ours to read; said when it is fetched, if it is still there then
                continue
            if stat.S_ISREG(facts.st_mode):
                entries.append(Entry(f"{path}{name}", _fingerprint(facts), name, is_settled=False))
            if len(entries) > MOST_FILES:
                raise SourceDown(
                    _("The folder holds more than %(n)d files. Watch smaller folders.") % {"n": MOST_FILES}
                )


def _descend(folder: int, parts: tuple[str, ...]) -> int:
    for part in parts:
        try:
            below = os.open(os.fsencode(part), _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def _fingerprint(facts: os.stat_result) -> str:
    return f"{facts.st_size}:{facts.st_mtime_ns}"


def _check(values: Values) -> dict[str, str]:
    path = Path(values["folder"])
    allowed = settings.SOURCE_FOLDERS
    if not path.is_absolute() or ".." in path.parts or not any(path.is_relative_to(one) for one in allowed):
        raise WorkbenchError(
            _("This folder may not be watched. The operator names the folders that may in SOURCE_FOLDERS."),
            code="folder_refused",
        )
    return {"folder": str(path)}


def _shares(one: Values, other: Values) -> bool:
    """Whether the folders are the same, or one lies in the other, wherever links on the way lead."""
    first, second = (Path(os.path.realpath(values["folder"])) for values in (one, other))
    return first.is_relative_to(second) or second.is_relative_to(first)


FOLDER = Kind(
    name="folder",
    label=gettext_lazy("Watched folder"),
    settings=(
        Setting(
            "folder",
            gettext_lazy("Folder"),
            gettext_lazy("The full path on the workers' machine. Folders inside it are watched too."),
        ),
    ),
    check=_check,
    open=FolderReader,
    shares=_shares,
)
