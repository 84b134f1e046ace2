"""What the parser's process may still do once it looks at a file: read that file and its libraries, and compute.

A library with a hole is inside from the start. So the process gives up, before the first byte of a stranger's file:
root, all files but its libraries and fonts (Landlock), and all system calls but those that reading and computing take
(seccomp). Its input is a descriptor that its parent opened. What a kernel cannot do is left out, and :class:`Doors`
says so; the limits on resources and the parent's clock remain everywhere.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import sysconfig
from dataclasses import dataclass

from arbitration.parsing import landlock
from arbitration.parsing.own_account import leave_root, may_leave_root
from arbitration.parsing.seccomp import can_filter, filter_calls, keep_privileges_out

_DUMPABLE = 4  # PR_SET_DUMPABLE
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PROJECT = os.path.dirname(_PACKAGE)
_SHARED = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib",
    "/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/X11/fonts", "/usr/share/zoneinfo",
    "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl/openssl.cnf", "/etc/mime.types",
    "/dev/null", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Doors:
    """What holds in this process: the list of system calls, the limit on files, an account other than root."""

    calls: bool
    files: bool
    account: bool


def close_doors(*, post: int | None = None) -> Doors:
    """Restrict this process and all its later threads, for good. Call it while there is one thread.

    ``post`` is a socket to the parent, on which it gets the means to hear of unknown system calls; closed afterwards.
    """
    libraries = library_places()
    rules = landlock.ruleset([*libraries, *_SHARED])
    account = leave_root(libraries)
    keep_privileges_out()
    files = landlock.restrict(rules) if rules is not None else False
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)
    parent = socket.socket(fileno=post) if post is not None else None
    filtered = filter_calls(post=post)
    if parent is not None:
        if filtered.listener is not None:
            _hand_over(parent, filtered.listener)
        parent.close()
    return Doors(calls=filtered.holds, files=files, account=account)


def foreseen_doors() -> Doors:
    """What a parser started here is likely to give up, as far as this process can tell without starting one."""
    return Doors(calls=can_filter(), files=landlock.version() > 0, account=may_leave_root())


def library_places() -> list[str]:
    """Where Python and the packages lie that reading needs, as far as they exist. The folder of the project is not
    among them: an installation may keep its files there."""
    known = sysconfig.get_paths()
    named = [known[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    named += [os.path.join(sys.base_exec_prefix, "lib"), _PACKAGE]
    named += [name for name in sys.path if name and os.path.realpath(name) not in ("/", _PROJECT)]
    return [name for name in dict.fromkeys(map(os.path.realpath, named)) if os.path.exists(name)]


def _hand_over(parent: socket.socket, listener: int) -> None:
    try:
        socket.send_fds(parent, [b"l"], [listener])
    except OSError:  # the parent is gone; unknown calls are answered by the kernel
        pass
    finally:
        os.close(listener)
