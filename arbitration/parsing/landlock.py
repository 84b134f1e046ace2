"""Which files the parser's process may read, put before the kernel (Linux 5.13 and later, Landlock).

Layout and the bits of each version of the interface: linux/landlock.h and Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Sequence

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on every processor
_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FIRST_RIGHTS = (1 << 13) - 1
_MORE_RIGHTS = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15}  # refer, truncate, ioctl on devices
_NETWORK_SINCE, _NETWORK = 4, 0b11  # bind and connect over TCP
_SCOPED_SINCE, _SCOPED = 6, 0b11  # abstract sockets and signals stay among processes of the same domain


def version() -> int:
    """The version of the interface that this kernel offers; 0 where it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, int(_system().syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)))


def ruleset(readable: Sequence[str]) -> int | None:
    """A descriptor of rules that let these files and folders be read, and nothing else be touched.

    Names that do not exist are left out. None where the kernel has no Landlock.
    """
    offered = version()
    if offered < 1:
        return None
    system = _system()
    attributes = _attributes(offered)
    rules = system.syscall(
        _CREATE,
        ctypes.create_string_buffer(attributes, len(attributes)),
        ctypes.c_size_t(len(attributes)),
        0,
    )
    if rules < 0:
        return None
    for name in readable:
        _let_read(system, rules, name)
    return int(rules)


def restrict(rules: int) -> bool:
    """Put the rules in force for this process and all its later threads, for good, and close their descriptor."""
    try:
        return bool(_system().syscall(_RESTRICT, rules, 0) == 0)
    finally:
        os.close(rules)


def _attributes(offered: int) -> bytes:
    """struct landlock_ruleset_attr, as long as this version knows it."""
    rights = _FIRST_RIGHTS
    for since, right in _MORE_RIGHTS.items():
        rights |= right if offered >= since else 0
    fields = [rights]
    if offered >= _NETWORK_SINCE:
        fields.append(_NETWORK)
    if offered >= _SCOPED_SINCE:
        fields.append(_SCOPED)
    return struct.pack(f"={len(fields)}Q", *fields)


def _let_read(system: ctypes.CDLL, rules: int, name: str) -> None:
    try:
        place = os.open(name, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = _READ_FILE | _READ_DIR if os.path.isdir(name) else _READ_FILE
        rule = struct.pack("=Qi", rights, place)
        system.syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.create_string_buffer(rule, len(rule)), 0)
    finally:
        os.close(place)


def _system() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
