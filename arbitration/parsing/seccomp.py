"""The list of system calls that the parser's process may make, put before the kernel (Linux, seccomp-BPF).

What is not on the list ends as "not implemented", which every C library takes as a reason to try something older, so
that a call nobody thought of costs no document. The kernel asks the parent first, which logs the call once. What only
an attacker makes ends the process with SIGSYS, which the parent reports.

Layout: linux/seccomp.h, linux/bpf_common.h, linux/audit.h.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from arbitration.parsing.system_calls import ALLOWED, BOUNDED, FATAL, REFUSED, TOO_NEW, Numbers

_NO_NEW_PRIVS = 38
_SET_FILTER, _ACTION_AVAILABLE = 1, 2
_WITH_LISTENER = 1 << 3
_LOAD, _IF_EQUAL, _IF_BITS, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _KILL, _ERRNO, _ASK = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
_EPERM, _EACCES, _ENOTTY, _ENOSYS = 1, 13, 25, 38
_UNIX_SOCKET = 1
_CLONE_THREAD = 0x00010000
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FOREIGN_TABLE = 0x40000000  # numbers of the x32 table on x86-64
_TERMINAL_QUESTIONS = (
    0x5401,
    0x5413,
    0x5421,
    0x5450,
    0x5451,
)  # of a terminal; non-blocking; close on exec
_FCNTL = (
    0,
    1,
    2,
    3,
    4,
    1030,
)  # duplicate, flags: not F_SETOWN, by which a descriptor sends signals to others
_PRCTL = (15, 16, 0x53564D41)  # the name of a thread, the name of a mapping


@dataclass(frozen=True, slots=True)
class Processor:
    """``column`` is the processor's place in the tables, ``architecture`` its number in linux/audit.h."""

    architecture: int
    column: int


PROCESSORS = {"x86_64": Processor(0xC000003E, 0), "aarch64": Processor(0xC00000B7, 1)}


@dataclass(frozen=True, slots=True)
class Filtered:
    """Whether the list is in force; ``listener`` is told of calls that are on none of the lists, if the kernel can."""

    holds: bool
    listener: int | None = None


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def keep_privileges_out() -> bool:
    """No program started from here gains rights; the kernel asks for this before a filter or a Landlock domain."""
    return sys.platform.startswith("linux") and bool(ctypes.CDLL(None).prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def can_filter() -> bool:
    """Whether a list was written for this processor, and its kernel filters system calls at all."""
    processor = PROCESSORS.get(os.uname().machine)
    if processor is None or not sys.platform.startswith("linux"):
        return False
    return _has_action(ctypes.CDLL(None, use_errno=True), _of(processor, REFUSED, "seccomp"), _KILL)


def filter_calls(*, post: int | None) -> Filtered:
    """Restrict this process and all its later threads, for good. Call it while there is one thread.

    ``post`` is the descriptor of the socket on which the listener may be handed to the parent; without it nobody is
    asked, and nobody logs.
    """
    processor = PROCESSORS.get(os.uname().machine)
    if processor is None or not sys.platform.startswith("linux"):
        return Filtered(holds=False)
    system = ctypes.CDLL(None, use_errno=True)
    number = _of(processor, REFUSED, "seccomp")
    asks = post is not None and _has_action(system, number, _ASK)
    code = b"".join(_instructions(processor, os.getpid(), post if asks else None))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    if asks:
        listener = system.syscall(number, _SET_FILTER, _WITH_LISTENER, ctypes.byref(program))
        if listener >= 0:
            return Filtered(holds=True, listener=listener)
    return Filtered(holds=system.syscall(number, _SET_FILTER, 0, ctypes.byref(program)) == 0)


def name_of(number: int) -> str:
    """The name of a system call on this machine, as far as the tables know it."""
    processor = PROCESSORS.get(os.uname().machine)
    for table in (ALLOWED, BOUNDED, REFUSED, TOO_NEW, FATAL):
        for name, numbers in table.items():
            if processor is not None and numbers[processor.column] == number:
                return name
    return f"number {number}"


def _has_action(system: ctypes.CDLL, number: int, action: int) -> bool:
    """A kernel without the action would end the process where it should ask."""
    return bool(system.syscall(number, _ACTION_AVAILABLE, 0, ctypes.byref(ctypes.c_uint32(action))) == 0)


def _of(processor: Processor, table: Numbers, name: str) -> int:
    number = table[name][processor.column]
    assert number is not None
    return number


def _instructions(processor: Processor, me: int, post: int | None) -> Iterator[bytes]:
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_IF_EQUAL, processor.architecture, then=1)
    yield _step(_RETURN, _KILL)
    yield _step(_LOAD, _NUMBER)
    yield _step(_IF_AT_LEAST, _FOREIGN_TABLE, otherwise=1)
    yield _step(_RETURN, _KILL)
    blocks = _bounded_blocks(me, post)
    assert blocks.keys() == BOUNDED.keys()
    for table, action in (
        (ALLOWED, _ALLOW),
        (REFUSED, _ERRNO | _EPERM),
        (TOO_NEW, _ERRNO | _ENOSYS),
        (FATAL, _KILL),
    ):
        for numbers in table.values():
            yield from _when(numbers[processor.column], [_step(_RETURN, action)])
    for name, numbers in BOUNDED.items():
        yield from _when(numbers[processor.column], blocks[name])
    yield _step(_RETURN, _ASK if post is not None else _ERRNO | _ENOSYS)


