"""A number of its own for the parser's process where the product runs as root: nobody's files, nobody's siblings.

Started as root, the parser would own every file of the installation and could signal every process. It changes to
a number without a name before it looks at its input.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence

#: systemd.io/UIDS-GIDS: numbers from 1,879,048,192 on are nobody's. One for each process, so that two parsers at work
#: at once are strangers to one another.
_FIRST = 1_900_000_000
#: For a container whose user namespace maps 65,536 numbers only; the same list leaves this one free.
_IN_A_NAMESPACE = 65_533
_KEEP_CAPABILITIES = 8  # PR_SET_KEEPCAPS
_READ_EVERYTHING = 1 << 2  # CAP_DAC_READ_SEARCH
_CHANGE_IDENTITY = 1 << 6 | 1 << 7  # CAP_SETGID, CAP_SETUID
_CAPABILITIES_VERSION = 0x20080522


def leave_root(libraries: Sequence[str]) -> bool:
    """Become nobody, for good; whether this process is something else than root now.

    Where the libraries, all of which exist, lie in a folder that only root may enter, the right to read (and no other)
    is kept: which files it reaches is for Landlock to say.
    """
    if os.geteuid() != 0:
        return True
    for number in (_FIRST + os.getpid(), _IN_A_NAMESPACE):
        try:
            closed = not _may_read(number, libraries)
            if closed:
                ctypes.CDLL(None).prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0)
            os.setresgid(number, number, number)
            os.setresuid(number, number, number)
        except OSError:
            continue
        if closed:
            _keep_only(_READ_EVERYTHING)
        return True
    return False


def may_leave_root() -> bool:
    """Whether this process is not root, or has the rights of root that it takes to become somebody else."""
    if os.geteuid() != 0:
        return True
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            held = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    except (OSError, StopIteration):
        return False
    return held & _CHANGE_IDENTITY == _CHANGE_IDENTITY


def _may_read(number: int, folders: Sequence[str]) -> bool:
    """Whether that number may read the folders. Raises OSError where it cannot be taken at all."""
    os.setgroups([])
    os.setegid(number)
    try:
        os.seteuid(number)
        try:
            return all(os.access(folder, os.R_OK, effective_ids=True) for folder in folders)
        finally:
            os.seteuid(0)
    finally:
        os.setegid(0)


def _keep_only(capability: int) -> None:
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    # Effective, permitted, inheritable: twice, for the lower and the upper 32 capabilities.
    data = struct.pack("=6I", capability, capability, 0, 0, 0, 0)
    if (
        ctypes.CDLL(None).capset(
            ctypes.create_string_buffer(header, len(header)), ctypes.create_string_buffer(data, len(data))
        )
        != 0
    ):
        raise OSError("the capabilities of root could not be given up")
