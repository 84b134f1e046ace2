"""Where the product's own files are: in a checkout, or in an installed package.

A wheel carries ``templates`` and ``static`` inside ``workbench``; a checkout and the image have them beside it.
Imported before Django is set up.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
#: The folder that holds the packages: a checkout, or an environment's ``site-packages``.
ROOT = PACKAGE.parent
IS_INSTALLED = (PACKAGE / "templates").is_dir()

#: What people type to start the product, for messages.
RUN = "arbiter-workbench run" if IS_INSTALLED else "make run"

_SHARED = PACKAGE if IS_INSTALLED else ROOT
TEMPLATES = _SHARED / "templates"
STATIC = _SHARED / "static"

#: Read once: child processes are started elsewhere.
_STARTED_IN = Path.cwd()


def default_home(root: Path = ROOT) -> Path:
    """The installation's folder where WORKBENCH_HOME names none: ``var`` in a checkout, and for an installed package
    ``arbiter-workbench-data`` in the folder that the command was started in."""
    return _STARTED_IN / "arbiter-workbench-data" if IS_INSTALLED and root == ROOT else root / "var"