def _bounded_blocks(me: int, post: int | None) -> dict[str, list[bytes]]:
    """What becomes of the calls that are allowed with some arguments only; ``me`` is this process."""
    only_me = _one_of(0, (me,), otherwise=_KILL)
    return {
        "open": _reading(flags=1),
        "openat": _reading(flags=2),
        "ioctl": _one_of(1, _TERMINAL_QUESTIONS, otherwise=_ERRNO | _ENOTTY),
        "fcntl": _one_of(1, _FCNTL, otherwise=_ERRNO | _EPERM),
        "prctl": _one_of(0, _PRCTL, otherwise=_ERRNO | _EPERM),
        "clone": [
            _argument(0),
            _step(_IF_BITS, _CLONE_THREAD, otherwise=1),
            _step(_RETURN, _ALLOW),
            _step(_RETURN, _ERRNO | _EPERM),
        ],
        "prlimit64": _own_limits(me),
        # The C library may look for a name service over a local socket; that is refused, not punished.
        "socket": _one_of(0, (_UNIX_SOCKET,), action=_ERRNO | _EACCES, otherwise=_KILL),
        "kill": only_me,
        "tgkill": only_me,
        "sendmsg": _one_of(0, () if post is None else (post,), otherwise=_ERRNO | _EPERM),
        "sched_setaffinity": _one_of(0, (0,), otherwise=_ERRNO | _EPERM),
    }


def _reading(*, flags: int) -> list[bytes]:
    return [
        _argument(flags),
        _step(_IF_BITS, _WRITES, otherwise=1),
        _step(_RETURN, _ERRNO | _EACCES),
        _step(_RETURN, _ALLOW),
    ]


def _own_limits(me: int) -> list[bytes]:
    """prlimit64(pid, resource, new, old): one's own limits may be read; those of others are nobody's business."""
    set_new = [
        _argument(2),
        _step(_IF_EQUAL, 0, otherwise=3),
        _argument(2, upper=True),
        _step(_IF_EQUAL, 0, otherwise=1),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _ERRNO | _EPERM),
    ]
    return [
        _argument(0),
        _step(_IF_EQUAL, 0, then=2),
        _step(_IF_EQUAL, me, then=1),
        _step(_RETURN, _KILL),
        *set_new,
    ]


def _one_of(place: int, values: tuple[int, ...], *, otherwise: int, action: int = _ALLOW) -> list[bytes]:
    block = [_argument(place)]
    for value in values:
        block += [_step(_IF_EQUAL, value, otherwise=1), _step(_RETURN, action)]
    return [*block, _step(_RETURN, otherwise)]


def _when(number: int | None, block: list[bytes]) -> Iterator[bytes]:
    """The block for one system call; it must return."""
    if number is not None:
        yield _step(_IF_EQUAL, number, otherwise=len(block))
        yield from block


def _argument(place: int, *, upper: bool = False) -> bytes:
    """Load one half of an argument, the lower one unless told; both processors are little-endian."""
    return _step(_LOAD, _ARGUMENTS + 8 * place + 4 * upper)


def _step(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)
