"""The ways in which a text talks to the model that reads it, by the patterns of ``injection_signs.toml``.

Each pattern looks for an act of speech: dropping the reader's instructions, giving it an identity, asking it for what
it alone holds, dictating its reply, judging the passages beside this one. None names a subject that documents write
about.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_BEFORE = 24  # characters that hold what comes before an order
_NAME = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Sign:
    """One way of talking to a model. ``words`` are those without which the pattern cannot match: looking for
    them first keeps ordinary passages cheap. ``also``: where those are common words, others without which it cannot
    match either. ``after``: what must stand before it."""

    why: str
    words: frozenset[str]
    pattern: re.Pattern[str]
    also: frozenset[str]
    after: re.Pattern[str] | None

    def may_match(self, present: frozenset[str], *, is_ascii: bool) -> bool:
        """Whether the words in a text leave the pattern a chance. Letters beside ASCII may stand for others when case
        does not count (``ſ`` for ``s``), so that such a text is looked at on the first words alone."""
        if self.words.isdisjoint(present):
            return False
        return not (is_ascii and self.also) or not self.also.isdisjoint(present)

    def find(self, text: str) -> str | None:
        """The first words that match, or None."""
        found = self.pattern.search(text)
        while (
            found
            and self.after
            and not self.after.search(text, max(0, found.start() - _BEFORE), found.start())
        ):
            found = self.pattern.search(text, found.start() + 1)
        return found[0] if found else None


def _signs() -> tuple[Sign, ...]:
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    pieces: dict[str, str] = {}
    for name, pattern in table["pieces"].items():
        pieces[name] = _filled(_joined(pattern), pieces)
    after = {name: re.compile(_joined(pattern), re.IGNORECASE) for name, pattern in table["after"].items()}
    return tuple(
        Sign(
            sign["why"],
            frozenset(_filled(sign["words"], table["words"]).split()),
            re.compile(_filled(_joined(sign["pattern"]), pieces), re.DOTALL | re.IGNORECASE),
            frozenset(_filled(sign.get("also", ""), table["words"]).split()),
            after.get(sign.get("after", "")),
        )
        for sign in table["signs"]
    )


def _joined(pattern: str) -> str:
    return "".join(pattern.splitlines())


def _filled(text: str, pieces: Mapping[str, str]) -> str:
    """The text with pieces in place of their names."""
    return _NAME.sub(lambda name: pieces[name[1]], text)


SIGNS = _signs()
