"""Parsing and rendering in a child process with hard limits: whatever a file does, it fails alone.

The child (:mod:`arbitration.parsing.__main__`) runs in a session of its own with an empty environment, bounds its
memory, processor time, file writes and open files, and closes every door (:mod:`arbitration.parsing.sandbox`). It gets
its input as an open descriptor. The parent bounds time and output, kills the whole process group at the end, and turns
every outcome into a result or a :class:`~arbitration.errors.ParseFailure`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from arbitration import bounded_json
from arbitration.documents import ParsedDocument
from arbitration.errors import ParseFailure, PasswordRequired, TextInImages
from arbitration.parsing.limits import ImageFormat, ParseLimits
from arbitration.parsing.sandbox import Doors
from arbitration.parsing.unknown_calls import UnknownCalls

__all__ = [
    "Doors",
    "OnEnded",
    "OnRecognised",
    "ParseLimits",
    "SplitMail",
    "UnpackedFile",
    "closed_doors",
    "parse_isolated",
    "render_page",
    "split_mail",
    "unpack",
]

_ROOT = Path(__file__).resolve().parents[2]
_CHILD = (sys.executable, "-E", "-s", "-B", "-m", "arbitration.parsing")
_FAILED = 3
_TEXT_IN_IMAGES = 4
_OCR_WALL = 2.0  # times a page's processor time; a busy machine needs longer by the clock
_CHUNK = 1 << 16
_STDERR_TAIL = 2048
_POLL = 0.002  # seconds
_NEAR_LIMIT = 0.7  # of the memory limit; a crash up there was most likely caused by it
_UNPACK_TOGETHER = 32 * 1024 * 1024  # bytes of files that one child unfolds
_UNPACK_COUNT = 100
_UNPACK_ROOM = 1024 * 1024  # bytes for what the child says of the files
_PASSWORD_CODES = frozenset({"encrypted", "wrong_password"})
_CPU_SIGNALS = frozenset({signal.SIGXCPU, signal.SIGALRM})

#: Told (pages done, pages to do) before each page that is recognised; may raise to give the file up.
OnRecognised = Callable[[int, int], None]
#: Told the peak resident memory in bytes of each child that ended.
OnEnded = Callable[[int], None]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How the child ended. ``status`` is its exit status, negative for a signal."""

    status: int
    output: bytes
    stderr: bytes
    peak_bytes: int
    timed_out: bool
    too_much_output: bool


def parse_isolated(
    *,
    path: Path,
    filename: str,
    limits: ParseLimits | None = None,
    password: str | None = None,
    on_recognised: OnRecognised | None = None,
    on_ended: OnEnded | None = None,
) -> ParsedDocument:
    """The parsed file. ``filename`` is the name it was uploaded under; its extension counts.

    Pages that are images are recognised one at a time, each in a child of its own; ``on_recognised`` is told how many
    of how many are done, ``on_ended`` the most memory that each child held. A page that cannot be recognised is left
    without text, and a warning says so.

    Raises :class:`PasswordRequired` (``encrypted``, ``wrong_password``) and :class:`ParseFailure` with one of the codes
    ``unsupported_type``, ``type_mismatch``, ``empty``, ``corrupt``, ``forbidden_content``, ``too_large``,
    ``too_many_pages``, ``no_text``, ``time_out``, ``out_of_memory``, ``crashed``, ``misbehaved``,
    ``missing`` (the path cannot be opened).
    """
    limits = limits or ParseLimits()
    with _opened(path) as source:
        request = {"source": source.fileno(), "filename": filename, "password": password}
        try:
            output = _answer(_CHILD, {**request, "asks_for_text": True}, limits, on_ended)
        except TextInImages as found:
            lines, warnings = _recognise(found.pages, request, limits, on_recognised, on_ended)
            output = _answer(_CHILD, {**request, "recognised": lines, "warnings": warnings}, limits, on_ended)
    try:
        return ParsedDocument.model_validate_json(output)
    except ValidationError as error:
        logger.warning("parser answered something else than a document: %s", error.error_count())
        raise _crashed() from error


