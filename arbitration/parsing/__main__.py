"""The isolated child: ``python -m arbitration.parsing [--render | --recognise | --unpack | --split | --doors]``.

Reads one JSON request from standard input (the password comes this way only); its ``source`` is the inherited
descriptor of the file, since the child can open no path. Writes the ParsedDocument as JSON, with ``--render`` the image
of a page, with ``--recognise`` the lines found on it, with ``--unpack`` files of a ZIP, with ``--split`` those of a
mail, or with ``--doors`` what this system let it give up, to standard output and exits 0; or writes ``{"code": ...,
"message": ...}`` and exits 3; or writes the numbers of the pages that must be recognised first and exits 4. It limits
itself before it touches the file; the parent in :mod:`arbitration.parsing.isolation` watches the clock and the size of
the output.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from arbitration.errors import ParseFailure, TextInImages
from arbitration.parsing.limits import ParseLimits, within
from arbitration.parsing.sandbox import Doors, close_doors

FAILED = 3
TEXT_IN_IMAGES = 4
#: Processor seconds between the signal that the time is up and the end.
_LAST_SECONDS = 5
_OPEN_FILES = 32


def main() -> int:
    """Answer one request; the exit status is 0 or ``FAILED``."""
    gc.disable()  # the process lives for one file, and makes next to no cycles
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not mix with the answer
    request = json.loads(sys.stdin.buffer.read())
    limits = ParseLimits(**{item.name: request["limits"][item.name] for item in fields(ParseLimits)})
    doors = shut_in(request, limits)
    if "--doors" in sys.argv[1:]:
        output.write(json.dumps(asdict(doors)).encode())
        output.close()
        return 0
    try:
        answer, status = _task()(request, limits), 0
    except TextInImages as found:
        answer, status = json.dumps(found.pages).encode(), TEXT_IN_IMAGES
    except ParseFailure as failure:
        answer, status = _failure(failure.code, failure.message), FAILED
    except MemoryError:
        answer, status = (
            _failure("out_of_memory", "The file needs more memory than it may use. Split it."),
            FAILED,
        )
    except RecursionError:
        answer, status = _failure("corrupt", "The file is nested too deeply to be read."), FAILED
    with contextlib.suppress(BrokenPipeError):
        output.write(answer)
        output.close()
    return status


def shut_in(request: dict[str, Any], limits: ParseLimits) -> Doors:
    """Everything that this process gives up, before it looks at its input; what the system let it give up."""
    _limit_self(limits)
    return close_doors(post=request.get("post"))


def _input(request: dict[str, Any], limits: ParseLimits) -> bytes:
    """The file, from its beginning: the parent's other children may have read the same descriptor."""
    with os.fdopen(request["source"], "rb") as source:
        within(limits, os.fstat(source.fileno()).st_size)
        source.seek(0)
        return source.read()


def _task() -> Callable[[dict[str, Any], ParseLimits], bytes]:
    if "--render" in sys.argv[1:]:
        return _render
    if "--unpack" in sys.argv[1:]:
        return _unpack
    if "--split" in sys.argv[1:]:
        return _split
    return _recognise if "--recognise" in sys.argv[1:] else _parse


def _parse(request: dict[str, Any], limits: ParseLimits) -> bytes:
    from arbitration.parsing.drafts import to_wire
    from arbitration.parsing.recognised import RecognisedLine
    from arbitration.parsing.registry import parse_here

    given = request.get("recognised")
    recognised = (
        {int(page): [RecognisedLine(*line) for line in lines] for page, lines in given.items()}
        if given is not None
        else None
    )
    finished = parse_here(
        _input(request, limits),
        filename=request["filename"],
        limits=limits,
        password=request.get("password"),
        recognised=recognised,
        asks_for_text=request.get("asks_for_text", False),
    )
    finished.draft.warnings.extend(request.get("warnings", ()))
    return to_wire(finished)


def _recognise(request: dict[str, Any], limits: ParseLimits) -> bytes:
    from arbitration.parsing.ocr import recognise_here

    lines = recognise_here(
        _input(request, limits),
        page_num=request["page_num"],
        limits=limits,
        password=request.get("password"),
        filename=request["filename"],
    )
    return json.dumps(lines, ensure_ascii=False).encode("utf-8", "replace")


def _unpack(request: dict[str, Any], limits: ParseLimits) -> bytes:
    from arbitration.parsing.unpacking import contents_of, members_of

    data = _input(request, limits)
    places = request.get("places")
    if places is None:
        return json.dumps(members_of(data, limits=limits), ensure_ascii=False).encode("utf-8", "replace")
    return contents_of(data, places=places, limits=limits)


def _split(request: dict[str, Any], limits: ParseLimits) -> bytes:
    from arbitration.parsing.mail_files import contents_of, files_of

    data, places, most = _input(request, limits), request.get("places"), request["most"]
    if places is None:
        return files_of(data, most=most, room=request["room"])
    return contents_of(data, places=places, most=most)


def _render(request: dict[str, Any], limits: ParseLimits) -> bytes:
    from arbitration.parsing.render import render_here

    return render_here(
        _input(request, limits),
        page_num=request["page_num"],
        scale=request["scale"],
        limits=limits,
        image_format=request["image_format"],
        filename=request["filename"],
        password=request.get("password"),
    )


def _failure(code: str, message: str) -> bytes:
    return json.dumps({"code": code, "message": message}, ensure_ascii=False).encode()


def _limit_self(limits: ParseLimits) -> None:
    """Hard limits of this process; where a system lacks one, the others and the parent's clock remain."""
    for kind, value in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        # At the hard limit of processor time the kernel kills without a word; a little below it, it says why.
        hard = value + _LAST_SECONDS if kind == resource.RLIMIT_CPU else value
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, hard))
    # Should the parent be gone, the clock still ends this process.
    signal.setitimer(signal.ITIMER_REAL, limits.wall_s + 1.0)


if __name__ == "__main__":
    sys.exit(main())
