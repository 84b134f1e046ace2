"""Compiled Python is kept, also where the caller's Python may not write it.

Container images often set PYTHONDONTWRITEBYTECODE, to keep their layers small. Django with our packages is some
2,200 modules: each process of ours would compile them again, for seconds of processor time. Ours then share one
folder beside the environment instead, and the source folders stay as clean as the variable asks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from workbench.paths import IS_INSTALLED


def kept(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    """The variables, with a folder of its own for bytecode where Python would keep none."""
    if not environment.get("PYTHONDONTWRITEBYTECODE") or environment.get("PYTHONPYCACHEPREFIX"):
        return dict(environment)
    beside = Path(sys.prefix) if IS_INSTALLED else root / ".venv"
    return {
        **environment,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(beside / "bytecode"),
    }
