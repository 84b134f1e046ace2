"""Patterns of what people write, kept in TOML files beside the modules that read them.

The table ``pieces`` names parts of patterns; ``{name}`` stands for one in later pieces and in every pattern. A pattern
may be broken into lines where no blank stands: they are joined without one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NAME = re.compile(r"\{([a-z_]+)\}")


class PatternFile:
    """The file of a module, given as its ``__file__``. ``table`` is the file as it is."""

    def __init__(self, module: str) -> None:
        self.table: dict[str, Any] = tomllib.loads(Path(module).with_suffix(".toml").read_text("utf-8"))
        self._pieces: dict[str, str] = {}
        for name, pattern in self.table.get("pieces", {}).items():
            self._pieces[name] = filled("".join(pattern.splitlines()), self._pieces)

    def compiled(self, pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
        """A pattern of the file, whose pieces may be named."""
        return re.compile(filled("".join(pattern.splitlines()), self._pieces), flags)


def filled(text: str, pieces: Mapping[str, str]) -> str:
    """The text with pieces in place of their names."""
    return _NAME.sub(lambda name: pieces[name[1]], text)
