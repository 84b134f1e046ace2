"""What the parser's process may ask of the kernel: no network, no new files, no new programs (Linux, seccomp-BPF).

A library with a hole is still inside: it can read what is open and compute, nothing else. Asking for the network ends
the process on the spot with SIGSYS, which the parent reports, so that no attempt goes unnoticed. Where the kernel or
the processor is another one, the resource limits and the parent's clock remain, and :func:`close_doors` says False.

Numbers and layout: linux/seccomp.h, linux/bpf_common.h, and the system call tables of the two processors.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _IF_EQUAL, _IF_BITS, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS, _EACCES = 1, 38, 13
_UNIX_SOCKET = 1
_CLONE_THREAD = 0x00010000
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FOREIGN_TABLE = 0x40000000  # numbers of the x32 table on x86-64


@dataclass(frozen=True, slots=True)
class _Calls:
    """System call numbers of one processor. ``opens`` pairs a number with the place of its flags."""

    architecture: int
    socket: int
    clone: int
    opens: tuple[tuple[int, int], ...]
    refused: tuple[int, ...]
    unknown: tuple[int, ...] = (435, 437)  # clone3, openat2: their arguments cannot be looked at


_CALLS = {
    "x86_64": _Calls(
        0xC000003E,
        socket=41,
        clone=56,
        opens=((2, 1), (257, 2)),
        # connect, fork, vfork, execve, kill, truncate, rename, mkdir, rmdir, creat, link, unlink, symlink, chmod,
        # chown, ptrace, mknod, tkill, openat's kin (mkdirat, mknodat, unlinkat, renameat, linkat, symlinkat, fchmodat),
        # renameat2, bpf, execveat, userfaultfd, io_uring_setup
        refused=(
            42, 57, 58, 59, 62, 76, 82, 83, 84, 85, 86, 87, 88, 90, 92, 101, 133, 200,
            258, 259, 263, 264, 265, 266, 268, 316, 321, 322, 323, 425,
        ),
    ),
    "aarch64": _Calls(
        0xC00000B7,
        socket=198,
        clone=220,
        opens=((56, 2),),
        refused=(203, 33, 34, 35, 36, 37, 38, 45, 53, 54, 117, 129, 130, 221, 276, 280, 281, 282, 425),
    ),
}  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def close_doors() -> bool:
    """Restrict this process and all its later threads, for good; whether that worked."""
    calls = _CALLS.get(os.uname().machine)
    if calls is None or not sys.platform.startswith("linux"):
        return False
    code = b"".join(_instructions(calls))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    system = ctypes.CDLL(None, use_errno=True)
    if system.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(system.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0)


def _instructions(calls: _Calls) -> Iterator[bytes]:
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_IF_EQUAL, calls.architecture, then=1)
    yield _step(_RETURN, _KILL)
    yield _step(_LOAD, _NUMBER)
    yield _step(_IF_AT_LEAST, _FOREIGN_TABLE, otherwise=1)
    yield _step(_RETURN, _KILL)
    for number in calls.refused:
        yield from _when(number, [_step(_RETURN, _ERRNO | _EPERM)])
    for number in calls.unknown:
        yield from _when(number, [_step(_RETURN, _ERRNO | _ENOSYS)])
    local = [_argument(0), _step(_IF_EQUAL, _UNIX_SOCKET, otherwise=1)]
    # The C library may look for a name service over a local socket; that is refused, not punished.
    yield from _when(calls.socket, [*local, _step(_RETURN, _ERRNO | _EACCES), _step(_RETURN, _KILL)])
    thread = [_argument(0), _step(_IF_BITS, _CLONE_THREAD, otherwise=1)]
    yield from _when(calls.clone, [*thread, _step(_RETURN, _ALLOW), _step(_RETURN, _ERRNO | _EPERM)])
    for number, place in calls.opens:
        writes = [_argument(place), _step(_IF_BITS, _WRITES, otherwise=1)]
        yield from _when(number, [*writes, _step(_RETURN, _ERRNO | _EACCES), _step(_RETURN, _ALLOW)])
    yield _step(_RETURN, _ALLOW)


def _when(number: int, block: list[bytes]) -> Iterator[bytes]:
    """The block for one system call; it must return."""
    yield _step(_IF_EQUAL, number, otherwise=len(block))
    yield from block


def _argument(place: int) -> bytes:
    """Load the lower half of an argument; both processors are little-endian."""
    return _step(_LOAD, _ARGUMENTS + 8 * place)


def _step(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)
