"""The sentences in which the engine speaks to people: a file for each language, a table for each matter."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from arbitration.text import supported_language


def phrases(matter: str, language: str) -> Mapping[str, str]:
    """The phrases of one matter by name, in English where the language is none of ours."""
    return _of_language(supported_language(language))[matter]


@cache
def _of_language(language: str) -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((Path(__file__).parent / f"{language}.toml").read_text(encoding="utf-8"))