def _recognise(
    pages: Sequence[int],
    request: Mapping[str, Any],
    limits: ParseLimits,
    on_recognised: OnRecognised | None,
    on_ended: OnEnded | None,
) -> tuple[dict[int, Any], list[str]]:
    """The lines on the images of pages, and what to tell people about those that gave none."""
    started = time.monotonic()
    per_page = replace(limits, cpu_s=limits.ocr_page_s, wall_s=_OCR_WALL * limits.ocr_page_s)
    lines: dict[int, Any] = {}
    warnings: list[str] = []
    for done, page in enumerate(pages):
        if on_recognised is not None:
            on_recognised(done, len(pages))
        if done >= limits.max_ocr_pages or time.monotonic() - started > limits.ocr_wall_s:
            left = len(pages) - done
            warnings.append(
                f"{left} pages from page {page} on are images and were not read: too many for one file"
            )
            break
        try:
            asked = {**request, "page_num": page}
            lines[page] = _value(_answer((*_CHILD, "--recognise"), asked, per_page, on_ended))
        except ParseFailure as failure:
            warnings.append(f"page {page} is an image whose text could not be recognised: {failure.message}")
    return lines, warnings


def render_page(
    *,
    path: Path,
    page_num: int,
    scale: float = 1.5,
    image_format: ImageFormat = "png",
    limits: ParseLimits | None = None,
    password: str | None = None,
    filename: str = "page.pdf",
) -> bytes:
    """One page (1-based) of a PDF, or of a PDF attached to a message, as an image; ``filename`` tells which.
    ``scale`` is pixels per point, bounded by ``limits.max_pixels``.

    Raises like :func:`parse_isolated`, and ``no_such_page``.
    """
    limits = limits or ParseLimits(cpu_s=30, wall_s=45.0)
    with _opened(path) as source:
        request = {
            "source": source.fileno(),
            "page_num": page_num,
            "scale": scale,
            "image_format": image_format,
            "filename": filename,
            "password": password,
        }
        return _answer((*_CHILD, "--render"), request, limits)


@dataclass(frozen=True, slots=True)
class UnpackedFile:
    """A file out of a ZIP, or why it is not taken."""

    name: str
    content: bytes = b""
    refusal: str = ""


def unpack(*, path: Path, limits: ParseLimits | None = None) -> Iterator[UnpackedFile]:
    """The files of a ZIP in their order, a few in memory at a time; a file that cannot be taken says why.

    Raises :class:`ParseFailure`, before the first file, for an archive that is not taken at all: ``corrupt``,
    ``empty``, ``too_large``, ``bomb``, and what the end of a child can mean.
    """
    limits = limits or ParseLimits(cpu_s=60, wall_s=90.0)
    with _opened(path) as source:
        request = {"source": source.fileno()}
        members = _value(_answer((*_CHILD, "--unpack"), request, limits))
        for group in _groups(members):
            places = [member["place"] for member in group if not member["refusal"]]
            heads, body = [], b""
            if places:
                bounded = replace(limits, max_output_bytes=sum(m["size"] for m in group) + _UNPACK_ROOM)
                answer = _answer((*_CHILD, "--unpack"), {**request, "places": places}, bounded)
                first, _, body = answer.partition(b"\n")
                heads = _value(first)
            yield from _files_of(group, heads, body)


@dataclass(frozen=True, slots=True)
class SplitMail:
    """Subject, sender and date of a mail, "" where it has none; its attachments in their order, a few in memory at a
    time, those without a name under ""."""

    facts: Mapping[str, str]
    files: Iterator[UnpackedFile]


