"""What the people of the demo ask in the month that it tells (``month_questions.toml``), and what answers it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class MonthQuestion:
    """A question of the month. A passage that holds one of ``primary`` answers it; one of ``supporting`` belongs to
    it. Where there are none, nothing answers."""

    text: str
    primary: tuple[str, ...] = ()
    supporting: tuple[str, ...] = ()

    def truth(self, passage: str) -> str:
        """The role that a careful reader gives a passage."""
        words = " ".join(passage.split())
        if any(sign in words for sign in self.primary):
            return "primary"
        return "supporting" if any(sign in words for sign in self.supporting) else "discarded"


_TOLD = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _questions(told: Sequence[Mapping[str, str | Sequence[str]]]) -> tuple[MonthQuestion, ...]:
    return tuple(
        MonthQuestion(str(one["text"]), tuple(one.get("primary", ())), tuple(one.get("supporting", ())))
        for one in told
    )


DEMO_MONTH = _questions(_TOLD["month"])
CLAIMS_MONTH = _questions(_TOLD["claims"])
IN_CLIENTS_WORDS = _questions(_TOLD["in_clients_words"])
