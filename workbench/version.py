"""The product's version: that of the installed package, else what the tags of the checkout say.

Imported without Django.
"""

from __future__ import annotations

import os
import subprocess
from functools import lru_cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

from workbench.paths import IS_INSTALLED, ROOT

DISTRIBUTION = "arbiter-workbench"
#: Said where neither a package nor a tag knows, as in an image; ``pyproject.toml`` has the same.
FALLBACK = "0.1.0"


@lru_cache(maxsize=1)
def version() -> str:
    """For people and exports. An image names its own in WORKBENCH_VERSION."""
    named = os.environ.get("WORKBENCH_VERSION", "")
    return named or (_of_package() if IS_INSTALLED else _of_checkout()) or FALLBACK


def _of_package() -> str:
    try:
        return installed(DISTRIBUTION)
    except PackageNotFoundError:
        return ""


def _of_checkout() -> str:
    """The nearest tag without its ``v``, and how far the checkout has gone on; nothing without git or tags."""
    if not (ROOT / ".git").exists():
        return ""
    asked = ("git", "describe", "--tags", "--match", "v[0-9]*")
    try:
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().removeprefix("v")