def split_mail(*, path: Path, most: int, limits: ParseLimits | None = None) -> SplitMail:
    """A mail, split into its attachments, of which there may be ``most``.

    Raises :class:`ParseFailure`: ``corrupt``, ``too_large``, ``too_many``, and what the end of a child can mean; the
    latter for each group of attachments too.
    """
    limits = limits or ParseLimits(cpu_s=60, wall_s=90.0)
    asked = {"most": most, "room": _UNPACK_TOGETHER}
    bounded = replace(limits, max_output_bytes=_UNPACK_TOGETHER + _UNPACK_ROOM)
    with _opened(path) as source:
        answer = _answer((*_CHILD, "--split"), {**asked, "source": source.fileno()}, bounded)
    first, _, body = answer.partition(b"\n")
    found = _value(first)
    held = found["files"][: found["held"]]
    rest = found["files"][found["held"] :]
    return SplitMail(found["facts"], _split_files(path, asked, held, body, rest, limits))


def _split_files(
    path: Path,
    asked: Mapping[str, Any],
    held: Sequence[Mapping[str, Any]],
    body: bytes,
    rest: Sequence[Mapping[str, Any]],
    limits: ParseLimits,
) -> Iterator[UnpackedFile]:
    yield from _files_of(held, held, body)
    with _opened(path) as source:
        for group in _groups(rest):
            request = {**asked, "source": source.fileno(), "places": [member["place"] for member in group]}
            bounded = replace(limits, max_output_bytes=sum(m["size"] for m in group) + _UNPACK_ROOM)
            first, _, body = _answer((*_CHILD, "--split"), request, bounded).partition(b"\n")
            yield from _files_of(group, _value(first), body)


