"""The ways in which a text talks to the model that reads it, by the patterns of ``injection_signs.toml``.

Each pattern looks for an act of speech: dropping the reader's instructions, giving it an identity, asking it for what
it alone holds, dictating its reply, judging the passages beside this one. None names a subject that documents write
about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from arbitration.pattern_files import PatternFile, filled

_BEFORE = 24  # characters that hold what comes before an order


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
    file = PatternFile(__file__)
    after = {name: file.compiled(pattern) for name, pattern in file.table["after"].items()}
    return tuple(
        Sign(
            sign["why"],
            frozenset(filled(sign["words"], file.table["words"]).split()),
            file.compiled(sign["pattern"], re.DOTALL | re.IGNORECASE),
            frozenset(filled(sign.get("also", ""), file.table["words"]).split()),
            after.get(sign.get("after", "")),
        )
        for sign in file.table["signs"]
    )


SIGNS = _signs()