def _groups(members: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Neighbours that one child unfolds together."""
    group: list[Mapping[str, Any]] = []
    size = 0
    for member in members:
        own = 0 if member["refusal"] else int(member["size"])
        if group and (size + own > _UNPACK_TOGETHER or len(group) >= _UNPACK_COUNT):
            yield group
            group, size = [], 0
        group.append(member)
        size += own
    if group:
        yield group


def _files_of(
    group: Sequence[Mapping[str, Any]], heads: Sequence[Mapping[str, Any]], body: bytes
) -> Iterator[UnpackedFile]:
    at, next_head = 0, iter(heads)
    for member in group:
        name, refusal = str(member["name"]), str(member["refusal"])
        if not refusal:
            head = next(next_head)
            refusal = str(head["refusal"])
            content = body[at : at + int(head["size"])]
            at += int(head["size"])
        yield UnpackedFile(name, refusal=refusal) if refusal else UnpackedFile(name, content)


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        logger.warning("a file to parse could not be opened: %s", error)
        raise ParseFailure("missing", "The stored file cannot be opened. Upload it again.") from error


def closed_doors() -> Doors:
    """What this system lets a parser's process give up, found out by a child that does. Raises ParseFailure where not
    even that child runs."""
    with open(os.devnull, "rb") as source:
        answer = _answer(
            (*_CHILD, "--doors"), {"source": source.fileno()}, ParseLimits(cpu_s=10, wall_s=30.0)
        )
    return Doors(**json.loads(answer))


def _answer(
    command: Sequence[str], request: dict[str, Any], limits: ParseLimits, on_ended: OnEnded | None = None
) -> bytes:
    """The child's output when it did as asked; else raises what its end means. ``request["source"]`` is the open
    descriptor of the file."""
    outcome = _run(command, {**request, "limits": asdict(limits)}, limits)
    if on_ended is not None:
        on_ended(outcome.peak_bytes)
    if outcome.stderr:
        logger.debug("parser said: %s", outcome.stderr.decode("utf-8", "replace"))
    if outcome.timed_out or -outcome.status in _CPU_SIGNALS:
        raise ParseFailure(
            "time_out",
            f"The file could not be read within {limits.wall_s:.0f} seconds. Split or simplify it.",
        )
    if outcome.too_much_output:
        raise ParseFailure(
            "too_large", "The file unfolds to more text than is read. Split it and upload the parts."
        )
    if outcome.status == 0:
        return outcome.output
    if outcome.status == _TEXT_IN_IMAGES:
        raise TextInImages(_value(outcome.output))
    if outcome.status == _FAILED:
        raise _reported(outcome.output)
    if outcome.status == -signal.SIGSYS:
        logger.warning("parser asked for what it may not have")
        raise ParseFailure(
            "misbehaved",
            "The file made the parser reach for the network or for other programs. It was stopped; do not open "
            "this file.",
        )
    if outcome.status == -signal.SIGKILL or outcome.peak_bytes > _NEAR_LIMIT * limits.memory_bytes:
        raise ParseFailure(
            "out_of_memory", "The file needs more memory than it may use. Split or simplify it."
        )
    logger.warning("parser ended with status %s", outcome.status)
    raise _crashed()


def _crashed() -> ParseFailure:
    return ParseFailure(
        "crashed",
        "The file made the parser fail. Open it in its own program, save it again and upload the new file.",
    )


def _value(output: bytes) -> Any:
    """What the child wrote, which a file may have taken over."""
    try:
        return bounded_json.loads(output)
    except ValueError as error:
        raise _crashed() from error


def _reported(output: bytes) -> ParseFailure:
    try:
        report = bounded_json.loads(output)
        code, message = str(report["code"]), str(report["message"])
    except (ValueError, KeyError, TypeError):
        return _crashed()
    return PasswordRequired(code, message) if code in _PASSWORD_CODES else ParseFailure(code, message)


def _run(command: Sequence[str], request: dict[str, Any], limits: ParseLimits) -> _Outcome:
    deadline = time.monotonic() + limits.wall_s
    with UnknownCalls() as calls:
        child = _started(command, request["source"], calls.theirs)
        calls.close_theirs()
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(json.dumps({**request, "post": calls.theirs}).encode())
                child.stdin.close()
            output, stderr, in_time = _read(
                child.stdout, child.stderr, deadline, limits.max_output_bytes, calls
            )
            too_much = len(output) > limits.max_output_bytes
            if not in_time or too_much:
                _kill(child)
            status, peak = _reap(child, deadline)
            return _Outcome(status, bytes(output), bytes(stderr), peak, not in_time, too_much)
        finally:
            if child.returncode is None:
                _kill(child)
                child.wait()
            child.stdout.close()
            child.stderr.close()


def _started(command: Sequence[str], *inherited: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=_ROOT,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
        start_new_session=True,
        pass_fds=inherited,
    )


def _read(
    stdout: IO[bytes], stderr: IO[bytes], deadline: float, max_output: int, calls: UnknownCalls
) -> tuple[bytearray, bytearray, bool]:
    """Both streams until they end, the deadline passes or the output is too long; the tail of stderr only. Meanwhile
    the child's unknown system calls are answered."""
    output, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ, output)
        selector.register(stderr, selectors.EVENT_READ, errors)
        calls.listen(selector)
        streams = 2
        while streams:
            left = deadline - time.monotonic()
            if left <= 0:
                return output, errors, False
            for key, _ in selector.select(timeout=left):
                if key.data is calls:
                    calls.hear(selector)
                    continue
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                    streams -= 1
                    continue
                key.data.extend(chunk)
                del errors[:-_STDERR_TAIL]
            if len(output) > max_output:
                break
    return output, errors, True


def _reap(child: subprocess.Popen[bytes], deadline: float) -> tuple[int, int]:
    """Exit status and peak resident memory in bytes; the whole group is gone afterwards."""
    # The child stays a zombie until its group is killed, so that its number cannot name another process.
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > deadline:
            _kill(child)
        time.sleep(_POLL)
    _kill(child)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return child.returncode, usage.ru_maxrss * unit


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it started, unless it was reaped already."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
